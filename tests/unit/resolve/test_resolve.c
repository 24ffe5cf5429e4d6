// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of the routes of one prefix, without sources; of main with the local table laid over
 * it; and how far a change reaches.
 */
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "resolve_world.h"

/* --- one prefix ------------------------------------------------------------------------------ */

/* result: in the words of world_describe(). */
struct row {
	const char *what;
	const char *routes[3]; /* of 2001:db8::/32 in main */
	const char *result;
};

static const struct row rows[] = {
	{ "gateway", { "via 3" }, "one via 3" },
	{ "on-link", { "dev 3" }, "one dev 3" },
	{ "mtu", { "dev 3 mtu 1400" }, "one dev 3 mtu 1400" },
	{ "local", { "local dev 3" }, "pass_local" },
	{ "local, no carrier", { "local dev 7" }, "pass_local" },
	{ "anycast, no carrier", { "anycast dev 7" }, "pass_anycast" },
	{ "multicast", { "multicast dev 3" }, "pass_multicast" },
	{ "blackhole", { "blackhole dev 1" }, "drop_blackhole" },
	{ "no device", { "unreachable" }, "pass_unreachable" },
	{ "prohibit", { "prohibit" }, "pass_prohibit" },
	{ "throw", { "throw" }, "pass_throw" },
	{ "a type of its own", { "nat dev 3" }, "punt_route" },
	{ "a type of IPv4", { "broadcast dev 3" }, "punt_route" },
	{ "unicast by nothing", { "" }, "punt_route" },
	{ "by device 0", { "via 0" }, "punt_route" },
	{ "encapsulation", { "via 3 encap" }, "punt_encap" },
	{ "what is not known", { "via 3 unknown" }, "punt_route" },
	{ "… of a reject", { "unreachable unknown" }, "punt_route" },
	{ "… by an object", { "nhid 10 via 3 unknown" }, "punt_route" },
	{ "… of a worse one", { "dev 3", "metric 2000 dev 4 unknown" }, "one dev 3" },
	{ "hops cut off", { "via 3 truncated" }, "punt_multipath" },

	{ "a set",
	  { "via 3 weight 2 via 4 via 5 weight 256" },
	  "hashed via 3*2 via 4*1 via 5*256" },
	{ "a set by device 0", { "via 3 via 0" }, "punt_route" },
	{ "mtu, locked", { "dev 3 lock 1400" }, "one dev 3 lock 1400" },
	{ "a source of its own", { "dev 3 src" }, "one dev 3 src" },
	{ "a lock of nothing", { "dev 3 lock 0" }, "one dev 3" },
	{ "a set, mtu", { "via 3 via 4 mtu 1300" }, "hashed via 3*1 via 4*1 mtu 1300" },
	{ "a set, one hop without carrier", { "via 7 via 3" }, "hashed via 7*1 via 3*1" },
	{ "a set without carrier", { "via 7 dev 7", "metric 2000 dev 3" }, "one dev 3" },

	{ "an object", { "nhid 10 via 3" }, "object 10" },
	{ "an object, no hops", { "nhid 10" }, "object 10" },
	{ "an object, mtu, locked", { "nhid 10 lock 1400" }, "object 10 lock 1400" },
	{ "an object, mtu", { "nhid 10 mtu 1400" }, "object 10 mtu 1400" },
	{ "an object whatever its carrier was", { "nhid 10 via 7" }, "object 10" },
	{ "an object that discards", { "blackhole nhid 10 dev 1" }, "object 10" },
	{ "a blackhole by an object", { "blackhole nhid 10 via 3" }, "punt_nexthop_object" },
	{ "either of them", { "blackhole nhid 10" }, "punt_nexthop_object" },
	{ "unreachable by an object", { "unreachable nhid 10 via 3" }, "punt_nexthop_object" },
	{ "local by an object", { "local nhid 10 via 3" }, "punt_nexthop_object" },
	{ "throw by an object", { "throw nhid 10" }, "punt_nexthop_object" },
	{ "an object that encapsulates", { "nhid 10 via 3 encap" }, "object 10" },

	{ "expiry", { "via 3 expires 9" }, "one via 3 expires 9" },
	{ "a set expires", { "via 3 via 4 expires 9" }, "hashed via 3*1 via 4*1 expires 9" },
	{ "by an object, expires", { "nhid 10 expires 9" }, "object 10 expires 9" },
	{ "expiry unknown", { "via 3 expires 0" }, "punt_expires" },
	{ "a blackhole expires", { "blackhole expires 9" }, "punt_expires" },
	{ "local expires", { "local dev 3 expires 9" }, "punt_expires" },
	{ "advertised", { "via 3 proto 9" }, "one via 3" },
	{ "advertised, expires", { "via 3 proto 9 expires 9" }, "one via 3 expires 9" },

	{ "the lowest metric", { "metric 60 dev 4", "metric 50 dev 3", "dev 5" }, "one dev 3" },
	{ "the lowest metric, not the preference",
	  { "metric 60 dev 4 pref 3", "metric 50 dev 3 pref 1" },
	  "one dev 3" },
	{ "the next metric, for want of a carrier",
	  { "metric 50 dev 7", "metric 60 dev 3" },
	  "one dev 3" },
	{ "no carrier, but not ignored", { "metric 50 dev 8", "metric 60 dev 3" }, "one dev 8" },
	{ "several next metrics: the first, but by device",
	  { "metric 50 dev 7", "metric 60 dev 3", "metric 70 dev 4" },
	  "first dev 3 dev 4" },
	{ "several next metrics: preference before metric",
	  { "metric 50 dev 7", "metric 60 dev 3", "metric 70 dev 4 pref 3" },
	  "one dev 4" },
	{ "several next metrics: a set first",
	  { "metric 50 dev 7", "metric 60 via 3 via 5", "metric 70 dev 4" },
	  "punt_equal_metric" },
	{ "several next metrics: a gateway first",
	  { "metric 50 dev 7", "metric 60 via 3", "metric 70 via 4 via 5" },
	  "first via 3 via 4 via 5" },
	{ "nothing usable", { "metric 50 dev 7", "metric 60 via 7" }, "-" },

	{ "equal metrics", { "dev 3", "dev 4" }, "first dev 3 dev 4" },
	{ "equal metrics, mtu of the first", { "dev 3", "dev 4 mtu 1400" }, "first dev 3 dev 4" },
	{ "equal metrics, one usable", { "dev 7", "dev 4" }, "one dev 4" },
	{ "equal metrics, one unusable", { "dev 3", "dev 7", "dev 4" }, "first dev 3 dev 4" },
	{ "equal metrics, preference", { "dev 3 pref 1", "dev 4", "dev 5" }, "first dev 4 dev 5" },
	{ "equal metrics, one device", { "dev 3", "via 3" }, "one dev 3" },
	{ "equal metrics above the lowest", { "metric 50 dev 3", "dev 4", "dev 5" }, "one dev 3" },
	{ "equal metrics, a set later", { "dev 3", "via 4 via 3" }, "first dev 3 via 4" },
	{ "equal metrics, the set's order unknown", { "via 4", "dev 3" }, "punt_equal_metric" },
	{ "equal metrics, a set first", { "via 4 via 5", "dev 3" }, "punt_equal_metric" },
	{ "equal metrics, a set and a reject", { "via 4", "blackhole" }, "punt_equal_metric" },
	{ "equal metrics, a preferred set",
	  { "dev 3", "via 4 via 5 pref 3" },
	  "hashed via 4*1 via 5*1" },
	{ "equal metrics, a reject later", { "dev 3", "unreachable" }, "one dev 3" },
	{ "equal metrics, a reject in between",
	  { "dev 3", "blackhole", "dev 4" },
	  "first dev 3 dev 4" },
	{ "equal metrics, unreachable first", { "unreachable", "dev 3" }, "pass_unreachable" },
	{ "equal metrics, blackhole first", { "blackhole", "dev 3" }, "punt_equal_metric" },
	{ "equal metrics, throw first", { "throw", "dev 3" }, "punt_equal_metric" },
	{ "equal metrics, a blackhole first but without carrier behind",
	  { "blackhole", "dev 7" },
	  "drop_blackhole" },
	{ "equal metrics, blackhole first, the other disliked",
	  { "blackhole", "dev 3 pref 1" },
	  "drop_blackhole" },
	{ "equal metrics, an object", { "dev 3", "nhid 10 via 4" }, "punt_equal_metric" },
	{ "equal metrics, a disliked object", { "dev 3", "nhid 10 pref 1" }, "punt_equal_metric" },
	{ "equal metrics, local later", { "dev 3", "local dev 4" }, "first dev 3 dev 4" },
	{ "equal metrics, an encapsulation later",
	  { "dev 3", "dev 4 encap" },
	  "first dev 3 dev 4" },
	{ "equal metrics, what is not known later",
	  { "dev 3", "dev 4 pref 1 unknown" },
	  "punt_equal_metric" },
	{ "equal metrics, an encapsulation first", { "dev 3 encap", "dev 4" }, "punt_encap" },
	{ "equal metrics, devices unknown", { "dev 3", "" }, "punt_equal_metric" },
	{ "equal metrics, device 0", { "dev 3", "dev 0" }, "punt_equal_metric" },
	{ "equal metrics, by a VRF", { "dev 3", "dev 9" }, "punt_equal_metric" },
	{ "equal metrics, by a VRF first", { "dev 9", "dev 3" }, "first dev 9 dev 3" },
	{ "equal metrics, hops cut off", { "dev 3", "via 4 truncated" }, "punt_equal_metric" },
	{ "equal metrics, the first expires",
	  { "dev 3 expires 9", "dev 4" },
	  "first dev 3 dev 4 expires 9" },
	{ "equal metrics, the second expires",
	  { "dev 3 expires 9", "dev 4 expires 8" },
	  "first dev 3 dev 4 expires 8" },
	{ "equal metrics, one device, the second expires",
	  { "dev 3", "via 3 expires 8" },
	  "one dev 3" },
	{ "equal metrics, expiry unknown", { "dev 3", "dev 4 expires 0" }, "punt_equal_metric" },
	{ "equal metrics, advertised", { "dev 3", "via 4 proto 9 expires 9 pref 1" }, "one dev 3" },
	{ "equal metrics, advertised without end",
	  { "dev 3", "via 4 proto 9" },
	  "first dev 3 via 4" },
};

