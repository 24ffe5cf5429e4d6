// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose an exception is and what it comes to: a table of routes, what the kernel tells of one
 * destination, and what follows for packets there.
 */
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/daemon/learnt.h"
#include "../../../user/lib/util.h"
#include "../resolve/resolve_world.h"
#include "../unit.h"

#define NS_PER_S 1000000000ull
#define TOLD_NS (7 * NS_PER_S)
#define DST "2001:db8:0:1::1"

struct row {
	const char *what;
	const char *routes[4];
	/* As a route of DST: its hop is where the exception leads, its metric and protocol are
	 * those of the route that it is kept at. A Path MTU has "mtu 1300 expires 600". */
	const char *told;
	const char *dump;   /* what learnt_told() makes of it … */
	const char *answer; /* … and learnt_answered(); NULL: the same */
	enum config_exceptions mode;
	bool other_gateway; /* told: not that of "via" in routes */
};

#define PMTU " mtu 1300 expires 600"
#define UNDER "mtu 1300 under via 3 for 600"

static const struct row rows[] = {
	{ "no route", { NULL }, "via 3" PMTU, .dump = "nothing" },
	{ "a route", { "2001:db8::/32 via 3" }, "via 3" PMTU, .dump = "only " UNDER },
	{ "locked",
	  { "2001:db8::/32 via 3 lock 1400" },
	  "via 3 lock 1300 expires 600",
	  .dump = "only mtu 1300 locked under via 3 for 600" },
	{ "on-link",
	  { "2001:db8::/32 dev 3" },
	  "dev 3" PMTU,
	  .dump = "only mtu 1300 under dev 3 for 600" },
	{ "another table",
	  { "2001:db8::/32 via 3 table 100" },
	  "via 3 table 100" PMTU,
	  .dump = "only " UNDER },
	{ "its table has no route",
	  { "2001:db8::/32 via 3 table 100" },
	  "via 3" PMTU,
	  .dump = "nothing" },
	{ "of a destination that is not forwarded",
	  { "2001:db8::/32 unreachable" },
	  "via 3" PMTU,
	  .dump = "nothing" },
	{ "under 1280, which no kernel learns",
	  { "2001:db8::/32 via 3" },
	  "via 3 mtu 1279 expires 600",
	  .dump = "only punt mtu 1279 under via 3 for 600" },
	{ "with what is not known",
	  { "2001:db8::/32 via 3" },
	  "via 3 unknown" PMTU,
	  .dump = "only punt " UNDER },
	{ "with nothing but that",
	  { "2001:db8::/32 via 3" },
	  "via 3 unknown",
	  .dump = "only punt under via 3 for 90 ask after 30" },
	{ "its last hundredth of a second",
	  { "2001:db8::/32 via 3" },
	  "via 3 mtu 1300",
	  .dump = "nothing" },

	{ "always",
	  { "2001:db8::/32 via 3" },
	  "via 3" PMTU,
	  .dump = "only mtu 1300 for 600",
	  .mode = CONFIG_EXCEPTIONS_ALWAYS },
	{ "observe",
	  { "2001:db8::/32 via 3" },
	  "via 3" PMTU,
	  .dump = "only observe " UNDER,
	  .mode = CONFIG_EXCEPTIONS_OBSERVE },

	{ "a cover of another metric",
	  { "2001:db8::/32 via 3", "::/0 via 3 metric 2000" },
	  "via 3" PMTU,
	  .dump = "only " UNDER },
	{ "a cover of another protocol",
	  { "2001:db8::/32 via 3", "::/0 via 3 proto 9" },
	  "via 3" PMTU,
	  .dump = "only " UNDER },
	{ "a cover of another device",
	  { "2001:db8::/32 via 3", "::/0 via 4" },
	  "via 3" PMTU,
	  .dump = "only " UNDER },
	{ "a cover in another table",
	  { "2001:db8::/32 via 3", "::/0 via 3 table 100" },
	  "via 3" PMTU,
	  .dump = "only " UNDER },
	{ "a cover that may have it",
	  { "2001:db8::/32 via 3", "::/0 via 3" },
	  "via 3" PMTU,
	  .dump = "uncertain " UNDER,
	  .answer = "only " UNDER },
	{ "of a cover by its metric",
	  { "2001:db8::/32 via 3", "::/0 via 3 metric 2000" },
	  "via 3 metric 2000" PMTU,
	  .dump = "nothing",
	  .answer = "only " UNDER },
	{ "of a cover by its device",
	  { "2001:db8::/32 via 3", "::/0 via 4" },
	  "via 4" PMTU,
	  .dump = "nothing",
	  .answer = "only mtu 1300 to via 4 for 600" },
	{ "of nothing that is known",
	  { "2001:db8::/32 via 3" },
	  "via 4" PMTU,
	  .dump = "uncertain mtu 1300 to via 4 for 600",
	  .answer = "only mtu 1300 to via 4 for 600" },
	{ "of the second best",
	  { "2001:db8::/32 via 3 metric 10", "2001:db8::/32 via 3 metric 1024" },
	  "via 3 metric 1024" PMTU,
	  .dump = "uncertain " UNDER,
	  .answer = "only " UNDER },
	{ "of the best of two",
	  { "2001:db8::/32 via 3 metric 10", "2001:db8::/32 via 3 metric 1024" },
	  "via 3 metric 10" PMTU,
	  .dump = "only " UNDER },
	{ "of the best, which has no carrier",
	  { "2001:db8::/32 via 7 metric 10", "2001:db8::/32 via 3 metric 1024" },
	  "via 7 metric 10" PMTU,
	  .dump = "uncertain mtu 1300 to via 7 for 600",
	  .answer = "only mtu 1300 to via 7 for 600" },
	{ "a longer one without carrier",
	  { "2001:db8::/32 via 3", "2001:db8::/48 via 7" },
	  "via 3" PMTU,
	  .dump = "only " UNDER },

	{ "a redirect",
	  { "2001:db8::/32 via 3" },
	  "via 3",
	  .dump = "uncertain to via 3 for 90 ask after 30",
	  .answer = "only to via 3 for 90 ask after 30",
	  .other_gateway = true },
	{ "a redirect to the link",
	  { "2001:db8::/32 via 3" },
	  "dev 3",
	  .dump = "uncertain to dev 3 for 90 ask after 30",
	  .answer = "only to dev 3 for 90 ask after 30" },
	{ "a redirect with a Path MTU",
	  { "2001:db8::/32 via 3" },
	  "via 3" PMTU,
	  .dump = "uncertain mtu 1300 to via 3 for 600",
	  .answer = "only mtu 1300 to via 3 for 600",
	  .other_gateway = true },
	{ "a redirect to where packets go", { "2001:db8::/32 via 3" }, "via 3", .dump = "nothing" },
	{ "a redirect, observe",
	  { "2001:db8::/32 via 3" },
	  "via 3",
	  .dump = "uncertain observe to via 3 for 90 ask after 30",
	  .answer = "only observe to via 3 for 90 ask after 30",
	  .mode = CONFIG_EXCEPTIONS_OBSERVE,
	  .other_gateway = true },

	{ "several hops",
	  { "2001:db8::/32 via 3 via 4" },
	  "via 4" PMTU,
	  .dump = "one hop mtu 1300 under via 4 for 600" },
	{ "several hops, always",
	  { "2001:db8::/32 via 3 via 4" },
	  "via 4" PMTU,
	  .dump = "one hop mtu 1300 for 600",
	  .mode = CONFIG_EXCEPTIONS_ALWAYS },
	{ "a redirect of one of several hops",
	  { "2001:db8::/32 via 3 via 4" },
	  "via 4",
	  .dump = "one hop punt to via 4 for 90 ask after 30",
	  .other_gateway = true },
	{ "a redirect from one of several hops to another",
	  { "2001:db8::/32 via 3 via 4" },
	  "via 4",
	  .dump = "one hop punt under via 4 for 90 ask after 30" },
	{ "several hops and a cover that may have it",
	  { "2001:db8::/32 via 3 via 4", "::/0 via 4" },
	  "via 4" PMTU,
	  .dump = "uncertain mtu 1300 under via 4 for 600",
	  .answer = "one hop mtu 1300 under via 4 for 600" },
	{ "a route after the first, for packets from its device",
	  { "2001:db8::/32 dev 3", "2001:db8::/32 dev 4" },
	  "dev 4" PMTU,
	  .dump = "uncertain mtu 1300 to dev 4 for 600",
	  .answer = "only mtu 1300 to dev 4 for 600" },

	{ "by an object", { "2001:db8::/32 nhid 3" }, "via 3" PMTU, .dump = "only " UNDER },
	{ "by an object, told for another route by it",
	  { "2001:db8::/32 nhid 3" },
	  "via 3 metric 77 proto 9" PMTU,
	  .dump = "only " UNDER },
	{ "by a group", { "2001:db8::/32 nhid 34" }, "via 3" PMTU, .dump = "one hop " UNDER },
	{ "by an object, and a cover by it",
	  { "2001:db8::/32 nhid 3", "::/0 nhid 3" },
	  "via 3" PMTU,
	  .dump = "uncertain " UNDER,
	  .answer = "only " UNDER },
	{ "by an object that discards",
	  { "2001:db8::/32 nhid 9" },
	  "via 3" PMTU,
	  .dump = "nothing" },
	{ "by an object that is not known",
	  { "2001:db8::/32 nhid 99" },
	  "via 3" PMTU,
	  .dump = "nothing" },

	{ "by source",
	  { "2001:db8::/32 via 3", "2001:db8::/32 from 2001:db8:a::/48 via 4" },
	  "from 2001:db8:a::1 via 4" PMTU,
	  .dump = "only punt mtu 1300 to via 4 for 600" },
	{ "of the plain one beside one by source",
	  { "2001:db8::/32 via 3", "2001:db8::/32 from 2001:db8:a::/48 via 4" },
	  "via 3" PMTU,
	  .dump = "only punt mtu 1300 to via 3 for 600" },

	{ "in local",
	  { "2001:db8::/32 via 3 table 255" },
	  "via 3 table 255" PMTU,
	  .dump = "uncertain " UNDER,
	  .answer = "only " UNDER },
	{ "in local, over a longer prefix",
	  { "2001:db8::/32 via 3 table 255", "2001:db8::/48 via 4" },
	  "via 3 table 255" PMTU,
	  .dump = "uncertain " UNDER,
	  .answer = "only " UNDER },
	{ "laid over by a shorter prefix of local",
	  { "2001:db8::/32 via 3 table 255", "2001:db8::/48 via 3" },
	  "via 3" PMTU,
	  .dump = "uncertain " UNDER,
	  .answer = "only " UNDER },
	{ "laid over by a throw of local",
	  { "throw 2001:db8::/32 table 255", "2001:db8::/48 via 3" },
	  "via 3" PMTU,
	  .dump = "uncertain " UNDER,
	  .answer = "only " UNDER },
	{ "laid over by local",
	  { "2001:db8::/32 via 3", "local " DST "/128 dev 1 table 255" },
	  "via 3" PMTU,
	  .dump = "nothing" },
};

