// SPDX-License-Identifier: GPL-2.0-only
/*
 * What messages do not show, or not well: stale sets, lifetimes, of which they have how
 * much is left and never when they end, and the routes of the kernel's own table beside those of
 * the RIB, compared and taken over.
 */
#include "rib_steps.h"

#define NS_PER_MS 1000000ull
#define NOW_MS 1000000u
#define A_AND_B .hops = "a1 b2"
#define B_AND_A .hops = "b2 a1"

static const struct rib_route *known(const struct steps_world *world)
{
	const struct rib_dest *dest = rib_find(world->rib, RT_TABLE_MAIN, &world->dst);

	return dest ? dest->routes : NULL;
}

static bool is_used(const struct step *step)
{
	return step->hops || step->nhid;
}

/* --- messages --------------------------------------------------------------------------------- */

/* While messages were lost the order may have changed; a dump has the new one. */
static void test_dumps(void **state)
{
	static const struct {
		struct step message[2];
		const char *after;
		bool ends_early;
	} dumps[] = {
		{ .message = { { .hops = "-1" }, { .hops = "-2" } }, .after = "50 -1; 50 -2" },
		{ .message = { { .hops = "-1" } }, .after = "50 -1; 50 -2", .ends_early = true },
		{ .message = { { .hops = "-2" }, { .hops = "-1" } }, .after = "50 -2; 50 -1" },
		{ .message = { { .hops = "a1" }, { .hops = "-1" } }, .after = "50 a1; 50 -1" },
		{ .message = { { .hops = "-1" }, { .hops = "a1" } }, .after = "50 -1; 50 a1" },
		{ .message = { { .hops = "-1" } }, .after = "50 -1" },
		{ .message = { { A_AND_B } }, .after = "50 a1 b2 stale" },
		{ .message = { { .flags = DEL, A_AND_B } },
		  .after = "50 stale",
		  .ends_early = true },
		{ .after = "" },
	};
	struct steps_world world;

	steps_open(&world);
	for (size_t i = 0; i < ARRAY_SIZE(dumps); i++) {
		rib_mark(world.rib);
		for (int round = 0; round < 2; round++) {
			rib_dump_again(world.rib);
			for (size_t j = 0; j < 2 && is_used(&dumps[i].message[j]); j++)
				steps_apply(&world, &dumps[i].message[j]);
		}
		if (!dumps[i].ends_early)
			rib_sweep(world.rib);
		steps_state(&world, "a dump in two rounds", dumps[i].after);
	}
	rib_free(world.rib);
}

/* Not all that a replay of messages leads to is known where a dump has left routes out. */
SCRIPT(test_beside_stale, { "dumped", DUMP, -EINPROGRESS, "50 a1 b2 stale", A_AND_B },
       { "replaced by the same", REPLACE, -EINPROGRESS, NULL, A_AND_B },
       { "del dev 7", DEL, -EAGAIN, NULL, .hops = "-7" },
       { "add dev 7", MORE, 0, "50 a1 b2 stale; 50 -7", .hops = "-7" },
       { "add dev 7 metric 60", MORE, 0, "50 a1 b2 stale; 50 -7; 60 -7", .metric = 60,
	 .hops = "-7" },
       { "del dev 7", DEL, 0, "50 a1 b2 stale; 60 -7", .hops = "-7" },
       { "replace dev 7: or another that a dump left out", REPLACE, -EAGAIN,
	 "50 a1 b2 stale; 50 -7; 60 -7", .hops = "-7" })

/* A message says how much of a lifetime is left, each a little else: the earlier end is safe. */
SCRIPT(test_announced_lifetimes, { "a set", CREATE, 0, "50 a1 b2", A_AND_B },
       { "10 s", REPLACE, 0, "50 a1 b2 ends 10000", .ends_ms = 10000, A_AND_B },
       { "the same, said later", REPLACE, 0, NULL, .ends_ms = 11999, A_AND_B },
       { "said sooner", REPLACE, 0, "50 a1 b2 ends 9999", .ends_ms = 9999, A_AND_B },
       { "and again", REPLACE, 0, "50 a1 b2 ends 8100", .ends_ms = 8100, A_AND_B },
       { "the same", REPLACE, 0, NULL, .ends_ms = 10099, A_AND_B },
       { "another", REPLACE, 0, "50 a1 b2 ends 10100", .ends_ms = 10100, A_AND_B },
       { "none", REPLACE, 0, "50 a1 b2", A_AND_B }, { "del", DEL, 0, "", A_AND_B },
       { "one route", CREATE, 0, "50 a1 ends 10000", .ends_ms = 10000, .hops = "a1" },
       { "the same, said later", REPLACE, 0, NULL, .ends_ms = 11999, .hops = "a1" },
       { "said sooner", REPLACE, 0, "50 a1 ends 9999", .ends_ms = 9999, .hops = "a1" },
       { "another", REPLACE, 0, "50 a1 ends 11999", .ends_ms = 11999, .hops = "a1" },
       { "none", REPLACE, 0, "50 a1", .hops = "a1" })

