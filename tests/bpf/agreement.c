// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large tables in the kernel: sl_routes and the compiled FIB of the same routes must give the same
 * answer for every address, which is that of a walk in user space, too; and the compiled FIB must
 * give one: that the trie would help out is no excuse.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "agree_run.h"
#include "tests.h"

#define MAIN SIXLANE_TABLE_MAIN
#define FULL_VIEW "xz -dc tests/data/full-view-v6.txt.xz"
#define ROUTES_MAX 1000000u
/* Addresses that are looked up, for each route, and in all. */
#define ADDRESSES_PER_ROUTE 4u
#define ADDRESSES_MIN 100000u
#define ADDRESSES_MAX 1000000u

static struct agree agree;

static size_t limit;   /* routes that may be added */
static size_t n_added; /* so far, duplicates counted */
static struct added {
	uint32_t table;
	struct prefix prefix;
} * added;

static void begin(uint64_t seed)
{
	fuzz_seed(seed);
	limit = n_added = 0;
	added = calloc(ROUTES_MAX, sizeof(*added));
	assert_non_null(added);
	agree_open(&agree);
}

/* Allow so many routes more; agree_limit() allows fewer where the machine is slow. */
static void allow(size_t routes)
{
	limit = n_added + agree_limit(routes);
}

/* Values differ as far as there are next hops, so that a wrong route shows as a wrong value. */
static void add(uint32_t table, struct prefix prefix)
{
	uint32_t next_hop = 1 + (uint32_t)n_added % (SIXLANE_MAX_NEXT_HOPS - 1);
	uint32_t marks = (uint32_t)n_added % 4 << SIXLANE_ROUTE_FLAGS_SHIFT;

	if (n_added == limit)
		return;
	prefix_mask(&prefix);
	tables_put(&agree.tables, table, &prefix,
		   sixlane_route_value(next_hop, prefix.len) | marks);
	added[n_added++] = (struct added){ table, prefix };
}

static struct prefix parse(const char *text)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix))
		fail_msg("not a prefix: \"%s\"", text);
	return prefix;
}

static void randomize_from(struct prefix *prefix, uint32_t bit)
{
	struct prefix kept = *prefix;

	kept.len = (uint8_t)bit;
	prefix_mask(&kept);
	fuzz_bytes(prefix->addr.bytes, sizeof(prefix->addr.bytes));
	for (uint32_t i = 0; i < bit; i++) {
		uint8_t mask = (uint8_t)(0x80 >> i % 8);

		prefix->addr.bytes[i / 8] &= (uint8_t)~mask;
		prefix->addr.bytes[i / 8] |= kept.addr.bytes[i / 8] & mask;
	}
}

/* The address before or after it; round, where there is none. */
static void step(union sixlane_addr *addr, bool up)
{
	for (int i = 15; i >= 0; i--) {
		addr->bytes[i] = (uint8_t)(addr->bytes[i] + (up ? 1 : -1));
		if (addr->bytes[i] != (up ? 0 : 0xff))
			return;
	}
}

static void set_rest(union sixlane_addr *addr, uint32_t len)
{
	for (uint32_t i = len; i < 128; i++)
		addr->bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
}

/* Edges of routes, on both sides of each, within them, and anywhere. */
static void choose(struct agree_probe *probe)
{
	const struct added *route = &added[fuzz_below((uint32_t)n_added)];
	struct prefix at = route->prefix;

	probe->table = route->table;
	switch (fuzz_below(8)) {
	case 0:
		break;
	case 1:
		set_rest(&at.addr, at.len);
		break;
	case 2:
		step(&at.addr, false);
		break;
	case 3:
		set_rest(&at.addr, at.len);
		step(&at.addr, true);
		break;
	case 4:
		randomize_from(&at, fuzz_below(129));
		break;
	case 5: /* what another table has */
		probe->table = fuzz_one_in(2) ? added[fuzz_below((uint32_t)n_added)].table
					      : fuzz_below(1000);
		break;
	default:
		randomize_from(&at, at.len);
	}
	probe->addr = at.addr;
}

static bool is_right(const struct agree_probe *probe, uint32_t want)
{
	return probe->trie == want && probe->compiled == want;
}

static void explain(const struct agree_probe *probe, uint32_t want)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &probe->addr, text, sizeof(text));
	fprintf(stderr, "table %u, %s: trie %08x, compiled %08x%s, expected %08x\n", probe->table,
		text, probe->trie, probe->compiled,
		probe->compiled == AGREE_UNKNOWN ? " (unknown)" : "", want);
}

static size_t count_wrong(void)
{
	size_t wrong = 0;

	for (size_t i = 0; i < AGREE_PROBES; i++) {
		const struct agree_probe *probe = &agree.probes[i];
		uint32_t want = tables_match(&agree.tables, probe->table, &probe->addr);

		if (!is_right(probe, want) && !wrong++)
			explain(probe, want);
	}
	return wrong;
}