static const char *result(struct world *world, uint32_t table, const char *dst)
{
	static char text[WORLD_TEXT];

	world_describe(world, table, dst, text);
	return text;
}

/* How the routes got into the RIB, and whether the kernel's own table is read. */
enum how { ANNOUNCED, DUMPED, UNREAD };

static void check_row(enum how how, const struct row *row)
{
	struct world *world = world_new(true);
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;
	char text[256];

	world->view.kernel_read = how != UNREAD;
	for (size_t i = 0; i < ARRAY_SIZE(row->routes) && row->routes[i]; i++) {
		snprintf(text, sizeof(text), "2001:db8::/32 %s", row->routes[i]);
		world_parse(text, &route, hops);
		if (how == DUMPED)
			assert_int_equal(rib_add(world->rib, &route, 0, &(bool){ 0 }),
					 !route.next_hop_id && route.n_hops > 1 ? -EINPROGRESS : 0);
		else
			world_add(world, text);
	}
	if (strcmp(result(world, RT_TABLE_MAIN, "2001:db8::/32"), row->result) != 0)
		fail_msg("%s: %s", row->what, result(world, RT_TABLE_MAIN, "2001:db8::/32"));
	world_free(world);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(ANNOUNCED, &rows[i]);
}

/* A dump may be incomplete. What changes without a message is left to the kernel if nobody reads.
 */