static void tell_hop(FILE *out, const char *word, const struct fib_hop *hop)
{
	fprintf(out, " %s %s %u", word, hop->has_gateway ? "via" : "dev", hop->ifindex);
}

static void write_outcome(char text[WORLD_TEXT], enum learnt learnt,
			  const struct fib_exception *exception)
{
	static const char *const names[] = { "nothing", "only", "one hop", "uncertain" };
	FILE *out = fmemopen(text, WORLD_TEXT, "w");

	assert_non_null(out);
	fputs(names[learnt], out);
	if (learnt != LEARNT_NOTHING) {
		fprintf(out, "%s%s", exception->observe ? " observe" : "",
			exception->punt ? " punt" : "");
		if (exception->mtu)
			fprintf(out, " mtu %u", exception->mtu);
		if (exception->mtu_locked)
			fputs(" locked", out);
		if (exception->has_hop)
			tell_hop(out, "to", &exception->hop);
		if (exception->has_under)
			tell_hop(out, "under", &exception->under);
		fprintf(out, " for %llu",
			(unsigned long long)((exception->expires_ns - TOLD_NS) / NS_PER_S));
		if (exception->confirm_ns)
			fprintf(out, " ask after %llu",
				(unsigned long long)((exception->confirm_ns - TOLD_NS) / NS_PER_S));
	}
	fclose(out);
}

