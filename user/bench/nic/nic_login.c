// SPDX-License-Identifier: GPL-2.0-only
/* See nic_login.h. */
#include "nic_login.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../../netlink/parse_attr.h"
#include "../../netlink/socket.h"

#define VARIABLE "SSH_CONNECTION"
#define MOST_ANCESTORS 64
#define MOST_LAYERS 8 /* a VLAN on a VLAN on a bond … */
#define TIMEOUT_MS 5000

/* --- pure ----------------------------------------------------------------------------------- */

/* What IPv4 peers of an IPv6 socket look like. */
static void unmap(struct nic_login *login)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (login->family != AF_INET6 || memcmp(login->addr, mapped, sizeof(mapped)) != 0)
		return;
	login->family = AF_INET;
	memmove(login->addr, login->addr + sizeof(mapped), 4);
	memset(login->addr + 4, 0, sizeof(login->addr) - 4);
}

bool nic_login_parse(const char *connection, struct nic_login *out)
{
	struct nic_login login = { 0 };
	size_t n = strcspn(connection, " ");
	char *scope;

	if (!n || n >= sizeof(login.peer))
		return false;
	memcpy(login.peer, connection, n);
	scope = strchr(login.peer, '%');
	if (scope) {
		*scope = '\0';
		login.scope = if_nametoindex(scope + 1);
	}
	if (inet_pton(AF_INET6, login.peer, login.addr) == 1)
		login.family = AF_INET6;
	else if (inet_pton(AF_INET, login.peer, login.addr) == 1)
		login.family = AF_INET;
	else
		return false;
	unmap(&login);
	*out = login;
	return true;
}

static bool passes(const struct ports *ports, uint32_t egress, uint32_t dev, int layers)
{
	const struct link *link = ports_find(ports, egress);

	if (egress == dev)
		return true;
	if (!link || !layers)
		return false;
	if (link->lower && passes(ports, link->lower, dev, layers - 1))
		return true;
	for (size_t i = 0; i < ports->n; i++)
		if (ports->links[i].master == egress &&
		    passes(ports, ports->links[i].ifindex, dev, layers - 1))
			return true;
	return false;
}

bool nic_login_passes(const struct ports *ports, uint32_t egress, uint32_t dev)
{
	return egress && passes(ports, egress, dev, MOST_LAYERS);
}

/* --- where packets to it go ----------------------------------------------------------------- */

static int take_route(const struct nlmsghdr *nlh, void *ctx)
{
	static const struct attr_spec attrs[] = { [RTA_OIF] = ATTR_U32 };
	const struct nlattr *at[ARRAY_SIZE(attrs)];
	uint32_t *egress = ctx;
	int ret;

	if (!attr_header(nlh, sizeof(struct rtmsg)))
		return -EBADMSG;
	ret = attr_walk_message(nlh, sizeof(struct rtmsg), attrs, ARRAY_SIZE(attrs), at, NULL);
	if (!ret)
		*egress = attr_u32(at[RTA_OIF], 0);
	return ret;
}

/* No route is no error: the login comes by another namespace then. */
static int find_egress(struct nl_socket *socket, struct nic_login *login)
{
	char buf[256] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	size_t size = login->family == AF_INET6 ? 16 : 4;
	int ret;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm->rtm_family = (unsigned char)login->family;
	rtm->rtm_dst_len = (unsigned char)(8 * size);
	mnl_attr_put(nlh, RTA_DST, size, login->addr);
	if (login->scope)
		mnl_attr_put_u32(nlh, RTA_OIF, login->scope);
	ret = nl_socket_ask(socket, nlh, take_route, &login->egress, TIMEOUT_MS);
	return ret == -ENETUNREACH || ret == -EHOSTUNREACH || ret == -EACCES || ret == -EINVAL
		       ? 0
		       : ret;
}

/* --- this process and its ancestors --------------------------------------------------------- */

struct found {
	struct nic_login *at;
	size_t n;
};

static void add(struct found *found, const char *connection)
{
	struct nic_login login;

	if (!nic_login_parse(connection, &login) || found->n == NIC_MAX_LOGINS)
		return;
	for (size_t i = 0; i < found->n; i++)
		if (!strcmp(found->at[i].peer, login.peer))
			return;
	found->at[found->n++] = login;
}

static void look_into_environment(int pid, struct found *found)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *entry = NULL;
	size_t size = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	file = fopen(path, "re");
	while (file && getdelim(&entry, &size, '\0', file) > 0)
		if (!strncmp(entry, VARIABLE "=", strlen(VARIABLE) + 1))
			add(found, entry + strlen(VARIABLE) + 1);
}

/* 0: none, or it may not be seen. */
static int parent_of(int pid)
{
	char path[64], line[512] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		*line = '\0';
	fclose(file);
	/* the name, in brackets, may hold anything */
	end = strrchr(line, ')');
	return end && strlen(end) > 4 ? (int)strtol(end + 4, NULL, 10) : 0;
}

int nic_login_find(struct nic_login logins[NIC_MAX_LOGINS], size_t *n)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct found found = { .at = logins };
	const char *own = getenv(VARIABLE);
	int pid = (int)getppid(), ret = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (own)
		add(&found, own);
	for (int i = 0; i < MOST_ANCESTORS && pid > 0; i++) {
		look_into_environment(pid, &found);
		pid = parent_of(pid);
	}
	for (size_t i = 0; i < found.n && !ret; i++)
		ret = find_egress(socket, &logins[i]);
	*n = ret ? 0 : found.n;
	return ret;
}
