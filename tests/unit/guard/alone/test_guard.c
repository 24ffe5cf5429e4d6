// SPDX-License-Identifier: GPL-2.0-only
/* What rules, policies and qdiscs mean for ports. What is read is put in place by the tests. */

#include "../../unit.h"

#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "../../../../user/guard/guard.c"
#include "../ruleset_text.h"

enum { P0 = 2, P1, SLAVE, BOND, VLAN, VRF, END };
#define N_DEVICES (END - P0)

#define IN_FW SIXLANE_PORT_IN_FIREWALL
#define OUT_FW SIXLANE_PORT_OUT_FIREWALL
#define BOTH_FW (IN_FW | OUT_FW)
#define GUARDED SIXLANE_PORT_GUARD
#define FLOWS (SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS)

static struct links links;
static struct guard guard;
static struct policies policies;
static struct queueing queueing;
static struct queueing_device queues[2];

static void add_link(uint32_t ifindex, const char *name, const char *kind, uint32_t lower,
		     uint32_t master, const char *master_kind)
{
	struct link link = { .ifindex = ifindex,
			     .type = ARPHRD_ETHER,
			     .lower = lower,
			     .master = master,
			     .vrf_table = ifindex == VRF ? 100 : 0 };
	bool changed;

	snprintf(link.name, sizeof(link.name), "%s", name);
	snprintf(link.kind, sizeof(link.kind), "%s", kind);
	snprintf(link.master_kind, sizeof(link.master_kind), "%s", master_kind);
	assert_int_equal(links_set(&links, &link, &changed), 0);
}

static struct device *device(uint32_t ifindex)
{
	return links_find(&links, ifindex);
}

static uint32_t flags_of(uint32_t ifindex)
{
	return guard_port_flags(&guard, &links, device(ifindex));
}

static bool may_answer(uint32_t ifindex)
{
	return guard_may_answer(&guard, &links, device(ifindex), flags_of(ifindex));
}

static bool pair_is_free(uint32_t in, uint32_t out)
{
	return guard_pair_is_free(&guard, &links, device(in), device(out));
}

/* Two ports, the second in a VRF; a bond with a slave, and a VLAN device on it. All is read. */
static int setup(void **state)
{
	guard_sources_init(&guard.sources, 0, 0);
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		guard.sources.state[kind] = (struct guard_source){ .read = true };
	policies = (struct policies){ 0 };
	queueing = (struct queueing){ .at = queues };
	memset(queues, 0, sizeof(queues));
	guard.sources.policies = &policies;
	guard.sources.queueing = &queueing;
	guard.sources.hooks.known = true;
	for (int i = 0; i < GUARD_N_RULES; i++)
		guard.sources.rules[i] = guard_ruleset_new();
	add_link(P0, "p0", "", 0, 0, "");
	add_link(P1, "p1", "", 0, VRF, "vrf");
	add_link(SLAVE, "s0", "", 0, BOND, "bond");
	add_link(BOND, "bond0", "bond", 0, 0, "");
	add_link(VLAN, "bond0.7", "vlan", BOND, 0, "");
	add_link(VRF, "red", "vrf", 0, 0, "");
	guard_update(&guard, &links);
	return 0;
}

static int teardown(void **state)
{
	guard.sources.policies = NULL;
	guard.sources.queueing = NULL;
	guard.sources.devices = NULL;
	guard_sources_free(&guard.sources);
	guard_pairs_free(&guard.pairs);
	links_clear(&links);
	return 0;
}

static void set_rules(const char *text)
{
	ruleset_text_add(guard.sources.rules[GUARD_RULES_NF_TABLES], text);
	guard_update(&guard, &links);
}

#define OTHERS(flags) (flags), (flags), (flags), (flags), (flags)
#define ALL(flags)                     \
	{                              \
		(flags), OTHERS(flags) \
	}
#define AT(device) [(device)-P0]
#define NO_ANSWER 0xff
#define BIT(device) (1u << ((device)-P0))

