// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long prefixes are punted for a mismatch, and how many.
 */
#include <errno.h>

#include "../../../user/daemon/quarantine.h"
#include "../fib/fib_world.h"
#include "../unit.h"

#define SECOND 1000000000ull
#define HOUR (3600 * SECOND)
#define MAIN 254u

static struct quarantine quarantine;

static int empty(void **state)
{
	quarantine = (struct quarantine){ 0 };
	return 0;
}

/* Adds a prefix. Returns how many seconds it is punted, or -errno. */
static int64_t add(const char *text, uint64_t now_ns)
{
	const struct prefix dst = pfx(text);
	uint64_t until_ns;
	int ret = quarantine_add(&quarantine, MAIN, &dst, now_ns, &until_ns);

	return ret ? ret : (int64_t)((until_ns - now_ns) / SECOND);
}

static bool has(uint32_t table, const char *text)
{
	const struct prefix dst = pfx(text);

	return quarantine_has(&quarantine, table, &dst);
}

/* This prefix ends next, at now_ns. */
static void expect_end(const char *text, uint64_t now_ns)
{
	const struct prefix dst = pfx(text);
	struct prefix ended;
	uint32_t table;

	assert_int_equal(quarantine_due_ns(&quarantine), now_ns);
	assert_false(quarantine_expire(&quarantine, now_ns - 1, &table, &ended));
	assert_true(quarantine_expire(&quarantine, now_ns, &table, &ended));
	assert_int_equal(table, MAIN);
	assert_true(prefix_equal(&ended, &dst));
	assert_false(has(MAIN, text));
}

static void lasts_60_seconds(void **state)
{
	assert_int_equal(quarantine_due_ns(&quarantine), UINT64_MAX);
	assert_int_equal(add("2001:db8::/32", 5 * SECOND), 60);
	assert_int_equal(add("2001:db8::/32", 6 * SECOND), -EEXIST);
	assert_int_equal(add("2001:db8::/48", 7 * SECOND), 60);
	assert_true(has(MAIN, "2001:db8::/32"));
	assert_false(has(MAIN + 1, "2001:db8::/32"));
	assert_false(has(MAIN, "2001:db8::/33"));
	assert_int_equal(quarantine.n_active, 2);
	expect_end("2001:db8::/32", 65 * SECOND);
	expect_end("2001:db8::/48", 67 * SECOND);
	assert_int_equal(quarantine_due_ns(&quarantine), UINT64_MAX);
	assert_int_equal(quarantine.n_active, 0);
	assert_int_equal(quarantine.total, 2);
}

static void doubles_up_to_an_hour(void **state)
{
	static const int64_t lengths[] = { 60, 120, 240, 480, 960, 1920, 3600, 3600 };
	uint64_t now_ns = SECOND;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		assert_int_equal(add("2001:db8::/32", now_ns), lengths[i]);
		now_ns += (uint64_t)lengths[i] * SECOND;
		expect_end("2001:db8::/32", now_ns);
	}
	assert_int_equal(add("2001:db8::/32", now_ns + HOUR), 3600);
	now_ns += 2 * HOUR;
	expect_end("2001:db8::/32", now_ns);
	/* forgotten */
	assert_int_equal(add("2001:db8::/32", now_ns + HOUR + 1), 60);
}

static void ends_early(void **state)
{
	const struct prefix dst = pfx("2001:db8::/32");

	quarantine_end(&quarantine, MAIN, &dst, 0);
	assert_int_equal(add("2001:db8::/32", 0), 60);
	quarantine_end(&quarantine, MAIN + 1, &dst, SECOND);
	assert_true(has(MAIN, "2001:db8::/32"));
	quarantine_end(&quarantine, MAIN, &dst, SECOND);
	quarantine_end(&quarantine, MAIN, &dst, SECOND);
	assert_false(has(MAIN, "2001:db8::/32"));
	assert_int_equal(quarantine.n_active, 0);
	assert_int_equal(quarantine_due_ns(&quarantine), UINT64_MAX);
	assert_int_equal(add("2001:db8::/32", 2 * SECOND), 120);
}

/* Prefixes that have ended make room, the earliest first. */
static void is_full(void **state)
{
	struct prefix dst = pfx("2001:db8::/48");
	uint64_t until_ns;

	for (uint32_t table = 1; table <= QUARANTINE_MAX; table++)
		assert_int_equal(quarantine_add(&quarantine, table, &dst, table, &until_ns), 0);
	assert_int_equal(add("2001:db8::/48", 100), -ENOSPC);
	quarantine_end(&quarantine, 7, &dst, 200);
	quarantine_end(&quarantine, 9, &dst, 150);
	assert_int_equal(add("2001:db8::/48", 300), 60);
	/* 9 is forgotten, 7 is not */
	assert_int_equal(quarantine_add(&quarantine, 7, &dst, 300, &until_ns), 0);
	assert_int_equal(until_ns, 300 + 120 * SECOND);
	assert_int_equal(quarantine_add(&quarantine, 9, &dst, 300, &until_ns), -ENOSPC);
	assert_int_equal(quarantine.n_active, QUARANTINE_MAX);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lasts_60_seconds, empty),
		cmocka_unit_test_setup(doubles_up_to_an_hour, empty),
		cmocka_unit_test_setup(ends_early, empty),
		cmocka_unit_test_setup(is_full, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
