// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table of harmless functions. A function that is not in it, and that its message does not
 * describe, punts.
 */
#include "nf_hooks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>

#include "../netlink/parse_attr.h"

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
			   const char *module, const struct nf_hooks_context *context)
{
	int i = find_harmless(name, module);

	if (i < 0 || (harmless[i].effect == EFFECT_SELINUX && context->selinux_checks))
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

int nf_hooks_parse(const struct nlmsghdr *nlh, enum guard_hook hook,
		   const struct nf_hooks_context *context, struct nf_hooks *out)
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
	check_function(out, hook, name, module, context);
	return 0;
}