/* 3 and 4 by these devices, 34 a group of both, 9 a blackhole. */
static void add_objects(struct nexthops *nexthops)
{
	const struct next_hop_member members[] = { { 3, 1 }, { 4, 1 } };
	struct next_hop object = { .kind = NEXT_HOP_ONE };

	for (object.id = 3; object.id <= 4; object.id++) {
		object.hop = (struct route_hop){ .ifindex = object.id, .has_gateway = true };
		object.hop.gateway = (union sixlane_addr){ .bytes = { 0xfe, 0x80, [15] = 1 } };
		assert_int_equal(nexthops_set(nexthops, &object), 0);
	}
	object = (struct next_hop){
		.id = 34, .kind = NEXT_HOP_GROUP, .n_members = 2, .members = members
	};
	assert_int_equal(nexthops_set(nexthops, &object), 0);
	object = (struct next_hop){ .id = 9, .kind = NEXT_HOP_BLACKHOLE };
	assert_int_equal(nexthops_set(nexthops, &object), 0);
}

static struct route_exception parse_told(const struct row *row)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route_exception told;
	char text[256];
	struct route route;

	snprintf(text, sizeof(text), DST "/128 %s", row->told);
	world_parse(text, &route, hops);
	told = (struct route_exception){
		.dst = route.dst.addr,
		.hop = hops[0],
		.table = route.table,
		.metric = route.metric,
		.mtu = route.mtu,
		.lifetime_ms = (uint32_t)(route.expires_ns / 1000000),
		.type = route.type,
		.protocol = route.protocol,
		.has_src = route.src.len != 0,
		.mtu_locked = route.mtu_locked,
		.expires = route.expires,
		.unknown_attr = route.unknown,
	};
	if (row->other_gateway)
		told.hop.gateway.bytes[15] = 2;
	return told;
}

