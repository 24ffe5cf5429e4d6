// SPDX-License-Identifier: GPL-2.0-only
/*
 * What rules, policies and qdiscs come to for devices: whatever stands at a device that packets go
 * through counts, by whichever name rules see them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "../../../../user/guard/guard.c"
#include "../../../../user/lib/util.h"
#include "../../unit.h"

enum { P0 = 2, P1, SLAVE, BOND, VLAN, VRF };

static struct links links;
static struct guard guard;
static struct guard_ruleset *rules;
static struct policies policies;
static struct queueing queueing;
static struct queueing_device queues[2];

static void add_link(uint32_t ifindex, const char *name, const char *kind, uint32_t lower,
		     uint32_t master)
{
	struct link link = { .ifindex = ifindex,
			     .type = ARPHRD_ETHER,
			     .lower = lower,
			     .master = master,
			     .vrf_table = ifindex == VRF ? 100 : 0 };
	bool changed;

	snprintf(link.name, sizeof(link.name), "%s", name);
	snprintf(link.kind, sizeof(link.kind), "%s", kind);
	snprintf(link.master_kind, sizeof(link.master_kind), "%s",
		 master == VRF	  ? "vrf"
		 : master == BOND ? "bond"
				  : "");
	assert_int_equal(links_set(&links, &link, &changed), 0);
}

static const struct device *device(uint32_t ifindex)
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

/* Two ports, the second in a VRF; a bond with a slave, and a VLAN device on it. All is read. */
static int setup(void **state)
{
	memset(&guard, 0, sizeof(guard));
	for (int kind = 0; kind < GUARD_N_SOURCES; kind++)
		guard.sources.state[kind].read = true;
	policies = (struct policies){ 0 };
	queueing = (struct queueing){ .at = queues };
	memset(queues, 0, sizeof(queues));
	guard.sources.policies = &policies;
	guard.sources.queueing = &queueing;
	guard.sources.hooks.known = true;
	rules = guard_ruleset_new();
	guard.sources.rules[GUARD_RULES_NF_TABLES] = rules;
	guard.sources.rules[GUARD_RULES_IP6_TABLES] = guard_ruleset_new();
	add_link(P0, "p0", "", 0, 0);
	add_link(P1, "p1", "", 0, VRF);
	add_link(SLAVE, "s0", "", 0, BOND);
	add_link(BOND, "bond0", "bond", 0, 0);
	add_link(VLAN, "bond0.7", "vlan", BOND, 0);
	add_link(VRF, "red", "vrf", 0, 0);
	guard_judge(&guard, &links);
	return 0;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		guard_ruleset_free(guard.sources.rules[i]);
	guard_pairs_free(&guard.pairs);
	links_clear(&links);
	return 0;
}

static uint32_t add_base(enum guard_hook hook, bool accepts, const char *at, bool nat)
{
	uint32_t table = guard_add_table(rules, "table inet t");
	uint32_t chain = guard_add_chain(rules, table, "c");

	guard_set_base(rules, chain, hook, accepts, at, nat);
	return chain;
}

static void drop_if(uint32_t chain, enum guard_meta meta, const char *name)
{
	char padded[IFNAMSIZ] = { 0 };

	memcpy(padded, name, strlen(name));
	guard_add_rule(rules, chain, 1);
	guard_load(rules, 16, IFNAMSIZ, meta);
	guard_compare(rules, 16, IFNAMSIZ, GUARD_EQ, padded);
	guard_verdict(rules, GUARD_DROP, 0);
}

static void drop_from(uint32_t chain, const char *name)
{
	drop_if(chain, GUARD_META_IIFNAME, name);
}

static void nothing_holds(void **state)
{
	for (uint32_t in = P0; in <= VRF; in++) {
		assert_int_equal(flags_of(in), 0);
		assert_true(may_answer(in));
		for (uint32_t out = P0; out <= VRF; out++)
			assert_true(guard_pair_is_free(&guard, &links, device(in), device(out)));
	}
	assert_int_equal(guard_meta_flags(&guard), 0);
}

/* One direction of one pair. */
static void a_pair_is_held(void **state)
{
	uint32_t chain = add_base(GUARD_HOOK_FORWARD, true, NULL, false);

	drop_from(chain, "p0");
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_GUARD);
	assert_int_equal(flags_of(BOND), 0);
	assert_false(guard_pair_is_free(&guard, &links, device(P0), device(BOND)));
	assert_true(guard_pair_is_free(&guard, &links, device(BOND), device(P0)));
}

