// SPDX-License-Identifier: GPL-2.0-only
/*
 * nfnetlink_hook of Linux 5.14 to 6.18 answers for families ip6 and netdev. Chains of family inet,
 * for which it answers EPROTONOSUPPORT, are listed at both.
 *
 * A kernel may lack it (CONFIG_NETFILTER_NETLINK_HOOK). BPF programs are then found by their links,
 * and connection tracking by its connections.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include <bpf/bpf.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>

#include "../netlink/socket.h"
#include "nf_hooks.h"

#define TIMEOUT_MS 1000
/* Attempts, if the list changes while it is read. */
#define ATTEMPTS 16

/* Newer than the headers of Debian 12. */
#define HOOK_NETDEV_EGRESS 1
#define LINK_TYPE_NETFILTER 10
#define LINK_FLAG_DEFRAG 1u /* BPF_F_NETFILTER_IP_DEFRAG, Linux 6.6 */

#define SELINUX_CHECKS "/sys/fs/selinux/policy_capabilities/always_check_network"
#define CONNTRACK_STATISTICS "/proc/thread-self/net/stat/nf_conntrack"

/* nfnetlink_hook is missing. Each request would make the kernel start modprobe. */
static bool unsupported;

struct dump {
	enum guard_hook hook;
	struct nf_hooks_context context;
	struct nf_hooks *out;
};

static const int inet_hooks[GUARD_N_HOOKS] = {
	[GUARD_HOOK_INGRESS] = -1,
	[GUARD_HOOK_PREROUTING] = NF_INET_PRE_ROUTING,
	[GUARD_HOOK_FORWARD] = NF_INET_FORWARD,
	[GUARD_HOOK_OUTPUT] = NF_INET_LOCAL_OUT,
	[GUARD_HOOK_POSTROUTING] = NF_INET_POST_ROUTING,
	[GUARD_HOOK_EGRESS] = -1,
};

/* The first character of a file, or 0. */
static char first_character(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char character;

	return file && fscanf(file, "%c", &character) == 1 ? character : 0;
}

/* Without the file no policy is loaded, and SELinux accepts everything. */
static struct nf_hooks_context read_context(void)
{
	return (struct nf_hooks_context){ .selinux_checks =
						  first_character(SELINUX_CHECKS) == '1' };
}

static int dump_message(const struct nlmsghdr *nlh, void *ctx)
{
	const struct dump *dump = ctx;

	return nf_hooks_parse(nlh, dump->hook, &dump->context, dump->out);
}

static int dump_once(struct nl_socket *socket, uint8_t family, uint32_t number, const char *device,
		     struct dump *dump)
{
	char buffer[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = NFNL_SUBSYS_HOOK << 8 | NFNL_MSG_HOOK_GET;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = family;
	nfg->version = NFNETLINK_V0;
	mnl_attr_put_u32(nlh, NFNLA_HOOK_HOOKNUM, htonl(number));
	if (device)
		mnl_attr_put_strz(nlh, NFNLA_HOOK_DEV, device);
	return nl_socket_dump(socket, nlh, dump_message, dump, NULL, NULL, TIMEOUT_MS, NULL);
}

/* What an interrupted dump has added is dropped. */
static int dump_hook(struct nl_socket *socket, uint8_t family, uint32_t number, const char *device,
		     struct dump *dump)
{
	struct nf_hooks before = *dump->out;
	int r = -EINTR;

	for (int i = 0; i < ATTEMPTS && r == -EINTR; i++) {
		*dump->out = before;
		r = dump_once(socket, family, number, device, dump);
	}
	return r;
}

/* What nfnetlink answers without the subsystem differs by kernel. */
static bool is_unsupported(int error)
{
	return error == -EINVAL || error == -EOPNOTSUPP || error == -EPROTONOSUPPORT;
}

int nf_hooks_read(struct nf_hooks *out)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct nf_hooks hooks = { .known = true };
	struct dump dump = { .context = read_context(), .out = &hooks };
	int r = unsupported ? -EINVAL : nl_socket_new(NETLINK_NETFILTER, 0, &socket);