static const struct row {
	const char *name, *rules;
	uint32_t flags[N_DEVICES];
	uint32_t no_answer; /* bit set: XDP may not answer by these devices */
	uint32_t lookup;    /* a port whose program looks up flows */
	uint32_t punted[2]; /* from, to: this pair is not free */
	uint32_t free[2];
} rows[] = {
	{ "nothing", "", .free = { P0, P1 } },
	{ "one direction of pairs", "base forward accept; iifname = p0 drop", .flags = { GUARDED },
	  .punted = { P0, BOND }, .free = { BOND, P0 } },
	{ "a VRF is an ingress", "base forward accept; iifname = red drop",
	  .flags = { AT(P1) = GUARDED, AT(VRF) = GUARDED }, .punted = { P1, P0 },
	  .free = { P0, P1 } },
	{ "prerouting", "base prerouting accept; iifname = red drop",
	  .flags = { AT(P1) = IN_FW, AT(VRF) = IN_FW } },
	{ "postrouting", "base postrouting drop", .flags = ALL(OUT_FW), .no_answer = NO_ANSWER },
	{ "output", "base output drop", .no_answer = NO_ANSWER },
	{ "chains at lower devices", "base ingress drop at s0; base egress drop at bond0",
	  .flags = { AT(SLAVE) = IN_FW, AT(BOND) = BOTH_FW, AT(VLAN) = BOTH_FW },
	  .no_answer = BIT(BOND) | BIT(VLAN) },
	{ "connection tracking", "base forward accept; ct may accept", .flags = ALL(BOTH_FW),
	  .no_answer = NO_ANSWER, .punted = { P0, P1 } },
	{ "nat", "base postrouting accept nat", .flags = ALL(BOTH_FW), .no_answer = NO_ANSWER,
	  .punted = { P0, P1 } },
	/* Answers go out by the VRF, and then by its port. */
	{ "output of a VRF", "base output accept; oifname = red drop",
	  .no_answer = BIT(P1) | BIT(VRF) },
	{ "output of a VRF's port", "base output accept; oifname = p1 drop", .no_answer = BIT(P1) },
	{ "postrouting of a VRF", "base postrouting accept; oifname = red drop",
	  .flags = { AT(VRF) = OUT_FW }, .no_answer = BIT(P1) | BIT(VRF) },
	{ "postrouting of a VRF's port", "base postrouting accept; oifname = p1 drop",
	  .flags = { AT(P1) = OUT_FW }, .no_answer = BIT(P1) },
	/* Flows exist even if no rule makes any more. */
	{ "a flowtable", "flowtable p0", .flags = { IN_FW }, .punted = { P0, P1 },
	  .free = { P1, P0 } },
	{ "its flows are looked up", "flowtable p0", .flags = { FLOWS }, .no_answer = BIT(P0),
	  .lookup = P0, .punted = { P0, P1 }, .free = { P1, P0 } },
	{ "only the kernel may forward them", "flowtable p0; flowtable p0 kernel",
	  .flags = { IN_FW }, .lookup = P0 },
	/* XDP does not find the flow of a tagged frame. */
	{ "flowtables of lower devices", "flowtable s0; flowtable bond0", .lookup = BOND,
	  .flags = { AT(SLAVE) = IN_FW, AT(BOND) = IN_FW, AT(VLAN) = IN_FW },
	  .punted = { VLAN, P0 } },
	{ "tracked flows", "base forward accept; ct; flowtable p0", .flags = ALL(BOTH_FW),
	  .no_answer = NO_ANSWER },
	{ "tracked flows are looked up", "base forward accept; ct; flowtable p0",
	  .flags = { FLOWS, OTHERS(IN_FW) }, .no_answer = NO_ANSWER, .lookup = P0,
	  .punted = { P0, P1 } },
	/* Flows bypass prerouting to postrouting, and nothing else. */
	{ "flows past postrouting", "base postrouting drop; flowtable p0", .lookup = P0,
	  .flags = { FLOWS, OTHERS(GUARDED) }, .no_answer = NO_ANSWER, .punted = { P1, P0 } },
	{ "flows and ingress", "base ingress drop at p0; flowtable p0", .flags = { IN_FW },
	  .lookup = P0 },
	{ "flows and egress", "base egress drop at p1; flowtable p0", .flags = { FLOWS, OUT_FW },
	  .no_answer = BIT(P0) | BIT(P1), .lookup = P0 },
};

