// SPDX-License-Identifier: GPL-2.0-only
#include "nf_hooks_parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>

#include "../lib/util.h"
#include "../netlink/parse_attr.h"

/* Newer than the kernel's headers in Debian 12: enum nfnl_hook_chaintype, nfnl_hook_bpf_attributes.
 */
#define HOOK_TYPE_BPF 2
#define HOOK_TYPE_FLOWTABLE 3
#define HOOK_BPF_ID 1

/* KSYM_NAME_LEN and MODULE_NAME_LEN with room to grow. */
#define NAME_BYTES 512

enum trait {
	TRAIT_NONE,
	TRAIT_DEFRAGMENTS,
	TRAIT_SELINUX, /* harmless unless SELinux checks packets */
};

/*
 * Functions that leave forwarded packets alone, or whose rules are read elsewhere. module: that it
 * is of, if it is of one; a function of the same name in another module is not meant. Names are
 * those of Linux 5.15 to 6.18.
 */
static const struct {
	const char *name, *module;
	enum trait trait;
} harmless[] = {
	/* Rules of legacy tables: ip6_tables.c. */
	{ "ip6t_do_table", "ip6_tables", TRAIT_NONE },
	{ "ip6table_filter_hook", "ip6table_filter", TRAIT_NONE },
	{ "ip6table_mangle_hook", "ip6table_mangle", TRAIT_NONE },
	{ "ip6table_raw_hook", "ip6table_raw", TRAIT_NONE },
	{ "ip6table_security_hook", "ip6table_security", TRAIT_NONE },
	/* Rules of nf_tables: nf_tables.c. Chains that are being removed come without their name.
	 */
	{ "nft_do_chain_inet", "nf_tables", TRAIT_NONE },
	{ "nft_do_chain_inet_ingress", "nf_tables", TRAIT_NONE },
	{ "nft_do_chain_ipv6", "nf_tables", TRAIT_NONE },
	{ "nft_do_chain_netdev", "nf_tables", TRAIT_NONE },
	{ "nf_route_table_inet", "nf_tables", TRAIT_NONE },
	{ "nf_route_table_hook6", "nf_tables", TRAIT_NONE },
	/* Translate as rules of nat chains have said, of either kind, and only what is tracked. */
	{ "nf_nat_inet_fn", "nf_nat", TRAIT_NONE },
	{ "nf_nat_ipv6_fn", "nf_nat", TRAIT_NONE },
	{ "nf_nat_ipv6_in", "nf_nat", TRAIT_NONE },
	{ "nf_nat_ipv6_local_fn", "nf_nat", TRAIT_NONE },
	{ "nf_nat_ipv6_local_in", "nf_nat", TRAIT_NONE },
	{ "nf_nat_ipv6_out", "nf_nat", TRAIT_NONE },
	/* Forward flows that a rule with "flow add" has offered. */
	{ "nf_flow_offload_inet_hook", "nf_flow_table_inet", TRAIT_NONE },
	{ "nf_flow_offload_ip_hook", "nf_flow_table", TRAIT_NONE },
	{ "nf_flow_offload_ipv6_hook", "nf_flow_table", TRAIT_NONE },
	/* Connection tracking remembers packets and accepts them. */
	{ "ipv6_conntrack_in", "nf_conntrack", TRAIT_NONE },
	{ "ipv6_conntrack_local", "nf_conntrack", TRAIT_NONE },
	{ "ipv6_confirm", "nf_conntrack", TRAIT_NONE },
	{ "nf_confirm", "nf_conntrack", TRAIT_NONE },
	{ "ipv6_defrag", "nf_defrag_ipv6", TRAIT_DEFRAGMENTS },
	/* Only for packets that came through a bridge, and met the hooks there. */
	{ "ip_sabotage_in", "br_netfilter", TRAIT_NONE },
	/* Accept packets without a socket of this machine, which are all forwarded ones. */
	{ "apparmor_ip_postroute", "", TRAIT_NONE },
	{ "apparmor_ipv6_postroute", "", TRAIT_NONE },
	{ "smack_ip_output", "", TRAIT_NONE },
	{ "smack_ipv6_output", "", TRAIT_NONE },
	/*
	 * Accept everything while no packet is labelled (SECMARK, NetLabel, labelled IPsec), unless
	 * the policy asks for checks in any case.
	 */
	{ "selinux_ip_forward", "", TRAIT_SELINUX },
	{ "selinux_ip_output", "", TRAIT_SELINUX },
	{ "selinux_ip_postroute", "", TRAIT_SELINUX },
	{ "selinux_ipv6_forward", "", TRAIT_SELINUX },
	{ "selinux_ipv6_output", "", TRAIT_SELINUX },
	{ "selinux_ipv6_postroute", "", TRAIT_SELINUX },
};

static const char *const hook_words[GUARD_N_HOOKS] = {
	[GUARD_HOOK_INGRESS] = "ingress",	  [GUARD_HOOK_PREROUTING] = "prerouting",
	[GUARD_HOOK_FORWARD] = "forward",	  [GUARD_HOOK_OUTPUT] = "output",
	[GUARD_HOOK_POSTROUTING] = "postrouting", [GUARD_HOOK_EGRESS] = "egress",
};

void nf_hooks_add_bpf(struct nf_hooks *hooks, enum guard_hook hook, uint32_t program)
{
	char *reason = hooks->unknown[hook];

	if (!reason[0])
		(void)snprintf(reason, GUARD_REASON_LEN, "BPF program %u at %s", program,
			       hook_words[hook]);
}

static void add_function(struct nf_hooks *hooks, enum guard_hook hook, const char *name,
			 const char *module)
{
	char *reason = hooks->unknown[hook];

	if (reason[0])
		return;
	if (snprintf(reason, GUARD_REASON_LEN, "function %s%s%s at %s",
		     name[0] ? name : "without a name", module[0] ? " of module " : "", module,
		     hook_words[hook]) >= GUARD_REASON_LEN)
		memcpy(reason + GUARD_REASON_LEN - sizeof("..."), "...", sizeof("..."));
}

static bool is_of(const char *known, const char *module)
{
	return !module[0] || strcmp(known, module) == 0;
}

static void judge_function(struct nf_hooks *hooks, enum guard_hook hook, char *name,
			   const char *module, const struct nf_hooks_facts *facts)
{
	/* What compilers append: .isra.0, .constprop.0, .llvm.17. */
	size_t length = strcspn(name, ".");

	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		if (strlen(harmless[i].name) != length ||
		    strncmp(harmless[i].name, name, length) != 0 ||
		    !is_of(harmless[i].module, module))
			continue;
		if (harmless[i].trait == TRAIT_SELINUX && facts->selinux_checks)
			break;
		if (harmless[i].trait == TRAIT_DEFRAGMENTS)
			hooks->defragments = true;
		return;
	}
	add_function(hooks, hook, name, module);
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

/* 1: what the function runs is told, and dealt with. 0: it is to be judged by its name. */
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
		   const struct nf_hooks_facts *facts, struct nf_hooks *out)
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
	judge_function(out, hook, name, module, facts);
	return 0;
}