/* Hops with ends a little apart are hops of one kind: the one that is left needs no dump. */
SCRIPT(test_hops_that_end_together,
       { "add b", CREATE, 0, "50 b2 ends 10000", .ends_ms = 10000, .hops = "b2" },
       { "append a", APPEND, 0, "50 b2 a1 ends 8001", .ends_ms = 8001, A_AND_B },
       { "del a", DEL, 0, "50 b2 ends 8001", .hops = "a1" },
       { "append a", APPEND, 0, "50 b2 a1 ends 10000", .ends_ms = 10000, A_AND_B },
       { "del a", DEL, 0, "50 b2 ends 10000", .hops = "a1" },
       { "append a, unlike", APPEND, -EINPROGRESS, "50 b2 a1 ends 12000 stale", .ends_ms = 12000,
	 A_AND_B },
       { "del a", DEL, -EAGAIN, "50 b2 ends 12000 stale", .hops = "a1" })

/* --- the kernel's own table ------------------------------------------------------------------- */

#define READ_MAX 3u

/* A message, or what is read from the table, which is taken over if it differs. */
struct reading {
	struct step message, read[READ_MAX];
	enum rib_difference difference;
	const char *after;
};

/* What the RIB says of all its routes is what is at the only destination. */
static void check_counts(const struct steps_world *world)
{
	size_t n_unsteady = 0, n_by_object = 0;
	bool sources = false;

	for (const struct rib_route *at = known(world); at; at = at->next) {
		assert_true(!at->next || at->metric <= at->next->metric);
		n_unsteady += at->mtu || at->expires || at->protocol == RTPROT_RA;
		n_by_object += at->next_hop_id != 0;
		sources |= at->src.len != 0;
	}
	assert_int_equal(rib_unsteady(world->rib), n_unsteady);
	assert_int_equal(rib_by_object(world->rib, 7).n, n_by_object);
	assert_int_equal(rib_table_has_sources(world->rib, RT_TABLE_MAIN), sources);
}

static void read_kernel(struct steps_world *world, const struct reading *reading)
{
	struct route routes[READ_MAX];
	enum rib_difference difference;
	size_t n = 0;

	for (; n < READ_MAX && is_used(&reading->read[n]); n++)
		routes[n] = steps_route(world, &reading->read[n]);
	difference = rib_compare(rib_find(world->rib, RT_TABLE_MAIN, &world->dst), routes, n,
				 NOW_MS * NS_PER_MS);
	if (difference != reading->difference)
		fail_msg("%s: is %s, should be %s", reading->after,
			 rib_difference_names[difference],
			 rib_difference_names[reading->difference]);
	if (difference != RIB_SAME)
		assert_int_equal(rib_put(world->rib, RT_TABLE_MAIN, &world->dst, routes, n), 0);
}

#define ENDS(ms) .ends_ms = NOW_MS + (ms)
#define READ(is, then, ...)                                                      \
	{                                                                        \
		.difference = RIB_##is, .after = (then), .read = { __VA_ARGS__ } \
	}
#define TELL(then, ...)                                     \
	{                                                   \
		.after = (then), .message = { __VA_ARGS__ } \
	}