static void test_incomplete(void **state)
{
	static const struct {
		enum how how;
		struct row row;
	} incomplete[] = {
		{ DUMPED, { "a gateway", { "via 3" }, "one via 3" } },
		{ DUMPED, { "a set", { "via 3 via 4" }, "punt_equal_metric" } },
		{ DUMPED, { "an object", { "nhid 10 via 3 via 4" }, "object 10" } },
		{ DUMPED,
		  { "no carrier", { "via 7 dev 7", "metric 2000 dev 3" }, "punt_equal_metric" } },
		{ DUMPED,
		  { "a set of a higher metric",
		    { "dev 3", "metric 2000 via 3 via 4" },
		    "one dev 3" } },
		{ UNREAD, { "a lifetime", { "via 3 expires 9" }, "punt_expires" } },
		{ UNREAD, { "advertised", { "via 3 proto 9" }, "punt_expires" } },
		{ UNREAD, { "equal metrics", { "dev 3", "dev 4 expires 9" }, "punt_expires" } },
		{ UNREAD,
		  { "equal metrics, advertised",
		    { "dev 3", "via 4 proto 9 pref 1" },
		    "punt_expires" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(incomplete); i++)
		check_row(incomplete[i].how, &incomplete[i].row);
}

/* "2001:db8::/32" with devices 100 and so on at one metric. */
static const char *result_of_equals(unsigned int n)
{
	struct world *world = world_new(false);
	static char text[64];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "2001:db8::/32 dev %u", 100 + i);
		world_add(world, text);
	}
	snprintf(text, sizeof(text), "%.20s", result(world, RT_TABLE_MAIN, "2001:db8::/32"));
	world_free(world);
	return text;
}