/* A world of the objects and of n routes, or as many as there are before a NULL. */
static struct learnt_world set_up(struct world *world, const char *const *routes, size_t n)
{
	const struct learnt_world learnt_world = {
		.view = &world->view,
		.resolve = world->resolve,
		.nexthops = nexthops_new(NULL, NULL),
	};

	nexthops_follow(learnt_world.nexthops, world->rib);
	add_objects(learnt_world.nexthops);
	for (size_t i = 0; i < n && routes[i]; i++)
		world_add(world, routes[i]);
	nexthops_renewed(learnt_world.nexthops);
	return learnt_world;
}

static void tear_down(struct world *world, const struct learnt_world *learnt_world)
{
	nexthops_free(learnt_world->nexthops);
	world_free(world);
}

static void check_row(const struct row *row)
{
	struct world *world = world_new(true);
	struct learnt_world learnt_world = set_up(world, row->routes, ARRAY_SIZE(row->routes));
	const struct route_exception told = parse_told(row);
	struct fib_exception exception;
	char text[WORLD_TEXT];
	enum learnt learnt;

	learnt_world.mode = row->mode;
	learnt = learnt_told(&learnt_world, &told, TOLD_NS, &exception);
	write_outcome(text, learnt, &exception);
	assert_string_equal(text, row->dump);
	learnt = learnt_answered(&learnt_world, &told, TOLD_NS, &exception);
	write_outcome(text, learnt, &exception);
	assert_string_equal(text, row->answer ? row->answer : row->dump);
	tear_down(world, &learnt_world);
}

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s\n", rows[i].what);
		check_row(&rows[i]);
	}
}

