// SPDX-License-Identifier: GPL-2.0-only
/*
 * nfnetlink_hook of Linux 5.14 to 6.18 answers for families ip6 and netdev. Chains of family inet,
 * for which it answers EPROTONOSUPPORT, are listed at both.
 *
 * A function that is not in the table of harmless ones, and that its message does not describe,
 * punts.
 *
 * A kernel may lack nfnetlink_hook (CONFIG_NETFILTER_NETLINK_HOOK). BPF programs are then found by
 * their links, and connection tracking by its connections.
 */
#include "nf_hooks.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <bpf/bpf.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>

#include "../netlink/parse_attr.h"
#include "../netlink/socket.h"

/* Newer than the headers of Debian 12: enum nfnl_hook_chaintype, nfnl_hook_bpf_attributes. */
#define HOOK_TYPE_BPF 2
#define HOOK_TYPE_FLOWTABLE 3
#define HOOK_BPF_ID 1

/* KSYM_NAME_LEN and MODULE_NAME_LEN with room to grow. */
#define NAME_BYTES 512

enum effect {
	EFFECT_NONE,
	EFFECT_DEFRAGMENTS,
	EFFECT_SELINUX, /* none, unless SELinux checks every packet */
};

/*
 * Functions that leave forwarded packets alone, or whose rules are read elsewhere, by their module.
 * The same name in another module is another function. Names of Linux 5.15 to 6.18.
 */
static const struct {
	const char *module, *names[7];
	enum effect effect;
} harmless[] = {
	/* Rules of legacy tables: ip6_tables.c. */
	{ "ip6_tables", { "ip6t_do_table" }, EFFECT_NONE },
	{ "ip6table_filter", { "ip6table_filter_hook" }, EFFECT_NONE },
	{ "ip6table_mangle", { "ip6table_mangle_hook" }, EFFECT_NONE },
	{ "ip6table_raw", { "ip6table_raw_hook" }, EFFECT_NONE },
	{ "ip6table_security", { "ip6table_security_hook" }, EFFECT_NONE },
	/* Rules of nf_tables: nf_tables.c. A chain that is being removed has no name. */
	{ "nf_tables",
	  { "nft_do_chain_inet", "nft_do_chain_inet_ingress", "nft_do_chain_ipv6",
	    "nft_do_chain_netdev", "nf_route_table_inet", "nf_route_table_hook6" },
	  EFFECT_NONE },
	/* They translate tracked packets only, by rules of nat chains, which punt. */
	{ "nf_nat",
	  { "nf_nat_inet_fn", "nf_nat_ipv6_fn", "nf_nat_ipv6_in", "nf_nat_ipv6_local_fn",
	    "nf_nat_ipv6_local_in", "nf_nat_ipv6_out" },
	  EFFECT_NONE },
	/* They forward flows that a rule with "flow add" has added. */
	{ "nf_flow_table_inet", { "nf_flow_offload_inet_hook" }, EFFECT_NONE },
	{ "nf_flow_table",
	  { "nf_flow_offload_ip_hook", "nf_flow_offload_ipv6_hook" },
	  EFFECT_NONE },
	/* Connection tracking accepts every packet. */
	{ "nf_conntrack",
	  { "ipv6_conntrack_in", "ipv6_conntrack_local", "ipv6_confirm", "nf_confirm" },
	  EFFECT_NONE },
	{ "nf_defrag_ipv6", { "ipv6_defrag" }, EFFECT_DEFRAGMENTS },
	/* Only for packets that came through a bridge, and met its hooks. */
	{ "br_netfilter", { "ip_sabotage_in" }, EFFECT_NONE },
	/* They accept packets without a local socket, as all forwarded ones are. */
	{ "",
	  { "apparmor_ip_postroute", "apparmor_ipv6_postroute", "smack_ip_output",
	    "smack_ipv6_output" },
	  EFFECT_NONE },
	/* They accept everything while no packet is labelled (SECMARK, NetLabel, labelled IPsec).
	 */
	{ "",
	  { "selinux_ip_forward", "selinux_ip_output", "selinux_ip_postroute",
	    "selinux_ipv6_forward", "selinux_ipv6_output", "selinux_ipv6_postroute" },
	  EFFECT_SELINUX },
};