static void test_many_equals(void **state)
{
	assert_string_equal(result_of_equals(SIXLANE_MAX_EQUAL_METRIC), "first dev 100 dev 10");
	assert_string_equal(result_of_equals(SIXLANE_MAX_EQUAL_METRIC + 1), "punt_equal_metric");
}

/* Hops that are unlike are routes of their own to fib6. */
static void test_unlike(void **state)
{
	struct world *world = world_new(false);
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;

	world_parse("2001:db8::/32 via 3 via 4", &route, hops);
	assert_int_equal(rib_put(world->rib, RT_TABLE_MAIN, &route.dst, &route, 1), 0);
	assert_string_equal(result(world, 254, "2001:db8::/32"), "hashed via 3*1 via 4*1");
	route.unlike = true;
	assert_int_equal(rib_put(world->rib, RT_TABLE_MAIN, &route.dst, &route, 1), 0);
	assert_string_equal(result(world, 254, "2001:db8::/32"), "punt_equal_metric");
	world_free(world);
}

/* --- step by step ---------------------------------------------------------------------------- */

/*
 * Routes that are added, or deleted after "del", each with its table; "new": of an empty RIB; "main
 * alone": without local laid over it; "all": everything is resolved again. Then the target of a
 * prefix in a table, or all prefixes that a change there reaches ("visit").
 */
struct step {
	const char *changes, *question, *answer;
};