/* Netfilter sees what comes in by a VRF's port as coming in by the VRF, too. */
static void a_vrf_is_an_ingress(void **state)
{
	uint32_t chain = add_base(GUARD_HOOK_FORWARD, true, NULL, false);
	char reason[GUARD_REASON_LEN] = "";

	drop_from(chain, "red");
	guard_judge(&guard, &links);
	assert_false(guard_pair_is_free(&guard, &links, device(P1), device(P0)));
	assert_int_equal(flags_of(P1), SIXLANE_PORT_GUARD);
	assert_int_equal(flags_of(P0), 0);
	assert_true(guard_reason(&guard, &links, GUARD_NETFILTER, device(P1), device(P0), NULL,
				 NULL, reason));
	assert_non_null(strstr(reason, "table inet t, chain c"));
	assert_false(guard_reason(&guard, &links, GUARD_NETFILTER, device(P0), device(P1), NULL,
				  NULL, reason));
}

static void prerouting_is_of_the_ingress(void **state)
{
	drop_from(add_base(GUARD_HOOK_PREROUTING, true, NULL, false), "red");
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P1), SIXLANE_PORT_IN_FIREWALL);
	assert_int_equal(flags_of(P0), 0);
}

static void postrouting_is_of_the_egress(void **state)
{
	uint32_t chain = add_base(GUARD_HOOK_POSTROUTING, false, NULL, false);

	(void)chain;
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_OUT_FIREWALL);
	assert_false(may_answer(P0));
}

/* What is at a slave is in the way of its bond and of the VLAN device on that, in no one else's. */
static void layers_below_count(void **state)
{
	add_base(GUARD_HOOK_INGRESS, false, "s0", false);
	add_base(GUARD_HOOK_EGRESS, false, "bond0", false);
	queues[0].ifindex = SLAVE;
	snprintf(queues[0].egress, GUARD_REASON_LEN, "qdisc htb 1:");
	queueing.n = 1;
	guard_judge(&guard, &links);
	for (uint32_t ifindex = BOND; ifindex <= VLAN; ifindex++)
		assert_int_equal(flags_of(ifindex), SIXLANE_PORT_IN_FIREWALL |
							    SIXLANE_PORT_OUT_FIREWALL |
							    SIXLANE_PORT_OUT_TC);
	assert_int_equal(flags_of(SLAVE), SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_TC);
	assert_int_equal(flags_of(P0), 0);
}

static void programs_at_devices_count(void **state)
{
	struct guard_device devices[1] = {
		{ .ifindex = P0, .tcx_in = "a program", .hook_out = "a function" }
	};

	guard.sources.devices = devices;
	guard.sources.n_devices = 1;
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_TC | SIXLANE_PORT_OUT_FIREWALL);
	assert_int_equal(flags_of(P1), 0);
	guard.sources.devices = NULL;
	guard.sources.n_devices = 0;
}

/* Of whatever devices: a function that is not known, connection tracking, translation. */
static void some_things_hold_everything(void **state)
{
	uint32_t chain;

	snprintf(guard.sources.hooks.unknown[GUARD_HOOK_FORWARD], GUARD_REASON_LEN,
		 "BPF program 7");
	guard_judge(&guard, &links);
	assert_string_equal(guard.all, "BPF program 7");
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL);
	assert_false(guard_pair_is_free(&guard, &links, device(P0), device(P1)));
	*guard.sources.hooks.unknown[GUARD_HOOK_FORWARD] = '\0';
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), 0);
	chain = add_base(GUARD_HOOK_FORWARD, true, NULL, false);
	guard_add_rule(rules, chain, 1);
	guard_add_conntrack(rules);
	guard_may_match(rules);
	guard_verdict(rules, GUARD_ACCEPT, 0);
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL);
}

/* Flows go past what holds everything: where flowtables hang matters then, too. */
static void a_renamed_device_is_read_anew(void **state)
{
	struct guard_source *source = &guard.sources.state[GUARD_SOURCE_NF_TABLES];
	struct device *device = links_find(&links, P0);

	guard_add_flowtable(rules, guard_add_table(rules, "table inet t"), "f", "p0", true);
	add_base(GUARD_HOOK_POSTROUTING, true, NULL, true);
	guard_judge(&guard, &links);
	assert_string_not_equal(guard.all, "");
	assert_false(guard_devices_changed(&guard, &links));
	assert_false(source->pending);
	snprintf(device->link.name, sizeof(device->link.name), "q0");
	assert_true(guard_devices_changed(&guard, &links));
	assert_true(source->pending);
}

static void translation_holds_everything(void **state)
{
	add_base(GUARD_HOOK_POSTROUTING, true, NULL, true);
	guard_judge(&guard, &links);
	assert_non_null(strstr(guard.all, "nat"));
}

