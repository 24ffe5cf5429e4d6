// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB beside the trie. Comparing both finds what is wrong and nothing else, in pieces
 * of any size. A compiled FIB that was found wrong is absent until it is built again. Its contents
 * are checked by random histories (alone/test_fib_random.c).
 */
#include <arpa/inet.h>
#include <errno.h>

#include "fib_world.h"

#define N_ROUTES 300

/* Prefixes of all lengths, nested, in two tables. */
static void set_many(struct world *world)
{
	char text[PREFIX_STRLEN];

	for (uint32_t i = 0; i < N_ROUTES; i++) {
		struct prefix prefix = { .len = (uint8_t)(i * 7 % 129) };

		prefix.addr.words[0] = htonl(0x20010db8 ^ i * 2654435761u % 5 << 20);
		prefix.addr.words[1] = htonl(i % 3 * 0x80000000);
		prefix.addr.words[3] = htonl(i);
		prefix_mask(&prefix);
		assert_int_equal(
			set_in(world, i % 4 ? SIXLANE_TABLE_MAIN : 100,
			       prefix_format(&prefix, text),
			       by_verdict(i % 2 ? SIXLANE_PASS_LOCAL : SIXLANE_PASS_THROW)),
			0);
	}
}

struct found {
	uint32_t table, trie, compiled;
	union sixlane_addr addr;
	unsigned int n;
};

static void note(void *ctx, uint32_t table, const union sixlane_addr *addr, uint32_t trie,
		 uint32_t compiled)
{
	struct found *found = ctx;

	*found = (struct found){ table, trie, compiled, *addr, found->n + 1 };
}

/* Verify all, in pieces; calls between after each piece. */
static struct fib_verify verify(struct world *world, size_t piece, struct found *found,
				void (*between)(struct world *world, const struct fib_verify *at))
{
	struct fib_verify run;
	int rc;

	assert_int_equal(fib_verify_begin(world->fib, &run), 0);
	while ((rc = fib_verify_some(world->fib, &run, piece, note, found)) > 0) {
		if (between)
			between(world, &run);
	}
	assert_int_equal(rc, 0);
	fib_verify_end(&run);
	return run;
}

static void test_nothing_is_wrong(void **state)
{
	static const size_t pieces[] = { 1, 7, 100000 };
	struct world *world = *state;
	struct found found = { 0 };

	set_many(world);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		const struct fib_verify run = verify(world, pieces[i], &found, NULL);

		assert_int_equal(run.checked, PREFIX_EDGES * stats_of(world).routes);
		assert_int_equal(run.wrong, 0);
	}
	assert_int_equal(found.n, 0);
}

static void test_nothing_is_there(void **state)
{
	struct world *world = *state;
	struct found found = { 0 };

	assert_int_equal(verify(world, 10, &found, NULL).checked, 0);
}

/* The only leaf of the compiled FIB with this value. */
static uint32_t *leaf(const struct world *world, uint32_t value)
{
	uint32_t *words = (uint32_t *)world->sim->view.chunks[0], *at = NULL;

	for (size_t i = 0; i < SIXLANE_FIB_CHUNK_BYTES / sizeof(*words); i++) {
		if (words[i] != value)
			continue;
		assert_null(at);
		at = &words[i];
	}
	assert_non_null(at);
	return at;
}

static void test_what_is_wrong_is_found(void **state)
{
	static const struct {
		uint32_t table;
		const char *dst;
	} planted[] = { { SIXLANE_TABLE_MAIN, "2001:db8:f00::/48" }, { 100, "fd00::1/128" } };
	struct world *world = *state;
	struct fib_verify run;
	uint32_t value, *at;

	set_many(world);
	for (size_t i = 0; i < ARRAY_SIZE(planted); i++) {
		const union sixlane_addr dst = addr(planted[i].dst);
		struct found found = { 0 };

		assert_int_equal(set_in(world, planted[i].table, planted[i].dst,
					via("fe80::9", 3 + (uint32_t)i)),
				 0);
		value = sim_value(world->sim, planted[i].table, &dst);
		at = leaf(world, value);
		*at = value ^ 1;
		run = verify(world, 10, &found, NULL);
		assert_true(run.wrong >= 1 && run.wrong <= 2);
		assert_int_equal(found.n, run.wrong);
		assert_int_equal(found.table, planted[i].table);
		assert_int_equal(found.trie, value);
		assert_int_equal(found.compiled, value ^ 1);
		*at = value;
		assert_int_equal(verify(world, 10, &found, NULL).wrong, 0);
	}
}

/* Removes the prefix at which the last piece ended, and so whole tables, too. */
static void remove_some(struct world *world, const struct fib_verify *at)
{
	char text[PREFIX_STRLEN];

	if (!at->began)
		return;
	unset_in(world, at->tables[at->table], prefix_format(&at->last, text));
	if (at->checked % 3 == 0)
		set_in(world, at->tables[at->table], text, by_verdict(SIXLANE_DROP_BLACKHOLE));
}

static void test_routes_change_meanwhile(void **state)
{
	struct world *world = *state;
	struct found found = { 0 };
	uint64_t routes;

	set_many(world);
	routes = stats_of(world).routes;
	assert_int_equal(verify(world, 1, &found, remove_some).checked, PREFIX_EDGES * routes);
	assert_int_equal(found.n, 0);
	assert_true(stats_of(world).routes < routes);
}

static void test_not_trusted(void **state)
{
	struct world *world = *state;
	struct found found = { 0 };
	struct fib_verify run;
	uint64_t builds = stats_of(world).compiled.builds;

	set_many(world);
	assert_int_equal(fib_verify_begin(world->fib, &run), 0);
	assert_int_equal(fib_verify_some(world->fib, &run, 1, note, &found), 1);
	fib_decompile(world->fib);
	assert_false(fib_is_compiled(world->fib));
	assert_int_equal(world->sim->view.fib.word, 0);
	assert_int_equal(stats_of(world).compiled.failures, 1);
	assert_int_equal(fib_verify_some(world->fib, &run, 1, note, &found), -ENODATA);
	fib_verify_end(&run);
	assert_int_equal(fib_verify_begin(world->fib, &run), -ENODATA);
	fib_decompile(world->fib);
	assert_int_equal(stats_of(world).compiled.failures, 1);
	unset(world, "::/0");
	assert_int_equal(fib_compile(world->fib), 0);
	assert_true(fib_is_compiled(world->fib));
	assert_int_equal(stats_of(world).compiled.builds, builds + 1);
	assert_int_equal(verify(world, 50, &found, NULL).wrong, 0);
}

/* Without memory the trie answers. */
static void test_no_chunk(void **state)
{
	struct world *world = *state;

	restart(world, SIXLANE_MAX_ROUTES);
	world->sim->chunk_fails = 1;
	assert_int_equal(fib_compile(world->fib), -ENOSPC);
	assert_false(fib_is_compiled(world->fib));
	assert_int_equal(stats_of(world).compiled.failures, 1);
	set_many(world);
	world->sim->chunk_fails = 0;
	assert_int_equal(fib_compile(world->fib), 0);
	assert_true(fib_is_compiled(world->fib));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_wrong),
		TEST(test_nothing_is_there),
		TEST(test_what_is_wrong_is_found),
		TEST(test_routes_change_meanwhile),
		TEST(test_not_trusted),
		TEST(test_no_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