static const struct step steps[] = {
	/* fib6 may have cached any route with a source at the object's hop */
	{ "new; 2001:db8::/32 nhid 10 via 3; 2001:db9::/32 via 4 src", "254 2001:db8::/32",
	  "object 10" },
	{ "2001:dba::/32 nhid 11 via 4 src", "254 2001:db8::/32", "object 10 src" },
	{ "", "254 2001:dba::/32", "object 11 src" },
	{ "del 2001:dba::/32 nhid 11 via 4 src", "254 2001:db8::/32", "object 10 src" },

	/* tables */
	{ "new; 2001:db8::/32 dev 3 table 100; local 2001:db8::/32 table 255 dev 3",
	  "100 2001:db8::/32", "one dev 3" },
	{ "", "255 2001:db8::/32", "pass_local" },
	{ "", "254 2001:db8::/32", "pass_local" },
	{ "", "100 2001:db8:1::/48", "-" },
	{ "", "101 2001:db8::/32", "-" },

	/* local before main */
	{ "new; 2001:db8::/64 dev 3; local 2001:db8::1/128 table 255 dev 3; "
	  "local 2001:db9::/32 table 255 dev 1; 2001:db9:1::/48 dev 3; "
	  "multicast 2001:dba::/32 table 255 dev 7; 2001:dba::/32 dev 3",
	  "254 2001:db8::/64", "one dev 3" },
	{ "", "254 2001:db8::1/128", "pass_local" },
	{ "", "254 2001:db9::/32", "pass_local" },
	{ "", "254 2001:db9:1::/48", "pass_local" },
	{ "", "254 2001:db9:2::/48", "-" },
	{ "", "254 2001:dba::/32", "one dev 3" },
	{ "", "254 2001:dbb::/32", "-" },

	/* main by itself */
	{ "new; main alone; local 2001:db9::/32 table 255 dev 1; 2001:db9:1::/48 dev 3",
	  "254 2001:db9:1::/48", "one dev 3" },
	{ "", "254 2001:db9::/32", "-" },
	{ "", "255 2001:db9::/32", "pass_local" },

	/* a throw in local */
	{ "new; throw 2001:db8::/32 table 255; 2001:db8:1::/48 dev 3", "254 2001:db8::/32", "-" },
	{ "", "254 2001:db8:1::/48", "one dev 3" },
	/* a blackhole above does not reach what is thrown, and main may have a route above both */
	{ "blackhole 2001::/16 table 255", "254 2001:db8::/32", "punt_route" },
	{ "", "254 2001:db8:1::/48", "one dev 3" },
	{ "", "254 2001::/16", "drop_blackhole" },
	{ "", "255 2001:db8::/32", "pass_throw" },
	{ "throw 2001:dc0::/32", "254 2001:dc0::/32", "drop_blackhole" },

	/* source-specific routes below local, then in local */
	{ "new; 2001:db8::/32 from 3000::/16 dev 3; 2001:db9::/32 from 3000::/16 dev 3; "
	  "local 2001:db9::/32 table 255 dev 3",
	  "254 2001:db8::/32", "sources ::/0 pass_no_route; 3000::/16 one dev 3 @32;" },
	{ "", "254 2001:db9::/32", "pass_local" },
	{ "2001::/16 from 3000::/16 table 255 dev 3", "254 2001:db8::/32", "punt_source_route" },
	{ "", "254 2001:db9::/32", "punt_source_route" },
	{ "", "254 2001::/16", "punt_source_route" },
	{ "", "255 2001:db9::/32", "pass_local" },

	/* a full table has no more than this to do */
	{ "new; ::/0 dev 3; 2001:db8::/32 dev 3; 2001:db8:1::/48 dev 7", "visit 254 ::/0",
	  "254 ::/0" },
	{ "", "visit 254 2001:db8::/32", "254 2001:db8::/32" },
	{ "", "visit 254 2001:dead::/32", "254 2001:dead::/32" },
	{ "", "visit 100 ::/0", "100 ::/0" },
	{ "local 2001:db8::1/128 table 255 dev 3", "visit 255 2001:db8::1/128",
	  "255 2001:db8::1/128 254 2001:db8::1/128" },
	{ "", "visit 255 2001:db8::/32",
	  "255 2001:db8::/32 254 2001:db8:1::/48 254 2001:db8::1/128 254 2001:db8::/32" },
	{ "", "visit 255 2001::/16",
	  "255 2001::/16 254 2001:db8:1::/48 254 2001:db8::1/128 254 2001:db8::/32 254 2001::/16" },
	{ "main alone", "visit 255 2001:db8::/32", "255 2001:db8::/32" },

	/* what may fall through to a prefix, what cannot, and the cover, which has no sources */
	{ "new; 2001:db8::/32 dev 3; 2001:db8:1::/48 from 3000::/16 dev 3; 2001:db8:2::/48 dev 7; "
	  "2001:db8:3::/48 dev 3; 2001:db8:2::/48 dev 7 table 100",
	  "visit 254 2001:db8::/32", "254 2001:db8:2::/48 254 2001:db8:1::/48 254 2001:db8::/32" },
	{ "", "visit 254 2001:db8:3::/48", "254 2001:db8:3::/48" },
	{ "", "visit 100 2001:db8::/32", "100 2001:db8::/32" },
	/* a route inside one that is by source only; then another, which changes nothing more */
	{ "2001:db8:1:1::/64 dev 3", "visit 254 2001:db8:1:1::/64",
	  "254 2001:db8:1:1::/64 254 2001:db8:1::/48" },
	{ "2001:db8:1:2::/64 dev 3", "visit 254 2001:db8:1:2::/64", "254 2001:db8:1:2::/64" },
	/* nor with a plain route beside the sources */
	{ "2001:db8:4::/48 from 3000::/16 dev 3; 2001:db8:4::/48 dev 3; 2001:db8:4:1::/64 dev 3",
	  "visit 254 2001:db8:4:1::/64", "254 2001:db8:4:1::/64" },
	/* the last source is gone: once more everything that fell through */
	{ "del 2001:db8:4::/48 from 3000::/16 dev 3; del 2001:db8:1::/48 from 3000::/16 dev 3",
	  "visit 254 2001:db8:1::/48", "254 2001:db8:1::/48" },
	{ "", "visit 254 2001:db8::/32", "254 2001:db8:2::/48 254 2001:db8::/32" },
	{ "all", "visit 254 2001:db8::/32", "254 2001:db8::/32" },
};