static void test_readings(void **state)
{
	static const struct reading readings[] = {
		READ(SAME, "", { 0 }),
		READ(MISSING, "50 -1", { .hops = "-1" }),
		READ(SAME, "50 -1", { .hops = "-1" }),
		READ(REPLACED, "50 -2", { .hops = "-2" }),
		READ(REPLACED, "51 -2", { .metric = 51, .hops = "-2" }),
		READ(REPLACED, "50 -2 from /1", { .src_len = 1, .hops = "-2" }),
		READ(REPLACED, "50 -1 encap", { .encap = true, .hops = "-1" }),
		READ(REPLACED, "50 -1", { .hops = "-1" }),
		READ(MTU, "50 -1 mtu 1400", { .mtu = 1400, .hops = "-1" }),
		READ(MTU, "50 -1 mtu lock 1400", { .mtu = 1400, .mtu_locked = true, .hops = "-1" }),
		READ(MTU, "50 -1", { .hops = "-1" }),
		READ(ATTRIBUTES, "50 -1 pref 3", { .preference = 3, .hops = "-1" }),
		TELL("50 -1", .flags = REPLACE, .hops = "-1"),
		READ(ATTRIBUTES, "50 -1", { .protocol = RTPROT_RA, .hops = "-1" }),
		READ(ATTRIBUTES, "50 blackhole -1",
		     { .protocol = RTPROT_RA, .type = RTN_BLACKHOLE, .hops = "-1" }),
		READ(ATTRIBUTES, "50 -1", { .hops = "-1" }),
		READ(ATTRIBUTES, "50 -1 src", { .own_source = true, .hops = "-1" }),
		READ(ATTRIBUTES, "50 -1 src truncated",
		     { .own_source = true, .truncated = true, .hops = "-1" }),
		READ(ATTRIBUTES, "50 -1", { .hops = "-1" }),
		/* of two ends the earlier one is right, too, until it is near */
		READ(LIFETIME, "50 -1 ends 1060000", { ENDS(60000), .hops = "-1" }),
		READ(SAME, "50 -1 ends 1060000", { ENDS(59950), .hops = "-1" }),
		READ(SAME, "50 -1 ends 1060000", { ENDS(1800000), .hops = "-1" }),
		READ(LIFETIME, "50 -1 ends 1006000", { ENDS(6000), .hops = "-1" }),
		READ(SAME, "50 -1 ends 1006000", { ENDS(1800000), .hops = "-1" }),
		READ(LIFETIME, "50 -1 ends 1004000", { ENDS(4000), .hops = "-1" }),
		READ(SAME, "50 -1 ends 1004000", { ENDS(4050), .hops = "-1" }),
		READ(RENEWED, "50 -1 ends 2800000", { ENDS(1800000), .hops = "-1" }),
		READ(LIFETIME, "50 -1", { .hops = "-1" }),
		READ(MISSING, "50 -1; 50 -2", { .hops = "-1" }, { .hops = "-2" }),
		READ(REPLACED, "50 -2; 50 -1", { .hops = "-2" }, { .hops = "-1" }),
		READ(EXTRA, "", { 0 }),
		/* a set from a dump is stale until it was read */
		TELL("50 a1 b2 stale", .flags = DUMP, A_AND_B),
		READ(RENEWED, "50 b2 a1", { B_AND_A }),
		TELL("50 b2 a1 stale", .flags = DUMP, A_AND_B),
		READ(ATTRIBUTES, "50 b2 a1 unlike", { .unlike = true, B_AND_A }),
		/* the table has a source's routes together, the list all by their metrics */
		READ(MISSING, "50 -1; 60 -2 from /1; 70 -1", { .hops = "-1" },
		     { .metric = 70, .hops = "-1" }, { .metric = 60, .src_len = 1, .hops = "-2" }),
		READ(SAME, "50 -1; 60 -2 from /1; 70 -1",
		     { .metric = 60, .src_len = 1, .hops = "-2" }, { .hops = "-1" },
		     { .metric = 70, .hops = "-1" }),
		/* type and hops of a route by an object are known from messages only */
		READ(EXTRA, "50 #7", { .nhid = 7 }),
		TELL("50 blackhole #7 -1 encap", .flags = REPLACE, .nhid = 7, .type = RTN_BLACKHOLE,
		     .encap = true, .hops = "-1"),
		READ(SAME, "50 blackhole #7 -1 encap", { .nhid = 7 }),
		READ(MTU, "50 blackhole #7 -1 mtu 1400 encap", { .nhid = 7, .mtu = 1400 }),
		READ(REPLACED, "50 -1 mtu 1400", { .mtu = 1400, .hops = "-1" }),
		/* … and what is not known */
		TELL("50 -1 mtu 1400 unknown", .flags = REPLACE, .unknown = true, .mtu = 1400,
		     .hops = "-1"),
		READ(MTU, "50 -1 unknown", { .hops = "-1" }),
		READ(EXTRA, "", { 0 }),
	};
	struct steps_world world;

	steps_open(&world);
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		if (is_used(&readings[i].message))
			steps_apply(&world, &readings[i].message);
		else
			read_kernel(&world, &readings[i]);
		steps_state(&world, readings[i].after, readings[i].after);
		check_counts(&world);
	}
	rib_free(world.rib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dumps),
		cmocka_unit_test(test_beside_stale),
		cmocka_unit_test(test_announced_lifetimes),
		cmocka_unit_test(test_hops_that_end_together),
		cmocka_unit_test(test_readings),
	};

	return cmocka_run_group_tests_name("rib kernel", tests, NULL, NULL);
}