/* Install the routes, compare, and free all. at_least: addresses. */
static void end(size_t at_least)
{
	size_t wanted = n_added * ADDRESSES_PER_ROUTE, wrong = 0, checked = 0;
	struct compiled_stats stats;

	assert_true(n_added);
	agree_install(&agree);
	compiled_get_stats(agree.tables.compiled, &stats);
	if (wanted > ADDRESSES_MAX)
		wanted = ADDRESSES_MAX;
	if (wanted < agree_limit(at_least))
		wanted = agree_limit(at_least);
	for (; checked < wanted && !wrong; checked += AGREE_PROBES) {
		for (size_t i = 0; i < AGREE_PROBES; i++)
			choose(&agree.probes[i]);
		agree_sweep(&agree, AGREE_AGREE);
		wrong = count_wrong();
	}
	printf("  %zu routes added, %zu addresses; %llu nodes, %llu KiB, built in %.0f ms\n",
	       n_added, checked, (unsigned long long)stats.nodes,
	       (unsigned long long)stats.used_bytes / 1024, (double)stats.build_ns / 1e6);
	agree_close(&agree);
	free(added);
	assert_int_equal(wrong, 0);
}

static void add_full_view(void)
{
	char line[PREFIX_STRLEN + 2];
	FILE *file = popen(FULL_VIEW, "r");

	assert_non_null(file);
	allow(ROUTES_MAX);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\r\n")] = 0;
		add(MAIN, parse(line));
	}
	pclose(file);
}

TEST(test_full_view, "both engines agree: full view")
{
	begin(1);
	add_full_view();
	end(ADDRESSES_MAX);
}

/* Lengths as in the full view, under its /20s, so that they crowd as real ones do. */
TEST(test_million_routes, "both engines agree: a million routes")
{
	size_t real;

	begin(2);
	add_full_view();
	real = n_added;
	while (n_added < limit) {
		struct prefix prefix = added[fuzz_below((uint32_t)real)].prefix;

		randomize_from(&prefix, 20);
		add(MAIN, prefix);
	}
	end(ADDRESSES_MIN);
}

/* The /48s of a /32, one in so many. */
static void add_dense(uint32_t table, uint32_t one_in)
{
	allow(65536);
	add(table, parse("2001:db8::/32"));
	for (uint32_t i = 0; i < 65536; i++) {
		struct prefix prefix = parse("2001:db8::/48");

		prefix.addr.bytes[4] = (uint8_t)(i >> 8);
		prefix.addr.bytes[5] = (uint8_t)i;
		if (fuzz_one_in(one_in))
			add(table, prefix);
	}
}

static void add_hosts(uint32_t table)
{
	allow(100000);
	while (n_added < limit) {
		struct prefix prefix = parse("2001:db8:1:2:3:4:5600::/108");

		randomize_from(&prefix, 108);
		prefix.len = 128;
		add(table, prefix);
	}
}

/*
 * All lengths on each of n paths, which share their first bits; siblings: and what branches off at
 * every bit.
 */
static void add_paths(uint32_t table, size_t n, uint32_t shared, bool siblings)
{
	struct prefix path = parse("2001:db8:1234:5678:9abc:def0:1357:9bdf/128");

	allow(n * (siblings ? 257 : 129));
	for (size_t i = 0; i < n; i++) {
		for (uint32_t len = 0; len <= 128; len++) {
			struct prefix prefix = { .addr = path.addr, .len = (uint8_t)len };

			add(table, prefix);
			if (!siblings || !len)
				continue;
			prefix.addr.bytes[(len - 1) / 8] ^= (uint8_t)(0x80 >> (len - 1) % 8);
			add(table, prefix);
		}
		randomize_from(&path, shared);
	}
}

/* Ids that are alike in many bits, and tables that hold little or next to nothing. */
static void add_tables(void)
{
	static const uint32_t ids[] = { 0,	    1,		100,	   252,	 253,
					1000,	    255,	256,	   1001, 0x7fffffff,
					0x80000000, 0xfffffffe, 0xffffffff };

	allow(50000);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct prefix prefix = parse("2001:db8::/128");

		if (i % 3 == 0)
			add(ids[i], (struct prefix){ 0 });
		if (i % 4 == 1) { /* alone in its table */
			add(ids[i], prefix);
			continue;
		}
		for (size_t n = 0; n < 3000; n++) {
			prefix.len = (uint8_t)(1 + fuzz_below(128));
			fuzz_addr(prefix.addr.bytes);
			add(ids[i], prefix);
		}
	}
}

TEST(test_shapes, "both engines agree: shapes, many tables")
{
	begin(3);
	add_dense(MAIN, 1);
	add_dense(2001, 4);
	add_dense(2002, 16);
	add_hosts(2003);
	add_paths(2004, 1, 0, false);
	add_paths(2005, 1, 0, true);
	add_paths(2006, 200, 0, false);
	add_paths(2007, 100, 100, true);
	add_paths(2008, 100, 33, true);
	add_tables();
	end(ADDRESSES_MAX);
}

TEST(test_default_route_alone, "both engines agree: one route")
{
	begin(7);
	allow(1);
	add(MAIN, (struct prefix){ 0 });
	end(ADDRESSES_MIN);
	begin(8);
	allow(1);
	add(0xffffffff, parse("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"));
	end(ADDRESSES_MIN);
}