static void test_rules(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		setup(state);
		if (row->lookup)
			device(row->lookup)->looks_up_flows = true;
		set_rules(row->rules);
		for (uint32_t ifindex = P0; ifindex < END; ifindex++)
			if (flags_of(ifindex) != row->flags[ifindex - P0] ||
			    may_answer(ifindex) == (row->no_answer >> (ifindex - P0) & 1))
				fail_msg("%s: device %u: flags %x, answers %d", row->name, ifindex,
					 flags_of(ifindex), may_answer(ifindex));
		if ((row->punted[0] && pair_is_free(row->punted[0], row->punted[1])) ||
		    (row->free[0] && !pair_is_free(row->free[0], row->free[1])))
			fail_msg("%s: pairs", row->name);
		teardown(state);
	}
}

static void test_wants_flows(void **state)
{
	set_rules("flowtable p0; flowtable bond0; flowtable p1 kernel; flowtable bond0.7");
	for (uint32_t ifindex = P0; ifindex < END; ifindex++)
		assert_int_equal(guard_can_forward_flows(&guard, device(ifindex)), ifindex == P0);
	/* Nothing is looked up past rules that could not be read. */
	device(P0)->looks_up_flows = true;
	guard.sources.state[GUARD_SOURCE_HOOKS].error = -EIO;
	guard_update(&guard, &links);
	assert_int_equal(flags_of(P0), BOTH_FW);
	assert_false(guard_can_forward_flows(&guard, device(P0)));
}

/* What is at a slave concerns its bond and the VLAN device on that; a VRF's qdisc its answers. */
static void test_devices(void **state)
{
	struct guard_device devices[] = {
		{ .ifindex = P0, .tcx_in = "a program", .hook_out = "a function" },
		{ .ifindex = P1, .tcx_out = "a program", .hook_in = "a function" },
	};

	guard.sources.devices = devices;
	guard.sources.n_devices = 2;
	queues[0] = (struct queueing_device){ .ifindex = SLAVE, .egress = "qdisc htb 1:" };
	queues[1] = (struct queueing_device){ .ifindex = VRF, .ingress = "filter" };
	queueing.n = 2;
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_TC | OUT_FW);
	assert_int_equal(flags_of(P1), SIXLANE_PORT_OUT_TC | IN_FW);
	for (uint32_t ifindex = SLAVE; ifindex <= VLAN; ifindex++)
		assert_int_equal(flags_of(ifindex), SIXLANE_PORT_OUT_TC);
	assert_int_equal(flags_of(VRF), SIXLANE_PORT_IN_TC);
	assert_true(may_answer(VRF));
	guard.sources.n_devices = 0;
	assert_true(may_answer(P1));
	queues[1] = (struct queueing_device){ .ifindex = VRF, .egress = "qdisc tbf 1:" };
	assert_false(may_answer(P1));
	assert_int_equal(flags_of(P1), 0);
}

static void test_functions_at_hooks(void **state)
{
	struct nf_hooks *hooks = &guard.sources.hooks;

	snprintf(hooks->unknown[GUARD_HOOK_FORWARD], GUARD_REASON_LEN, "BPF program 7");
	guard_update(&guard, &links);
	assert_string_equal(guard.all, "BPF program 7");
	assert_int_equal(flags_of(P0), BOTH_FW);
	assert_false(pair_is_free(P0, P1));
	*hooks->unknown[GUARD_HOOK_FORWARD] = '\0';
	snprintf(hooks->unknown[GUARD_HOOK_OUTPUT], GUARD_REASON_LEN, "BPF program 7");
	guard_update(&guard, &links);
	assert_int_equal(flags_of(P0), 0);
	assert_false(may_answer(P0));
}