static void what_was_not_read_holds(void **state)
{
	static const struct {
		enum guard_source_kind kind;
		uint32_t flags, meta;
	} rows[] = {
		{ GUARD_SOURCE_NF_TABLES, SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL, 0 },
		{ GUARD_SOURCE_IP6_TABLES, SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL,
		  0 },
		{ GUARD_SOURCE_HOOKS, SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL, 0 },
		{ GUARD_SOURCE_XFRM, SIXLANE_PORT_GUARD, SIXLANE_META_IPSEC_ALL },
		{ GUARD_SOURCE_TC, SIXLANE_PORT_IN_TC | SIXLANE_PORT_OUT_TC, 0 },
		{ GUARD_SOURCE_DEVICES, SIXLANE_PORT_IN_TC | SIXLANE_PORT_OUT_TC, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct guard_source *source = &guard.sources.state[rows[i].kind];
		const struct guard_source states[] = { { .read = false },
						       { .read = true, .stale = true },
						       { .read = true, .error = -5 } };
		const struct guard_source before = *source;

		for (size_t j = 0; j < ARRAY_SIZE(states); j++) {
			*source = states[j];
			guard_judge(&guard, &links);
			assert_int_equal(flags_of(P0), rows[i].flags);
			assert_int_equal(guard_meta_flags(&guard), rows[i].meta);
		}
		*source = before;
	}
}

static void what_is_bypassed_does_not(void **state)
{
	memset(guard.sources.state, 0, sizeof(guard.sources.state));
	guard.sources.bypassed = 1u << GUARD_NETFILTER | 1u << GUARD_XFRM | 1u << GUARD_TC;
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), 0);
	assert_int_equal(guard_meta_flags(&guard), 0);
	assert_true(guard_pair_is_free(&guard, &links, device(P0), device(P1)));
	assert_true(may_answer(P0));
}

static void policies_guard_all_ports(void **state)
{
	policies.n = 1;
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_IPSEC);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_GUARD);
	assert_false(may_answer(P0));
	snprintf(policies.icmp_errors, GUARD_REASON_LEN, "policy fwd");
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_IPSEC | SIXLANE_META_IPSEC_ICMP6);
	snprintf(policies.all, GUARD_REASON_LEN, "default of fwd");
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_IPSEC_ALL);
}

static void fragments_are_the_kernels_where_it_defragments(void **state)
{
	guard.sources.hooks.defragments = true;
	assert_int_equal(guard_meta_flags(&guard), SIXLANE_META_FRAGMENTS);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_GUARD);
}

/* A device that a rule names comes, or gets the name, after the rule. */
static void names_come_later(void **state)
{
	drop_from(add_base(GUARD_HOOK_FORWARD, true, NULL, false), "late");
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), 0);
	add_link(P0, "late", "", 0, 0);
	assert_true(guard_devices_changed(&guard, &links));
	assert_int_equal(flags_of(P0), SIXLANE_PORT_GUARD);
	assert_false(guard_devices_changed(&guard, &links));
	add_link(P0, "p0", "", 0, 0);
	assert_true(guard_devices_changed(&guard, &links));
	assert_int_equal(flags_of(P0), 0);
}

/* An output chain is in the way of answers alone. */
static void output_is_of_answers(void **state)
{
	add_base(GUARD_HOOK_OUTPUT, false, NULL, false);
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), 0);
	assert_false(may_answer(P0));
}

static void add_flowtable(const char *at, bool to_xdp)
{
	guard_add_flowtable(rules, guard_add_table(rules, "table inet t"), "f", at, to_xdp);
}

static void look_up(uint32_t ifindex)
{
	links_find(&links, ifindex)->looks_up_flows = true;
	guard_judge(&guard, &links);
}

/* All is held, until the port's program looks packets up. */
static void a_port_looks_flows_up(void **state)
{
	guard_add_rule(rules, add_base(GUARD_HOOK_FORWARD, true, NULL, false), 1);
	guard_add_conntrack(rules);
	add_flowtable("p0", true);
	guard_judge(&guard, &links);
	assert_true(guard_wants_flows(&guard, device(P0)));
	assert_false(guard_wants_flows(&guard, device(P1)));
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL);
	look_up(P0);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS);
	assert_int_equal(flags_of(P1), SIXLANE_PORT_IN_FIREWALL);
	assert_false(guard_pair_is_free(&guard, &links, device(P0), device(P1)));
	assert_false(may_answer(P0));
}

/* Flows may be there though no rule makes any more. */
static void flows_hold_without_rules(void **state)
{
	add_flowtable("p0", true);
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_FIREWALL);
	assert_int_equal(flags_of(P1), 0);
	look_up(P0);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS);
	assert_false(guard_pair_is_free(&guard, &links, device(P0), device(P1)));
	assert_true(guard_pair_is_free(&guard, &links, device(P1), device(P0)));
}

