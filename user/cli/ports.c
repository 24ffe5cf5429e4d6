// SPDX-License-Identifier: GPL-2.0-only
/* See ports.h. The dump is repeated when the kernel reports that links changed meanwhile. */
#include "ports.h"

#include <errno.h>
#include <string.h>

#include "../guard/uppers.h"
#include "../netlink/parse.h"
#include "../netlink/socket.h"

#define DUMP_TRIES 8
#define DUMP_TIMEOUT_MS 5000

void ports_free(struct ports *ports)
{
	free(ports->links);
	*ports = (struct ports){ 0 };
}

static int add_link(const struct nlmsghdr *nlh, void *ctx)
{
	struct ports *ports = ctx;
	struct link *grown, link;
	int rc = parse_link(nlh, &link);

	if (rc == -ENOMSG)
		return 0;
	if (rc)
		return rc;
	/* the size doubles whenever the number is a power of two */
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
	return nl_socket_dump(socket, nlh, add_link, ports, NULL, NULL, DUMP_TIMEOUT_MS, NULL);
}

int ports_read(struct ports *ports)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct ports read = { 0 };
	int rc = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (rc)
		return rc;
	rc = dump(socket, &read);
	for (int i = 1; rc == -EINTR && i < DUMP_TRIES; i++) {
		ports_free(&read);
		rc = dump(socket, &read);
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

const char *ports_name(const struct ports *ports, uint32_t ifindex, char buf[IFNAMSIZ])
{
	const struct link *link = ports_find(ports, ifindex);

	if (link)
		return link->name;
	snprintf(buf, IFNAMSIZ, "#%u", ifindex);
	return buf;
}

struct upper_search {
	const struct ports *ports;
	struct port_upper found; /* kind NULL: none yet */
};

static void check_upper(void *ctx, const char *name)
{
	struct upper_search *search = ctx;
	const struct link *upper = ports_find_name(search->ports, name);

	if (search->found.kind || !links_upper_takes(upper))
		return;
	snprintf(search->found.name, sizeof(search->found.name), "%s", name);
	search->found.kind = upper ? upper->kind : "";
}

bool ports_find_upper(const struct ports *ports, const struct link *link, struct port_upper *out)
{
	const struct link *master = link->master ? ports_find(ports, link->master) : NULL;
	struct upper_search search = { .ports = ports };
	struct uppers *uppers;

	if (!uppers_new(&uppers)) {
		(void)uppers_each(uppers, link->name, check_upper, &search);
		uppers_free(uppers);
	}
	if (!search.found.kind && master) {
		memcpy(search.found.name, master->name, sizeof(search.found.name));
		search.found.kind = master->kind;
	}
	if (search.found.kind)
		*out = search.found;
	return search.found.kind;
}