static const char *const hook_names[GUARD_N_HOOKS] = {
	[GUARD_HOOK_INGRESS] = "ingress",	  [GUARD_HOOK_PREROUTING] = "prerouting",
	[GUARD_HOOK_FORWARD] = "forward",	  [GUARD_HOOK_OUTPUT] = "output",
	[GUARD_HOOK_POSTROUTING] = "postrouting", [GUARD_HOOK_EGRESS] = "egress",
};

void nf_hooks_add_bpf(struct nf_hooks *hooks, enum guard_hook hook, uint32_t program)
{
	char *reason = hooks->unknown[hook];

	if (!reason[0])
		(void)snprintf(reason, GUARD_REASON_LEN, "BPF program %u at %s", program,
			       hook_names[hook]);
}

static void add_function(struct nf_hooks *hooks, enum guard_hook hook, const char *name,
			 const char *module)
{
	char *reason = hooks->unknown[hook];

	if (reason[0])
		return;
	if (snprintf(reason, GUARD_REASON_LEN, "function %s%s%s at %s",
		     name[0] ? name : "without a name", module[0] ? " of module " : "", module,
		     hook_names[hook]) >= GUARD_REASON_LEN)
		memcpy(reason + GUARD_REASON_LEN - sizeof("..."), "...", sizeof("..."));
}

/* The index of a harmless function, or -1. module: "" for one that is built in. */
static int find_harmless(const char *name, const char *module)
{
	/* Compilers append .isra.0, .constprop.0, .llvm.17. */
	size_t length = strcspn(name, ".");

	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		if (module[0] && strcmp(harmless[i].module, module) != 0)
			continue;
		for (const char *const *known = harmless[i].names; *known; known++)
			if (strlen(*known) == length && strncmp(*known, name, length) == 0)
				return (int)i;
	}
	return -1;
}

static void check_function(struct nf_hooks *hooks, enum guard_hook hook, const char *name,
			   const char *module, bool selinux_checks)
{
	int i = find_harmless(name, module);

	if (i < 0 || (harmless[i].effect == EFFECT_SELINUX && selinux_checks))
		add_function(hooks, hook, name, module);
	else if (harmless[i].effect == EFFECT_DEFRAGMENTS)
		hooks->defragments = true;
}

static const struct attr_spec hook_specs[NFNLA_HOOK_MAX + 1] = {
	[NFNLA_HOOK_FUNCTION_NAME] = ATTR_STRING(NAME_BYTES),
	[NFNLA_HOOK_MODULE_NAME] = ATTR_STRING(NAME_BYTES),
	[NFNLA_HOOK_CHAIN_INFO] = ATTR_NEST,
};

static const struct attr_spec info_specs[NFNLA_HOOK_INFO_MAX + 1] = {
	[NFNLA_HOOK_INFO_DESC] = ATTR_NEST,
	[NFNLA_HOOK_INFO_TYPE] = ATTR_U32,
};

static const struct attr_spec bpf_specs[HOOK_BPF_ID + 1] = { [HOOK_BPF_ID] = ATTR_U32 };

/* 1: the message says what the function runs. 0: its name decides. */
static int parse_info(const struct nlattr *nest, enum guard_hook hook, struct nf_hooks *out)
{
	const struct nlattr *info[ARRAY_SIZE(info_specs)], *bpf[ARRAY_SIZE(bpf_specs)];
	int r = attr_walk_nest(nest, info_specs, ARRAY_SIZE(info_specs), info);

	if (r < 0)
		return r;
	switch (ntohl(attr_u32(info[NFNLA_HOOK_INFO_TYPE], 0))) {
	case NFNL_HOOK_TYPE_NFTABLES:
	case HOOK_TYPE_FLOWTABLE:
		return 1;
	case HOOK_TYPE_BPF:
		r = attr_walk_nest(info[NFNLA_HOOK_INFO_DESC], bpf_specs, ARRAY_SIZE(bpf_specs),
				   bpf);
		if (r < 0)
			return r;
		nf_hooks_add_bpf(out, hook, ntohl(attr_u32(bpf[HOOK_BPF_ID], 0)));
		return 1;
	}
	return 0;
}

