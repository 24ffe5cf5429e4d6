// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `sixlane doctor` makes of what it finds: the list of findings, shares of the traffic, which
 * device is to be attached to, and who holds the daemon's lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/cli/doctor.h"
#include "../../../user/loader/driver.h"
#include "../../../user/loader/pin_dir.h"
#include "../unit.h"

static void add(struct findings *findings, enum finding_severity severity, const char *port,
		const char *fmt, ...) _printf_(4, 5);
static void add(struct findings *findings, enum finding_severity severity, const char *port,
		const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_add(findings, "check", severity, port, fmt, ap);
	va_end(ap);
}

static void advise(struct findings *findings, const char *fmt, ...) _printf_(2, 3);
static void advise(struct findings *findings, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_advise(findings, fmt, ap);
	va_end(ap);
}

static void the_gravest_come_first(void **state)
{
	static const char *const wanted[] = { "must 1", "must 2", "should", "note 1", "note 2" };
	struct findings findings = { 0 };

	add(&findings, FINDING_NOTE, NULL, "note %d", 1);
	add(&findings, FINDING_MUST, NULL, "must %d", 1);
	add(&findings, FINDING_SHOULD, "p0", "should");
	add(&findings, FINDING_NOTE, NULL, "note %d", 2);
	add(&findings, FINDING_MUST, NULL, "must %d", 2);
	findings_sort(&findings);
	assert_int_equal(findings.n, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < findings.n; i++)
		assert_string_equal(findings.at[i].text, wanted[i]);
	assert_string_equal(findings.at[2].port, "p0");
	assert_int_equal(findings_count(&findings, FINDING_MUST), 2);
	assert_int_equal(findings_count(&findings, FINDING_SHOULD), 1);
	assert_true(findings_has(&findings, "check"));
	assert_false(findings_has(&findings, "other"));
	findings_free(&findings);
}

/* What is usual stays out of a warning of status, and is advice in JSON. */
static void advice_is_of_the_last_finding(void **state)
{
	struct findings findings = { 0 };
	json_t *json;
	char *warning;

	advise(&findings, "to nobody");
	add(&findings, FINDING_MUST, NULL, "first");
	findings.at[0].usual = "usual";
	add(&findings, FINDING_MUST, "p0", "second");
	findings.at[1].usual = "usual";
	advise(&findings, "do %s", "this");
	advise(&findings, "do %s", "that");
	warning = finding_warning(&findings.at[0]);
	assert_string_equal(warning, "first");
	free(warning);
	warning = finding_warning(&findings.at[1]);
	assert_string_equal(warning, "second: do that");
	free(warning);
	json = findings_json(&findings);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json, 0), "advice")),
			    "usual");
	assert_true(json_is_null(json_object_get(json_array_get(json, 0), "port")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(json, 1), "advice")),
			    "do that");
	assert_string_equal(json_string_value(json_object_get(json_array_get(json, 1), "severity")),
			    "error");
	json_decref(json);
	findings_free(&findings);
}

/* Frames of other protocols are no part of it, and a few packets no share at all. */
static void shares_are_of_ipv6(void **state)
{
	uint64_t packets[SIXLANE_N_VERDICTS] = { 0 };
	bool worth;

	assert_true(doctor_share(packets, SIXLANE_PUNT_ENCAP) == 0);
	packets[SIXLANE_PASS_NOT_IPV6] = 1000;
	packets[SIXLANE_FORWARD] = 98;
	packets[SIXLANE_PUNT_ENCAP] = 1;
	doctor_judge(packets, SIXLANE_PUNT_ENCAP, &worth);
	assert_false(worth);
	packets[SIXLANE_FORWARD] = 99;
	assert_true(doctor_share(packets, SIXLANE_PUNT_ENCAP) == 1.0);
	assert_int_equal(doctor_judge(packets, SIXLANE_PUNT_ENCAP, &worth), FINDING_SHOULD);
	assert_true(worth);
	packets[SIXLANE_FORWARD] = 100;
	assert_int_equal(doctor_judge(packets, SIXLANE_PUNT_ENCAP, &worth), FINDING_NOTE);
	assert_false(worth);
}

/* Counters tell of the past: no share makes an exit status, and what could be faster has advice. */
static void verdicts_have_advice(void **state)
{
	for (uint32_t verdict = 0; verdict < SIXLANE_N_VERDICTS; verdict++) {
		const struct doctor_verdict *of = doctor_verdict(verdict);
		const char *name = cmd_verdict_name(verdict);

		assert_true(of->severity <= FINDING_SHOULD);
		if (of->severity == FINDING_SHOULD || !strncmp(name, "punt_", 5))
			assert_non_null(of->advice);
	}
}

static void gateways_are_told_once(void **state)
{
	struct doctor_gateways gateways = { 0 };
	union sixlane_addr addr = { .bytes = { 0x20, 0x01 } };

	for (int twice = 0; twice < 2; twice++)
		for (uint32_t i = 0; i < DOCTOR_MAX_GATEWAYS; i++)
			doctor_add_gateway(&gateways, &addr, i + 1);
	assert_int_equal(gateways.n, DOCTOR_MAX_GATEWAYS);
	assert_int_equal(gateways.more, 0);
	doctor_add_gateway(&gateways, &addr, DOCTOR_MAX_GATEWAYS + 1);
	assert_int_equal(gateways.n, DOCTOR_MAX_GATEWAYS);
	assert_int_equal(gateways.more, 1);
}

static void the_device_below_is_attached_to(void **state)
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

static void locks_of_whole_files_for_writing(void **state)
{
	static const char *const others[] = {
		"1: FLOCK  ADVISORY  READ  812 00:2f:13 0 EOF\n",
		"2: POSIX  ADVISORY  WRITE 812 00:2f:13 0 EOF\n",
		"3: -> FLOCK  ADVISORY  WRITE 812 00:2f:13 0 EOF\n",
		"4: FLOCK  ADVISORY  WRITE 812 <none>:0 0 EOF\n",
		"",
	};
	struct loader_lock_line lock = { .pid = 7 };

	assert_true(loader_parse_lock("12: FLOCK  ADVISORY  WRITE 812 fd:2f:4711 0 EOF\n", &lock));
	assert_int_equal(lock.pid, 812);
	assert_int_equal(lock.major, 0xfd);
	assert_int_equal(lock.minor, 0x2f);
	assert_int_equal(lock.inode, 4711);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(loader_parse_lock(others[i], &lock));
	assert_int_equal(lock.pid, 812);
}

static void limits_of_drivers(void **state)
{
	assert_int_equal(loader_driver_max_mtu("igb", 4096), 3046);
	assert_int_equal(loader_driver_max_mtu("virtio_net", 4096), 0);
	assert_true(loader_driver_opens_checksums("virtio_net"));
	assert_false(loader_driver_opens_checksums("igb"));
	assert_true(loader_mtu_is_jumbo(loader_max_plain_mtu() + 1));
	assert_false(loader_mtu_is_jumbo(loader_max_plain_mtu()));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_gravest_come_first),
		cmocka_unit_test(advice_is_of_the_last_finding),
		cmocka_unit_test(shares_are_of_ipv6),
		cmocka_unit_test(verdicts_have_advice),
		cmocka_unit_test(gateways_are_told_once),
		cmocka_unit_test(the_device_below_is_attached_to),
		cmocka_unit_test(locks_of_whole_files_for_writing),
		cmocka_unit_test(limits_of_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