static void only_the_kernel_may_forward_flows(void **state)
{
	add_flowtable("p0", true);
	add_flowtable("p0", false);
	look_up(P0);
	assert_false(guard_wants_flows(&guard, device(P0)));
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_FIREWALL);
}

/* Tagged frames may be of flows, which XDP does not find. */
static void flows_below_a_device(void **state)
{
	add_flowtable("s0", true);
	add_flowtable("bond0", true);
	look_up(BOND);
	assert_int_equal(flags_of(VLAN), SIXLANE_PORT_IN_FIREWALL);
	assert_int_equal(flags_of(BOND), SIXLANE_PORT_IN_FIREWALL);
	assert_false(guard_pair_is_free(&guard, &links, device(VLAN), device(P0)));
}

/* Flows go past what holds them from prerouting to postrouting, and past nothing else. */
static void what_flows_go_past(void **state)
{
	add_base(GUARD_HOOK_POSTROUTING, false, NULL, false);
	add_flowtable("p0", true);
	look_up(P0);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS);
	assert_int_equal(flags_of(P1), SIXLANE_PORT_GUARD);
	assert_false(may_answer(P1));
	assert_false(guard_pair_is_free(&guard, &links, device(P1), device(P0)));
	drop_from(add_base(GUARD_HOOK_INGRESS, true, "p0", false), "p0");
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_FIREWALL);
	guard_set_base(rules, guard_add_chain(rules, 0, "e"), GUARD_HOOK_EGRESS, false, "p1",
		       false);
	guard_judge(&guard, &links);
	assert_true(flags_of(P1) & SIXLANE_PORT_OUT_FIREWALL);
}

/* Nothing is looked up past rules that could not be read. */
static void blind_to_flows(void **state)
{
	add_flowtable("p0", true);
	look_up(P0);
	guard.sources.state[GUARD_SOURCE_HOOKS].error = -EIO;
	guard_judge(&guard, &links);
	assert_int_equal(flags_of(P0), SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL);
	assert_false(guard_wants_flows(&guard, device(P0)));
}

/* What leaves by a VRF's port goes out by the VRF first. */
static void answers_go_out_by_the_vrf(void **state)
{
	static const enum guard_hook hooks[] = { GUARD_HOOK_OUTPUT, GUARD_HOOK_POSTROUTING };
	static const char *const names[] = { "red", "p1" };

	for (size_t i = 0; i < ARRAY_SIZE(hooks) * ARRAY_SIZE(names); i++) {
		drop_if(add_base(hooks[i / 2], true, NULL, false), GUARD_META_OIFNAME,
			names[i % 2]);
		guard_judge(&guard, &links);
		assert_false(may_answer(P1));
		assert_true(may_answer(P0));
		assert_true(may_answer(VLAN));
		guard_ruleset_free(rules);
		rules = guard.sources.rules[GUARD_RULES_NF_TABLES] = guard_ruleset_new();
	}
	queues[0].ifindex = VRF;
	snprintf(queues[0].egress, GUARD_REASON_LEN, "qdisc tbf 1:");
	queueing.n = 1;
	guard_judge(&guard, &links);
	assert_false(may_answer(P1));
	assert_true(may_answer(P0));
	assert_int_equal(flags_of(P1), 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pair_is_held, setup, teardown),
		cmocka_unit_test_setup_teardown(a_vrf_is_an_ingress, setup, teardown),
		cmocka_unit_test_setup_teardown(prerouting_is_of_the_ingress, setup, teardown),
		cmocka_unit_test_setup_teardown(postrouting_is_of_the_egress, setup, teardown),
		cmocka_unit_test_setup_teardown(layers_below_count, setup, teardown),
		cmocka_unit_test_setup_teardown(programs_at_devices_count, setup, teardown),
		cmocka_unit_test_setup_teardown(some_things_hold_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(a_renamed_device_is_read_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(translation_holds_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_not_read_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_bypassed_does_not, setup, teardown),
		cmocka_unit_test_setup_teardown(policies_guard_all_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(fragments_are_the_kernels_where_it_defragments,
						setup, teardown),
		cmocka_unit_test_setup_teardown(names_come_later, setup, teardown),
		cmocka_unit_test_setup_teardown(output_is_of_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(a_port_looks_flows_up, setup, teardown),
		cmocka_unit_test_setup_teardown(flows_hold_without_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_kernel_may_forward_flows, setup, teardown),
		cmocka_unit_test_setup_teardown(flows_below_a_device, setup, teardown),
		cmocka_unit_test_setup_teardown(what_flows_go_past, setup, teardown),
		cmocka_unit_test_setup_teardown(blind_to_flows, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_go_out_by_the_vrf, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