static void paths(void **state)
{
	static const struct {
		const char *routes[2];
		enum learnt_paths paths;
		size_t n;
	} cases[] = {
		{ { NULL }, LEARNT_BY_ONE, 0 },
		{ { "2001:db8::/32 via 3" }, LEARNT_BY_ONE, 0 },
		{ { "2001:db8::/32 unreachable" }, LEARNT_BY_ONE, 0 },
		{ { "2001:db8::/32 nhid 3" }, LEARNT_BY_ONE, 0 },
		{ { "2001:db8::/32 via 3", "2001:db8::/32 nhid 34" }, LEARNT_BY_HIDDEN, 0 },
		{ { "2001:db8::/32 via 3 via 4" }, LEARNT_BY_SEVERAL, 2 },
		{ { "2001:db8::/32 via 3 via 4", "2001:db8::/33 via 5" }, LEARNT_BY_ONE, 0 },
		{ { "2001:db8::/32 nhid 34" }, LEARNT_BY_GROUP, 2 },
		{ { "2001:db8::/32 via 3", "2001:db8::/32 from 2001:db8:a::/48 via 4" },
		  LEARNT_BY_SOURCE,
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct prefix dst = world_prefix(DST "/128");
		struct world *world = world_new(true);
		const struct learnt_world learnt_world =
			set_up(world, cases[i].routes, ARRAY_SIZE(cases[i].routes));
		struct fib_hop hops[LEARNT_MAX_HOPS];
		size_t n;

		assert_int_equal(learnt_paths(&learnt_world, RT_TABLE_MAIN, &dst.addr, hops, &n),
				 cases[i].paths);
		assert_int_equal(n, cases[i].n);
		for (size_t j = 0; j < n; j++)
			assert_int_equal(hops[j].ifindex, 3 + j);
		tear_down(world, &learnt_world);
	}
}

static void merged(void **state)
{
	const struct fib_exception by_hop = {
		.mtu = 1300, .has_under = true, .under = { .ifindex = 3 }, .expires_ns = 100
	};
	const struct fib_exception any = { .mtu = 1300, .expires_ns = 100 };
	const struct fib_exception other = {
		.mtu = 1290, .mtu_locked = true, .expires_ns = 200, .gone_ns = 300
	};
	struct fib_exception out = by_hop;

	(void)state;
	learnt_merge(&out, &other);
	assert_true(out.punt);
	assert_int_equal(out.gone_ns, 300);
	assert_int_equal(out.expires_ns, 200);
	out = any;
	learnt_merge(&out, &other);
	assert_false(out.punt);
	assert_int_equal(out.mtu, 1290);
	assert_true(out.mtu_locked);
	out = other;
	learnt_merge(&out, &any);
	assert_int_equal(out.mtu, 1290);
	assert_true(out.mtu_locked);
	assert_int_equal(out.expires_ns, 200);
	learnt_merge(&out, &by_hop);
	assert_true(out.punt);
}

static void tables(void **state)
{
	struct resolve_view view = { .local_first = true };
	const struct learnt_world learnt_world = { .view = &view };

	(void)state;
	assert_int_equal(learnt_table(&learnt_world, RT_TABLE_LOCAL), RT_TABLE_MAIN);
	assert_int_equal(learnt_table(&learnt_world, RT_TABLE_MAIN), RT_TABLE_MAIN);
	assert_int_equal(learnt_table(&learnt_world, 100), 100);
	view.local_first = false;
	assert_int_equal(learnt_table(&learnt_world, RT_TABLE_LOCAL), RT_TABLE_LOCAL);
}

/* What is told anew some milliseconds later ends at the same time. */
static void ends(void **state)
{
	static const char *const route = "2001:db8::/32 via 3";
	struct world *world = world_new(true);
	const struct learnt_world learnt_world = set_up(world, &route, 1);
	const struct row row = { .told = "via 3 mtu 1300 expires 600" };
	struct route_exception told = parse_told(&row);
	struct fib_exception first, second;

	(void)state;
	assert_int_equal(learnt_told(&learnt_world, &told, TOLD_NS + 50000000, &first),
			 LEARNT_ONLY);
	told.lifetime_ms -= 300000;
	assert_int_equal(
		learnt_told(&learnt_world, &told, TOLD_NS + 300 * NS_PER_S + 55000000, &second),
		LEARNT_ONLY);
	assert_int_equal(first.expires_ns, second.expires_ns);
	assert_in_range(first.expires_ns, TOLD_NS + 599 * NS_PER_S, TOLD_NS + 600050000000);
	/* Of what it was rounded down by, and more. */
	assert_in_range(first.gone_ns, TOLD_NS + 600150000000, TOLD_NS + 601 * NS_PER_S);
	tear_down(world, &learnt_world);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),  cmocka_unit_test(paths), cmocka_unit_test(merged),
		cmocka_unit_test(tables), cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests_name("learnt", tests, NULL, NULL);
}