static void test_unread(void **state)
{
	static const struct {
		enum guard_source_kind kind;
		enum guard_cause cause;
		uint32_t flags, meta;
	} sources[] = {
		{ GUARD_SOURCE_NF_TABLES, GUARD_NETFILTER, BOTH_FW, 0 },
		{ GUARD_SOURCE_IP6_TABLES, GUARD_NETFILTER, BOTH_FW, 0 },
		{ GUARD_SOURCE_HOOKS, GUARD_NETFILTER, BOTH_FW, 0 },
		{ GUARD_SOURCE_XFRM, GUARD_XFRM, GUARDED, SIXLANE_META_IPSEC_ALL },
		{ GUARD_SOURCE_TC, GUARD_TC, SIXLANE_PORT_IN_TC | SIXLANE_PORT_OUT_TC, 0 },
		{ GUARD_SOURCE_DEVICES, GUARD_TC, SIXLANE_PORT_IN_TC | SIXLANE_PORT_OUT_TC, 0 },
	};
	static const struct {
		struct guard_source state;
		const char *reason;
	} states[] = {
		{ { .read = false }, "are being read" },
		{ { .read = true, .stale = true }, "are being read" },
		{ { .read = true, .error = -EIO }, "cannot read" },
	};
	char reason[GUARD_REASON_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(sources) * ARRAY_SIZE(states); i++) {
		size_t n = i / ARRAY_SIZE(states), how = i % ARRAY_SIZE(states);

		guard.sources.state[sources[n].kind] = states[how].state;
		guard_update(&guard, &links);
		assert_int_equal(flags_of(P0), sources[n].flags);
		assert_int_equal(guard_meta_flags(&guard), sources[n].meta);
		assert_true(guard_reason(&guard, &links, sources[n].cause, device(P0), NULL, NULL,
					 NULL, reason));
		assert_non_null(strstr(reason, states[how].reason));
		guard.sources.state[sources[n].kind] = (struct guard_source){ .read = true };
	}
}

static void test_nothing_is_read(void **state)
{
	struct guard *new;

	assert_int_equal(guard_new(0, 0, &new), 0);
	guard_update(new, &links);
	assert_int_equal(guard_port_flags(new, &links, device(P0)),
			 BOTH_FW | SIXLANE_PORT_IN_TC | SIXLANE_PORT_OUT_TC | GUARDED);
	assert_int_equal(guard_meta_flags(new), SIXLANE_META_IPSEC_ALL);
	guard_free(new);
}

static void test_bypassed(void **state)
{
	char reason[GUARD_REASON_LEN];

	memset(guard.sources.state, 0, sizeof(guard.sources.state));
	guard.sources.bypassed = 1u << GUARD_NETFILTER | 1u << GUARD_XFRM | 1u << GUARD_TC;
	guard_update(&guard, &links);
	assert_int_equal(flags_of(P0), 0);
	assert_int_equal(guard_meta_flags(&guard), 0);
	assert_true(pair_is_free(P0, P1));
	assert_true(may_answer(P0));
	assert_false(guard_devices_changed(&guard, &links));
	for (enum guard_cause cause = 0; cause < GUARD_N_CAUSES; cause++)
		assert_false(
			guard_reason(&guard, &links, cause, device(P0), NULL, NULL, NULL, reason));
}

/* Each of these flags makes all ports check packets. */
static void test_meta_flags(void **state)
{
	policies.n = 1;
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_IPSEC);
	assert_int_equal(flags_of(P0), GUARDED);
	assert_false(may_answer(P0));
	snprintf(policies.icmp_errors, GUARD_REASON_LEN, "policy fwd");
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_IPSEC | SIXLANE_META_IPSEC_ICMP6);
	snprintf(policies.all, GUARD_REASON_LEN, "default of fwd");
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_IPSEC_ALL);
	policies = (struct policies){ 0 };
	guard.sources.hooks.defragments = true;
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_FRAGMENTS);
	assert_int_equal(flags_of(P0), GUARDED);
	/* Not known: a rule that needs connection tracking has it defragment. */
	guard.sources.hooks = (struct nf_hooks){ .known = false };
	assert_int_equal(guard_meta_flags(&guard), 0);
	set_rules("base output accept; chain input; ct");
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_FRAGMENTS);
}

/* The same devices are named, so that only the answers are others. */
static void test_rules_change(void **state)
{
	set_rules("base forward accept; iifname = p0 accept");
	assert_true(pair_is_free(P0, P1));
	set_rules("base forward accept; iifname = p0 drop");
	assert_false(pair_is_free(P0, P1));
	assert_int_equal(flags_of(P0), GUARDED);
}