	for (int hook = 0; r == 0 && hook < GUARD_N_HOOKS; hook++) {
		dump.hook = hook;
		if (inet_hooks[hook] >= 0)
			r = dump_hook(socket, NFPROTO_IPV6, (uint32_t)inet_hooks[hook], NULL,
				      &dump);
	}
	if (is_unsupported(r)) {
		hooks = (struct nf_hooks){ .known = false };
		unsupported = true;
		r = 0;
	}
	if (r == 0)
		*out = hooks;
	return r;
}

/* A hook that this kernel does not have has no function. */
static int dump_device(struct nl_socket *socket, uint32_t number, const char *name,
		       struct dump *dump)
{
	int r = dump_hook(socket, NFPROTO_NETDEV, number, name, dump);

	return r == -EOPNOTSUPP || r == -EPROTONOSUPPORT ? 0 : r;
}

int nf_hooks_read_device(uint32_t ifindex, const char *name, struct nf_hooks *out)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct nf_hooks hooks = { .known = true };
	struct dump dump = { .hook = GUARD_HOOK_INGRESS, .out = &hooks };
	int r = unsupported ? -EINVAL : nl_socket_new(NETLINK_NETFILTER, 0, &socket);

	if (r == 0)
		r = dump_device(socket, NF_NETDEV_INGRESS, name, &dump);
	dump.hook = GUARD_HOOK_EGRESS;
	if (r == 0)
		r = dump_device(socket, HOOK_NETDEV_EGRESS, name, &dump);
	/* The request has a name, which another device may have now. */
	if (r == 0 && if_nametoindex(name) != ifindex)
		r = -ENODEV;
	if (r == -EINVAL) {
		hooks = (struct nf_hooks){ .known = false };
		r = 0;
	}
	if (r < 0)
		return r;
	out->known = hooks.known;
	memcpy(out->unknown[GUARD_HOOK_INGRESS], hooks.unknown[GUARD_HOOK_INGRESS],
	       GUARD_REASON_LEN);
	memcpy(out->unknown[GUARD_HOOK_EGRESS], hooks.unknown[GUARD_HOOK_EGRESS], GUARD_REASON_LEN);
	return 0;
}

/* --- without nfnetlink_hook --------------------------------------------------------------- */

/* The beginning of struct bpf_link_info of Linux 6.4. */
struct link_info {
	uint32_t type, id, program, padding;
	uint32_t family, hook;
	int32_t priority;
	uint32_t flags;
};

static void add_link(const struct link_info *info, struct nf_hooks *out)
{
	if (info->type != LINK_TYPE_NETFILTER || info->family != NFPROTO_IPV6)
		return;
	for (int hook = 0; hook < GUARD_N_HOOKS; hook++)
		if (inet_hooks[hook] == (int)info->hook)
			nf_hooks_add_bpf(out, hook, info->program);
	if (info->flags & LINK_FLAG_DEFRAG)
		out->defragments = true;
}

static int read_link(uint32_t id, struct nf_hooks *out)
{
	_cleanup_close_ int fd = bpf_link_get_fd_by_id(id);
	struct link_info info = { 0 };
	__u32 size = sizeof(info);

	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	add_link(&info, out);
	return 0;
}

int nf_hooks_read_bpf(struct nf_hooks *out)
{
	struct nf_hooks hooks = *out;
	uint32_t id = 0;
	int r;

	while (bpf_link_get_next_id(id, &id) == 0) {
		r = read_link(id, &hooks);
		/* It is gone; or it is being created, and the next reading finds it. */
		if (r < 0 && r != -ENOENT && r != -EAGAIN)
			return r;
	}
	if (errno != ENOENT)
		return -errno;
	*out = hooks;
	return 0;
}

/* After the heading, each CPU's line begins with the number of the namespace's connections. */
static int read_connections(FILE *file, unsigned int *n)
{
	return fscanf(file, "%*[^\n]") < 0 || fscanf(file, "%x", n) != 1 ? -EIO : 0;
}

int nf_hooks_guess_defragments(bool *out)
{
	_cleanup_fclose_ FILE *file = fopen(CONNTRACK_STATISTICS, "re");
	unsigned int n = 0;
	int r;

	if (file)
		r = read_connections(file, &n);
	else
		r = errno == ENOENT ? 0 : -errno;
	if (r == 0)
		*out = n > 0;
	return r;
}
