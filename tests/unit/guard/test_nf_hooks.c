// SPDX-License-Identifier: GPL-2.0-only
/* Messages of nfnetlink_hook: which functions punt, and for which reason. */
#include "../unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>

#include "../../../user/guard/nf_hooks.h"
#include "../netlink/netlink_build.h"

#define TYPE_BPF 2
#define TYPE_FLOWTABLE 3
#define BPF_ID 1

struct row {
	const char *name, *module; /* NULL: not in the message */
	uint32_t type;		   /* of the chain information; 0: there is none */
	enum guard_hook hook;
	bool selinux_checks;
	const char *expected; /* NULL: harmless */
	bool defragments;
};

static const struct row rows[] = {
	{ "ip6t_do_table", "ip6_tables", .hook = GUARD_HOOK_FORWARD },
	{ "ip6table_mangle_hook", "ip6table_mangle", .hook = GUARD_HOOK_PREROUTING },
	/* Built in. */
	{ "ip6t_do_table", .hook = GUARD_HOOK_FORWARD },
	{ "nft_do_chain_inet.isra.0", "nf_tables", .hook = GUARD_HOOK_FORWARD },
	{ "nf_confirm.llvm.123", "nf_conntrack", .hook = GUARD_HOOK_POSTROUTING },
	{ "ipv6_defrag", "nf_defrag_ipv6", .hook = GUARD_HOOK_PREROUTING, .defragments = true },
	{ "selinux_ip_forward", .hook = GUARD_HOOK_FORWARD },
	{ "selinux_ip_forward", .hook = GUARD_HOOK_FORWARD, .selinux_checks = true,
	  .expected = "function selinux_ip_forward at forward" },
	{ "apparmor_ip_postroute", .hook = GUARD_HOOK_POSTROUTING, .selinux_checks = true },
	{ "ip_vs_in_hook", "ip_vs", .hook = GUARD_HOOK_FORWARD,
	  .expected = "function ip_vs_in_hook of module ip_vs at forward" },
	/* The name of a harmless function in another module. */
	{ "nf_confirm", "other", .hook = GUARD_HOOK_OUTPUT,
	  .expected = "function nf_confirm of module other at output" },
	{ "apparmor_ip_postroute", "other", .hook = GUARD_HOOK_POSTROUTING,
	  .expected = "function apparmor_ip_postroute of module other at postrouting" },
	/* Names that begin alike. */
	{ "nf_conf", "nf_conntrack", .hook = GUARD_HOOK_PREROUTING,
	  .expected = "function nf_conf of module nf_conntrack at prerouting" },
	{ "nf_confirm2", "nf_conntrack", .hook = GUARD_HOOK_PREROUTING,
	  .expected = "function nf_confirm2 of module nf_conntrack at prerouting" },
	{ ".isra.0", "nf_conntrack", .hook = GUARD_HOOK_INGRESS,
	  .expected = "function .isra.0 of module nf_conntrack at ingress" },
	{ .hook = GUARD_HOOK_EGRESS, .expected = "function without a name at egress" },
	/* The message says what the function runs. */
	{ "x", .type = NFNL_HOOK_TYPE_NFTABLES, .hook = GUARD_HOOK_FORWARD },
	{ "x", .type = TYPE_FLOWTABLE, .hook = GUARD_HOOK_INGRESS },
	{ "nf_confirm", "nf_conntrack", .type = TYPE_BPF, .hook = GUARD_HOOK_FORWARD,
	  .expected = "BPF program 17 at forward" },
	/* With an unknown type the name decides. */
	{ "x", .type = 9, .hook = GUARD_HOOK_FORWARD, .expected = "function x at forward" },
	{ "nf_confirm", .type = 9, .hook = GUARD_HOOK_FORWARD },
};

static struct nlmsghdr *build(const struct row *row, void *buffer)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct nlattr *info, *description;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	if (row->module)
		mnl_attr_put_strz(nlh, NFNLA_HOOK_MODULE_NAME, row->module);
	if (row->name)
		mnl_attr_put_strz(nlh, NFNLA_HOOK_FUNCTION_NAME, row->name);
	mnl_attr_put_u32(nlh, NFNLA_HOOK_HOOKNUM, htonl(2));
	mnl_attr_put_u32(nlh, NFNLA_HOOK_PRIORITY, htonl(0));
	if (!row->type)
		return nlh;
	info = mnl_attr_nest_start(nlh, NFNLA_HOOK_CHAIN_INFO);
	mnl_attr_put_u32(nlh, NFNLA_HOOK_INFO_TYPE, htonl(row->type));
	description = mnl_attr_nest_start(nlh, NFNLA_HOOK_INFO_DESC);
	if (row->type == TYPE_BPF)
		mnl_attr_put_u32(nlh, BPF_ID, htonl(17));
	else
		mnl_attr_put_strz(nlh, NFNLA_CHAIN_TABLE, "t");
	mnl_attr_nest_end(nlh, description);
	mnl_attr_nest_end(nlh, info);
	return nlh;
}

static char buffer[4096] __attribute__((aligned(8)));

static int parse(const struct row *row, struct nf_hooks *hooks)
{
	return PARSE(nf_hooks_parse, build(row, buffer), row->hook, row->selinux_checks, hooks);
}

static void functions(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nf_hooks hooks = { .known = true };

		assert_int_equal(parse(&rows[i], &hooks), 0);
		assert_string_equal(hooks.unknown[rows[i].hook],
				    rows[i].expected ? rows[i].expected : "");
		assert_int_equal(hooks.defragments, rows[i].defragments);
		for (int hook = 0; hook < GUARD_N_HOOKS; hook++)
			if (hook != (int)rows[i].hook)
				assert_string_equal(hooks.unknown[hook], "");
	}
}

static void first_unknown_is_kept(void **state)
{
	static const struct row first = { .name = "foo", .module = "bar" };
	static const struct row second = { .name = "other" };
	struct nf_hooks hooks = { 0 };

	assert_int_equal(parse(&first, &hooks), 0);
	assert_int_equal(parse(&second, &hooks), 0);
	nf_hooks_add_bpf(&hooks, first.hook, 3);
	assert_string_equal(hooks.unknown[first.hook], "function foo of module bar at ingress");
}

static void a_long_name_is_cut(void **state)
{
	static char name[500];
	struct row row = { .name = name, .module = name };
	struct nf_hooks hooks = { 0 };
	const char *reason = hooks.unknown[row.hook];

	memset(name, 'f', sizeof(name) - 1);
	assert_int_equal(parse(&row, &hooks), 0);
	assert_int_equal(strlen(reason), GUARD_REASON_LEN - 1);
	assert_string_equal(reason + GUARD_REASON_LEN - 5, "f...");
}

/* A truncated message is refused or parsed as far as it goes, never read beyond its end. */
static void truncations(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nlmsghdr *nlh = build(&rows[i], buffer);
		struct nf_hooks hooks = { 0 };

		while (--nlh->nlmsg_len >= sizeof(*nlh))
			(void)PARSE(nf_hooks_parse, nlh, rows[i].hook, false, &hooks);
	}
}

static void a_name_without_its_end(void **state)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct nf_hooks hooks = { 0 };

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	mnl_attr_put(nlh, NFNLA_HOOK_FUNCTION_NAME, 4, "abcd");
	assert_int_equal(nf_hooks_parse(nlh, GUARD_HOOK_FORWARD, false, &hooks), -EBADMSG);
	assert_string_equal(hooks.unknown[GUARD_HOOK_FORWARD], "");
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(first_unknown_is_kept),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(truncations),
		cmocka_unit_test(a_name_without_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