static void visit(struct world *world, uint32_t table, const char *dst, char text[WORLD_TEXT])
{
	const struct prefix prefix = world_prefix(dst);
	char buf[PREFIX_STRLEN];
	size_t at = 0;

	world_update(world, table, &prefix);
	for (size_t i = 0; i < world->n_visited; i++)
		at += (size_t)snprintf(text + at, WORLD_TEXT - at, "%s%u %s", i ? " " : "",
				       world->visited[i].table,
				       prefix_format(&world->visited[i].dst, buf));
}

static void change(struct world **world, const char *changes)
{
	char copy[1024], *left, *part;

	snprintf(copy, sizeof(copy), "%s", changes);
	for (part = strtok_r(copy, ";", &left); part; part = strtok_r(NULL, ";", &left)) {
		part += *part == ' ';
		if (!strcmp(part, "new")) {
			world_free(*world);
			*world = world_new(true);
		} else if (!strcmp(part, "main alone")) {
			(*world)->view.local_first = false; /* the rules changed */
		} else if (!strcmp(part, "all")) {
			world_resolve_all(*world);
		} else if (!strncmp(part, "del ", 4)) {
			world_del(*world, part + 4);
		} else {
			world_add(*world, part);
		}
	}
}

static void test_steps(void **state)
{
	struct world *world = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		bool visits = !strncmp(steps[i].question, "visit ", 6);
		const char *table = steps[i].question + (visits ? 6 : 0);
		const char *dst = strchr(table, ' ') + 1;
		char text[WORLD_TEXT] = "";

		change(&world, steps[i].changes);
		if (visits)
			visit(world, (uint32_t)atoi(table), dst, text);
		else
			world_describe(world, (uint32_t)atoi(table), dst, text);
		if (strcmp(text, steps[i].answer) != 0)
			fail_msg("%s, %s: %s", steps[i].changes, steps[i].question, text);
	}
	world_free(world);
}

static void test_each(void **state)
{
	struct world *world = world_new(true);
	const struct prefix discarded = world_prefix("2001:db9::/32");

	world_add(world, "local 2001:db8::1/128 table 255 dev 3");
	world_resolve_all(world); /* main has no route at all */
	assert_int_equal(world->n_visited, 2);
	world_add(world, "2001:db8::1/128 dev 3");
	world_add(world, "2001:db8::/32 dev 3");
	world_add(world, "2001:db8::/32 dev 3 table 7");
	world_resolve_all(world);
	assert_int_equal(world->n_visited, 4);
	assert_int_equal(world->n_entries, 4);
	world_add(world, "blackhole 2001:db9::/32 table 255");
	world_resolve_all(world);
	assert_int_equal(world->n_entries, 6);
	/* Within main, the local table needs no entries of its own; apart from it, it does. */
	world->view.local_within = true;
	resolve_each_in(world->resolve, 255, world_resolved, world);
	assert_int_equal(world->n_entries, 4);
	assert_non_null(world_find(world, 254, &discarded.addr));
	world->view.local_within = false;
	resolve_each_in(world->resolve, 255, world_resolved, world);
	assert_int_equal(world->n_entries, 6);
	/* The rules do not ask local first any more. */
	world->view.local_first = false;
	world_resolve_all(world);
	assert_int_equal(world->n_entries, 5);
	assert_null(world_find(world, 254, &discarded.addr));
	world_free(world);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	   cmocka_unit_test(test_many_equals),
		cmocka_unit_test(test_incomplete), cmocka_unit_test(test_unlike),
		cmocka_unit_test(test_steps),	   cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