/* A device that a rule names appears, or gets the name, after the rule. */
static void test_device_that_gets_a_name(void **state)
{
	struct guard_source *source = guard.sources.state;

	set_rules("base forward accept; iifname = late drop");
	assert_int_equal(flags_of(P0), 0);
	add_link(P0, "late", "", 0, 0, "");
	assert_true(guard_devices_changed(&guard, &links));
	assert_true(source[GUARD_SOURCE_NF_TABLES].pending && source[GUARD_SOURCE_TC].pending &&
		    source[GUARD_SOURCE_DEVICES].pending);
	assert_int_equal(flags_of(P0), GUARDED);
	assert_false(guard_devices_changed(&guard, &links));
	add_link(P0, "p0", "", 0, 0, "");
	assert_true(guard_devices_changed(&guard, &links));
	assert_int_equal(flags_of(P0), 0);
}

/* Flows bypass what punts every packet, so that a flowtable's device matters then, too. */
static void test_device_of_a_flowtable_is_renamed(void **state)
{
	struct guard_source *source = &guard.sources.state[GUARD_SOURCE_NF_TABLES];

	set_rules("flowtable p0; base postrouting accept nat");
	assert_non_null(strstr(guard.all, "nat"));
	assert_false(guard_devices_changed(&guard, &links));
	assert_false(source->pending);
	add_link(P0, "q0", "", 0, 0, "");
	assert_true(guard_devices_changed(&guard, &links));
	assert_true(source->pending);
}

static void expect_reason(enum guard_cause cause, uint32_t in, uint32_t out, const char *expected)
{
	static const union sixlane_addr any;
	char reason[GUARD_REASON_LEN] = "";
	bool has_address = cause == GUARD_XFRM && out;

	assert_int_equal(guard_reason(&guard, &links, cause, device(in), out ? device(out) : NULL,
				      has_address ? &any : NULL, has_address ? &any : NULL, reason),
			 expected != NULL);
	assert_string_equal(reason, expected ? expected : "");
}

static void test_reasons(void **state)
{
	struct policy policy = { .dst.len = 8, .index = 7 };

	set_rules("base forward accept; iifname = red drop\n"
		  "base ingress drop at s0; base egress drop at bond0");
	expect_reason(GUARD_NETFILTER, P1, P0, "table inet fw, chain forward, rule handle 1: drop");
	expect_reason(GUARD_NETFILTER, P1, 0, NULL);
	expect_reason(GUARD_NETFILTER, P0, P1, NULL);
	expect_reason(GUARD_NETFILTER, VLAN, 0, "table inet fw, chain ingress: policy drop");
	expect_reason(GUARD_NETFILTER, P0, BOND, "table inet fw, chain egress: policy drop");
	queues[0] = (struct queueing_device){ SLAVE, "filter u32", "qdisc htb 1:" };
	queueing.n = 1;
	expect_reason(GUARD_TC, VLAN, 0, "s0: filter u32");
	expect_reason(GUARD_TC, P0, BOND, "s0: qdisc htb 1:");
	expect_reason(GUARD_TC, P0, P1, NULL);
	expect_reason(GUARD_XFRM, P0, 0, NULL);
	policies.at = &policy;
	policies.n = 1;
	expect_reason(GUARD_XFRM, P0, 0, "policy out ::/0 to ::/8, index 7, priority 0");
	expect_reason(GUARD_XFRM, P0, P1, "policy out ::/0 to ::/8, index 7, priority 0");
	policies.n = 0;
	snprintf(policies.icmp_errors, GUARD_REASON_LEN, "policy fwd");
	expect_reason(GUARD_XFRM, P0, P1, NULL);
	expect_reason(GUARD_XFRM, P0, 0, "policy fwd");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		TEST(test_wants_flows),
		TEST(test_devices),
		TEST(test_functions_at_hooks),
		TEST(test_unread),
		TEST(test_nothing_is_read),
		TEST(test_bypassed),
		TEST(test_meta_flags),
		TEST(test_rules_change),
		TEST(test_device_that_gets_a_name),
		TEST(test_device_of_a_flowtable_is_renamed),
		TEST(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
