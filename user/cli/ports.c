// SPDX-License-Identifier: GPL-2.0-only
/*
 * One dump of the links, sorted. Asks again when the kernel says that it changed meanwhile.
 */
#include "ports.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "../guard/uppers.h"
#include "../netlink/parse.h"
#include "../netlink/socket.h"
#include "../rib/links.h"

#define DUMP_TRIES 8
#define DUMP_TIMEOUT_MS 5000

void ports_free(struct ports *ports)
{
	free(ports->links);
	*ports = (struct ports){ 0 };
}

static int take_link(const struct nlmsghdr *nlh, void *ctx)
{
	struct ports *ports = ctx;
	struct link *grown, link;
	int rc = parse_link(nlh, &link);

	if (rc == -ENOMSG)
		return 0;
	if (rc)
		return rc;
	/* Doubling: room is added whenever the number is a power of two. */
	if (!(ports->n & (ports->n - 1))) {
		grown = reallocarray(ports->links, ports->n ? 2 * ports->n : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		ports->links = grown;
	}
	ports->links[ports->n++] = link;
	return 0;
}

static int by_ifindex(const void *a, const void *b)
{
	uint32_t x = ((const struct link *)a)->ifindex, y = ((const struct link *)b)->ifindex;

	return (x > y) - (x < y);
}

static int dump(struct nl_socket *socket, struct ports *ports)
{
	uint8_t buf[MNL_ALIGN(sizeof(struct nlmsghdr)) + MNL_ALIGN(sizeof(struct ifinfomsg))]
		__attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	return nl_socket_dump(socket, nlh, take_link, ports, NULL, NULL, DUMP_TIMEOUT_MS, NULL);
}

int ports_read(struct ports *ports)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct ports read = { 0 };
	int rc = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (rc)
		return rc;
	for (int i = 0; i < DUMP_TRIES; i++) {
		rc = dump(socket, &read);
		if (rc != -EINTR)
			break;
		ports_free(&read);
	}
	if (rc) {
		ports_free(&read);
		return rc;
	}
	if (read.n)
		qsort(read.links, read.n, sizeof(*read.links), by_ifindex);
	*ports = read;
	return 0;
}

const struct link *ports_find(const struct ports *ports, uint32_t ifindex)
{
	const struct link key = { .ifindex = ifindex };

	if (!ports->n)
		return NULL;
	return bsearch(&key, ports->links, ports->n, sizeof(key), by_ifindex);
}

const struct link *ports_find_name(const struct ports *ports, const char *name)
{
	for (size_t i = 0; i < ports->n; i++)
		if (!strcmp(ports->links[i].name, name))
			return &ports->links[i];
	return NULL;
}

struct owner_search {
	const struct ports *ports;
	struct port_owner owner; /* kind NULL: none yet */
};

static void take_upper(void *ctx, const char *name)
{
	struct owner_search *search = ctx;
	const struct link *upper = ports_find_name(search->ports, name);

	if (search->owner.kind || !links_upper_takes(upper))
		return;
	snprintf(search->owner.name, sizeof(search->owner.name), "%s", name);
	search->owner.kind = upper ? upper->kind : "";
}

bool ports_find_owner(const struct ports *ports, const struct link *link, struct port_owner *out)
{
	const struct link *master = link->master ? ports_find(ports, link->master) : NULL;
	struct owner_search search = { .ports = ports };
	struct uppers *uppers;

	/* an error: what netlink tells is all there is */
	if (!uppers_new(&uppers)) {
		(void)uppers_each(uppers, link->name, take_upper, &search);
		uppers_free(uppers);
	}
	if (!search.owner.kind && master) {
		memcpy(search.owner.name, master->name, sizeof(search.owner.name));
		search.owner.kind = master->kind;
	}
	if (search.owner.kind)
		*out = search.owner;
	return search.owner.kind;
}
