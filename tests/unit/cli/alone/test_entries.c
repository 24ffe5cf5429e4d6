// SPDX-License-Identifier: GPL-2.0-only
/* Entries in order, whatever the trie's order, and once, however often a walk returns them. */
#include "../../unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../../../../user/cli/entries.h"

#define SOURCES_FD 77

static const struct {
	uint32_t set;
	const char *addr;
	uint32_t len;
} entries[] = {
	{ 300, "2001:db8:a::", 48 }, { 2, "2001:db8::", 32 }, { 2, "::", 0 },	{ 300, "::", 0 },
	{ 2, "2001:db8::", 32 },     { 2, "2001:db8::", 33 }, { 2, "::", -1u }, /* no whole table */
};

int maps_source_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	struct sixlane_route_key key;
	int rc = 0;

	assert_int_equal(maps->fd[LOADER_SOURCES], SOURCES_FD);
	for (uint32_t i = 0; i < ARRAY_SIZE(entries) && !rc; i++) {
		key = (struct sixlane_route_key){ .prefix_len = SIXLANE_TABLE_BITS + entries[i].len,
						  .table = htonl(entries[i].set) };
		inet_pton(AF_INET6, entries[i].addr, &key.addr);
		rc = fn(ctx, &key, i + 1);
	}
	return rc;
}

static struct entries read_all(void)
{
	const struct maps maps = { .fd = { [LOADER_SOURCES] = SOURCES_FD } };
	struct entries sources = { 0 };

	assert_int_equal(entries_read_sources(&maps, &sources), 0);
	assert_int_equal(entries_read_sources(&maps, &sources), 0);
	return sources;
}

static void tables_are_separate(void **state)
{
	struct entries sources = read_all();
	const struct entry *at;
	size_t n;

	assert_int_equal(sources.n, 5);
	at = entries_of(&sources, 2, &n);
	assert_int_equal(n, 3);
	assert_int_equal(at[0].prefix.len, 0);
	assert_int_equal(at[1].prefix.len, 32);
	assert_int_equal(at[2].prefix.len, 33);
	at = entries_of(&sources, 300, &n);
	assert_int_equal(n, 2);
	assert_int_equal(at[1].value, 1);
	assert_null(entries_of(&sources, 3, &n));
	assert_int_equal(n, 0);
	assert_null(entries_of(&sources, UINT32_MAX, &n));
	entries_free(&sources);
}

static void only_what_is_asked_for_is_added(void **state)
{
	static const struct {
		uint32_t table;
		const char *within;
		uint8_t len;
		size_t n;
	} rows[] = {
		{ 0, "::", 0, 5 },
		{ 2, "::", 0, 3 },
		{ 2, "2001:db8::", 32, 2 },
		{ 0, "2001:db8::", 33, 2 },
		{ 300, "2001:db8:b::", 48, 0 },
	};
	const struct maps maps = { .fd = { [LOADER_SOURCES] = SOURCES_FD } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct entries kept = { .table = rows[i].table, .within.len = rows[i].len };

		inet_pton(AF_INET6, rows[i].within, &kept.within.addr);
		assert_int_equal(entries_read_sources(&maps, &kept), 0);
		assert_int_equal(kept.n, rows[i].n);
		entries_free(&kept);
	}
}

/* Random prefixes cover each other; a search through all of them finds the same match. */
static void matches_are_the_longest(void **state)
{
	struct entries some = { 0 };

	srand(1);
	for (int i = 0; i < 300; i++) {
		struct sixlane_route_key key = {
			.prefix_len = SIXLANE_TABLE_BITS + (uint32_t)(rand() % 129),
			.table = htonl((uint32_t)(rand() % 3)),
			.addr.bytes = { [0] = (uint8_t)(rand() & 3), [15] = (uint8_t)(rand() & 3) },
		};

		assert_int_equal(entries_add(&some, &key, (uint32_t)i), 0);
	}
	entries_sort(&some);
	for (int i = 0; i < 1000; i++) {
		const union sixlane_addr addr = {
			.bytes = { [0] = (uint8_t)(rand() & 3), [15] = (uint8_t)(rand() & 7) }
		};
		const struct prefix host = { addr, 128 };
		const struct entry *best = NULL;
		const uint32_t table = (uint32_t)(rand() % 4);

		for (const struct entry *at = some.at; at < some.at + some.n; at++)
			if (at->table == table && prefix_covers(&at->prefix, &host) &&
			    (!best || at->prefix.len > best->prefix.len))
				best = at;
		assert_ptr_equal(entries_match(&some, table, &addr), best);
	}
	entries_free(&some);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_separate),
		cmocka_unit_test(only_what_is_asked_for_is_added),
		cmocka_unit_test(matches_are_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
