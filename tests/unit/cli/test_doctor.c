// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `sixlane doctor` computes: the list of findings, shares of the traffic, and the device to
 * attach to.
 */
#include "../unit.h"

#include <string.h>

#include "../../../user/cli/doctor.h"

static const struct check check = { .name = "check", .usual = "usual" };

static void errors_come_first(void **state)
{
	static const char *const wanted[] = { "error 1", "error 2", "warning", "note 1", "note 2" };
	struct checkup checkup = { .running = &check };
	struct findings *findings = &checkup.findings;

	check_note(&checkup, NULL, "note %d", 1);
	check_error(&checkup, NULL, "error %d", 1);
	check_warn(&checkup, "p0", "warning");
	check_note(&checkup, NULL, "note %d", 2);
	check_error(&checkup, NULL, "error %d", 2);
	findings_sort(findings);
	assert_int_equal(findings->n, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < findings->n; i++)
		assert_string_equal(findings->at[i].text, wanted[i]);
	assert_string_equal(findings->at[2].port, "p0");
	assert_int_equal(findings_count(findings, FINDING_ERROR), 2);
	assert_int_equal(findings_count(findings, FINDING_WARNING), 1);
	assert_true(findings_has(findings, "check"));
	assert_false(findings_has(findings, "other"));
	checkup_free(&checkup);
}

/* The usual advice is not part of a warning of status; in JSON it is advice. */
static void advice_is_for_the_last_finding(void **state)
{
	struct checkup checkup = { .running = &check };
	struct findings *findings = &checkup.findings;
	static const char *const warnings[] = { "first", "second: do that" };
	static const char *const advice[] = { "usual", "do that" };
	json_t *json, *one;
	char *warning;

	check_advise(&checkup, "to nobody");
	check_error(&checkup, NULL, "first");
	check_error(&checkup, "p0", "second");
	check_advise(&checkup, "do %s", "this");
	check_advise(&checkup, "do %s", "that");
	json = findings_json(findings);
	for (size_t i = 0; i < 2; i++) {
		warning = finding_warning(&findings->at[i]);
		assert_string_equal(warning, warnings[i]);
		free(warning);
		one = json_array_get(json, i);
		assert_string_equal(json_string_value(json_object_get(one, "advice")), advice[i]);
		assert_string_equal(json_string_value(json_object_get(one, "severity")), "error");
		assert_int_equal(json_is_null(json_object_get(one, "port")), !i);
	}
	json_decref(json);
	checkup_free(&checkup);
}

/* Frames of other protocols do not count, and of few packets no share is notable. */
static void shares_are_of_ipv6(void **state)
{
	struct traffic traffic = { 0 };

	assert_true(traffic_share(&traffic, SIXLANE_PUNT_ENCAP) == 0);
	traffic.packets[SIXLANE_PASS_NOT_IPV6] = 1000;
	traffic.packets[SIXLANE_FORWARD] = 98;
	traffic.packets[SIXLANE_PUNT_ENCAP] = 1;
	assert_false(traffic_is_notable(&traffic, SIXLANE_PUNT_ENCAP));
	traffic.packets[SIXLANE_FORWARD] = 99;
	assert_true(traffic_share(&traffic, SIXLANE_PUNT_ENCAP) == 1.0);
	assert_true(traffic_is_notable(&traffic, SIXLANE_PUNT_ENCAP));
	traffic.packets[SIXLANE_FORWARD] = 100;
	assert_false(traffic_is_notable(&traffic, SIXLANE_PUNT_ENCAP));
}

/* Counters are about the past: no share is an error, and what could be faster has advice. */
static void verdicts_have_advice(void **state)
{
	for (uint32_t verdict = 0; verdict < SIXLANE_N_VERDICTS; verdict++) {
		const struct traffic_verdict *of = traffic_verdict(verdict);
		const char *name = cmd_verdict_name(verdict);

		assert_true(of->severity <= FINDING_WARNING);
		if (of->severity == FINDING_WARNING || !strncmp(name, "punt_", 5))
			assert_non_null(of->advice);
	}
}

static void gateways_are_reported_once(void **state)
{
	struct gateways gateways = { 0 };
	union sixlane_addr addr = { .bytes = { 0x20, 0x01 } };

	for (int twice = 0; twice < 2; twice++)
		for (uint32_t i = 0; i < GATEWAYS_MAX; i++)
			gateways_add(&gateways, &addr, i + 1);
	assert_int_equal(gateways.n, GATEWAYS_MAX);
	assert_int_equal(gateways.more, 0);
	gateways_add(&gateways, &addr, GATEWAYS_MAX + 1);
	assert_int_equal(gateways.n, GATEWAYS_MAX);
	assert_int_equal(gateways.more, 1);
}

static void vlans_and_slaves_have_another_device_to_attach_to(void **state)
{
	struct link links[] = {
		{ .ifindex = 2, .name = "eth0", .master = 4, .master_kind = "bond" },
		{ .ifindex = 3, .name = "eth1", .master = 9, .master_kind = "bridge" },
		{ .ifindex = 4, .name = "bond0", .kind = "bond" },
		{ .ifindex = 5, .name = "vlan5", .kind = "vlan", .lower = 4 },
		{ .ifindex = 6, .name = "vlan6", .kind = "vlan", .lower = 5 },
		{ .ifindex = 7, .name = "loop", .kind = "vlan", .lower = 7 },
		{ .ifindex = 8, .name = "elsewhere", .kind = "vlan", .lower = 0 },
	};
	static const uint32_t wanted[] = { 4, 3, 4, 4, 4, 7, 8 };
	const struct ports ports = { links, ARRAY_SIZE(links) };

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_int_equal(check_device_to_attach(&ports, &links[i])->ifindex, wanted[i]);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_come_first),
		cmocka_unit_test(advice_is_for_the_last_finding),
		cmocka_unit_test(shares_are_of_ipv6),
		cmocka_unit_test(verdicts_have_advice),
		cmocka_unit_test(gateways_are_reported_once),
		cmocka_unit_test(vlans_and_slaves_have_another_device_to_attach_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