int nf_hooks_parse(const struct nlmsghdr *nlh, enum guard_hook hook, bool selinux_checks,
		   struct nf_hooks *out)
{
	const struct nlattr *at[ARRAY_SIZE(hook_specs)];
	char name[NAME_BYTES] = "", module[NAME_BYTES] = "";
	int r = attr_walk_message(nlh, sizeof(struct nfgenmsg), hook_specs, ARRAY_SIZE(hook_specs),
				  at, NULL);

	if (r < 0)
		return r;
	r = parse_info(at[NFNLA_HOOK_CHAIN_INFO], hook, out);
	if (r != 0)
		return r < 0 ? r : 0;
	if (at[NFNLA_HOOK_FUNCTION_NAME])
		attr_copy_string(name, sizeof(name), at[NFNLA_HOOK_FUNCTION_NAME]);
	if (at[NFNLA_HOOK_MODULE_NAME])
		attr_copy_string(module, sizeof(module), at[NFNLA_HOOK_MODULE_NAME]);
	check_function(out, hook, name, module, selinux_checks);
	return 0;
}

/* --- reading --- */

#define TIMEOUT_MS 1000
/* Attempts, if the list changes while it is read. */
#define ATTEMPTS 16

/* Newer than the headers of Debian 12. */
#define HOOK_NETDEV_EGRESS 1
#define LINK_TYPE_NETFILTER 10
#define LINK_FLAG_DEFRAG 1u /* BPF_F_NETFILTER_IP_DEFRAG, Linux 6.6 */

#define SELINUX_CHECKS "/sys/fs/selinux/policy_capabilities/always_check_network"
#define CONNTRACK_STATISTICS "/proc/thread-self/net/stat/nf_conntrack"

/* nfnetlink_hook was missing. Each request would make the kernel start modprobe. */
static bool unsupported;

/* It is still missing. One that is loaded later is a module. */
static bool is_missing(void)
{
	return unsupported && access("/sys/module/nfnetlink_hook", F_OK) != 0;
}

struct dump {
	enum guard_hook hook;
	bool selinux_checks;
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

/* Without the file no policy is loaded, and SELinux accepts everything. */
static bool selinux_checks_all(void)
{
	_cleanup_fclose_ FILE *file = fopen(SELINUX_CHECKS, "re");

	return file && fgetc(file) == '1';
}

static int dump_message(const struct nlmsghdr *nlh, void *ctx)
{
	const struct dump *dump = ctx;

	return nf_hooks_parse(nlh, dump->hook, dump->selinux_checks, dump->out);
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
	struct dump dump = { .selinux_checks = selinux_checks_all(), .out = &hooks };
	int r = is_missing() ? -EINVAL : nl_socket_new(NETLINK_NETFILTER, 0, &socket);

	for (int hook = 0; r == 0 && hook < GUARD_N_HOOKS; hook++) {
		dump.hook = hook;
		if (inet_hooks[hook] >= 0)
			r = dump_hook(socket, NFPROTO_IPV6, (uint32_t)inet_hooks[hook], NULL,
				      &dump);
	}
	unsupported = is_unsupported(r);
	if (r < 0 && !unsupported)
		return r;
	if (unsupported)
		hooks = (struct nf_hooks){ .known = false };
	*out = hooks;
	return 0;
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
	int r = is_missing() ? -EINVAL : nl_socket_new(NETLINK_NETFILTER, 0, &socket);

	if (r == 0)
		r = dump_device(socket, NF_NETDEV_INGRESS, name, &dump);
	dump.hook = GUARD_HOOK_EGRESS;
	if (r == 0)
		r = dump_device(socket, HOOK_NETDEV_EGRESS, name, &dump);
	/* The request has a name, which another device may have now. */
	if (r == 0 && if_nametoindex(name) != ifindex)
		r = -ENODEV;
	if (r < 0 && r != -EINVAL)
		return r;
	if (r < 0)
		hooks = (struct nf_hooks){ .known = false };
	*out = hooks;
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
	int r = file ? read_connections(file, &n) : errno == ENOENT ? 0 : -errno;

	if (r == 0)
		*out = n > 0;
	return r;
}
