// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RIB against what a kernel announces: each script is what `ip -6 -d monitor route` showed
 * (Linux 6.18) for the requests named beside the steps, and what `ip -6 route show` had then.
 *
 * A state reads "50 a1 b2; 60 -1 mtu 1300": metric, then hops, each a gateway (its last digit;
 * "-": none) and a device, then what else there is; routes in the order of fib6.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/rib/rib.h"
#include "../../user/util.h"

/* What the kernel puts into nlmsg_flags of announcements. */
#define CREATE (NLM_F_CREATE | NLM_F_EXCL)
#define MORE NLM_F_CREATE
#define APPEND (NLM_F_CREATE | NLM_F_APPEND)
#define REPLACE NLM_F_REPLACE
#define DUMP 0
#define DEL 0x8000 /* RTM_DELROUTE */

#define VIA(gw, dev)                                                                   \
	{                                                                              \
		.gateway.bytes = { 0xfd, [15] = (gw) }, .ifindex = (dev), .weight = 1, \
		.has_gateway = true                                                    \
	}
#define DEV(dev)                              \
	{                                     \
		.ifindex = (dev), .weight = 1 \
	}

struct step {
	const char *request; /* for the reader */
	uint16_t flags;
	int rc;
	const char *after; /* the state; NULL: as before, and nothing was reported */
	uint32_t metric, nhid, mtu;
	uint8_t type, protocol, src_len;
	bool expires, encap;
	uint16_t n_hops;
	struct route_hop hops[4];
};

struct world {
	struct rib *rib;
	struct prefix dst;
	unsigned int changes;
};

static void note_change(void *ctx, uint32_t table, const struct prefix *dst)
{
	struct world *world = ctx;

	assert_int_equal(table, RT_TABLE_MAIN);
	assert_true(prefix_equal(dst, &world->dst));
	world->changes++;
}

static void open_world(struct world *world)
{
	memset(world, 0, sizeof(*world));
	assert_int_equal(prefix_parse("2001:db8:1::/48", &world->dst), 0);
	world->rib = rib_new(note_change, world);
	assert_non_null(world->rib);
}

static void format_route(FILE *out, const struct rib_route *route)
{
	fprintf(out, "%u", route->metric);
	if (route->type == RTN_BLACKHOLE)
		fputs(" blackhole", out);
	if (route->next_hop_id)
		fprintf(out, " #%u", route->next_hop_id);
	for (uint16_t i = 0; i < route->n_hops; i++) {
		const struct route_hop *hop = &route->hops[i];

		if (hop->has_gateway)
			fprintf(out, " %x%u", hop->gateway.bytes[15], hop->ifindex);
		else
			fprintf(out, " -%u", hop->ifindex);
	}
	if (route->mtu)
		fprintf(out, " mtu %u", route->mtu);
	if (route->src.len)
		fprintf(out, " from /%u", route->src.len);
	if (route->truncated)
		fputs(" truncated", out);
	if (route->untold)
		fputs(" untold", out);
}

static void assert_state(const struct world *world, const char *request, const char *expected)
{
	const struct rib_dest *dest = rib_find(world->rib, RT_TABLE_MAIN, &world->dst);
	char *text = NULL;
	size_t n = 0, count = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	for (const struct rib_route *r = dest ? dest->routes : NULL; r; r = r->next) {
		fputs(r == dest->routes ? "" : "; ", out);
		format_route(out, r);
		count += !r->untold;
	}
	fclose(out);
	if (strcmp(text, expected))
		fail_msg("%s: has \"%s\", should have \"%s\"", request, text, expected);
	free(text);
	assert_int_equal(rib_routes(world->rib), count);
}

static int apply(struct world *world, const struct step *step)
{
	struct route route = {
		.dst = world->dst,
		.table = RT_TABLE_MAIN,
		.metric = step->metric ? step->metric : 50,
		.next_hop_id = step->nhid,
		.mtu = step->mtu,
		.preference = 2,
		.type = step->type ? step->type : RTN_UNICAST,
		.protocol = step->protocol ? step->protocol : RTPROT_BOOT,
		.expires = step->expires,
		.encap = step->encap,
		.n_hops = step->n_hops,
		.hops = step->hops,
	};

	if (step->src_len) {
		route.src.len = step->src_len;
		route.src.addr.bytes[0] = 0x20;
	}
	return step->flags & DEL ? rib_del(world->rib, &route)
				 : rib_add(world->rib, &route, step->flags);
}

static void play(struct world *world, const struct step *steps, size_t n)
{
	const char *state = "";

	for (size_t i = 0; i < n; i++) {
		unsigned int before = world->changes;
		int rc = apply(world, &steps[i]);

		if (rc != steps[i].rc)
			fail_msg("%s: returns %d, should be %d", steps[i].request, rc, steps[i].rc);
		if (world->changes - before != (steps[i].after != NULL))
			fail_msg("%s: reported %u times", steps[i].request,
				 world->changes - before);
		if (steps[i].after)
			state = steps[i].after;
		assert_state(world, steps[i].request, state);
		if (steps[i].flags & DEL)
			continue;
		/* The same message again, or a change of offload flags only. */
		before = world->changes;
		apply(world, &steps[i]);
		assert_int_equal(world->changes, before);
		assert_state(world, "repeated", state);
	}
}

#define SCRIPT(name, ...)                                           \
	static void name(void **state)                              \
	{                                                           \
		static const struct step steps[] = { __VA_ARGS__ }; \
		struct world world;                                 \
                                                                    \
		(void)state;                                        \
		open_world(&world);                                 \
		play(&world, steps, ARRAY_SIZE(steps));             \
		rib_free(world.rib);                                \
	}

SCRIPT(test_multipath,
       { "add nexthop via a dev 1 nexthop via a dev 2", MORE, 0, "50 a1 a2", .n_hops = 2,
	 .hops = { VIA(0xa, 1), VIA(0xa, 2) } },
       { "append via b dev 1", APPEND, 0, "50 a1 a2 b1", .n_hops = 3,
	 .hops = { VIA(0xb, 1), VIA(0xa, 1), VIA(0xa, 2) } },
       { "del via a dev 1", DEL, 0, "50 a2 b1", .n_hops = 1, .hops = { VIA(0xa, 1) } },
       { "append nexthop via c dev 1 nexthop via c dev 2", APPEND, -EINPROGRESS,
	 "50 a2 b1 c1 c2; 50 untold", .n_hops = 4,
	 .hops = { VIA(0xa, 2), VIA(0xb, 1), VIA(0xc, 1), VIA(0xc, 2) } },
       { "replace nexthop via d dev 1 nexthop via d dev 2", REPLACE, -EINPROGRESS,
	 "50 d1 d2; 50 untold", .n_hops = 2, .hops = { VIA(0xd, 1), VIA(0xd, 2) } },
       { "replace nexthop via d dev 2 nexthop via d dev 1", REPLACE, -EINPROGRESS,
	 "50 d2 d1; 50 untold", .n_hops = 2, .hops = { VIA(0xd, 2), VIA(0xd, 1) } },
       { "replace via e dev 1", REPLACE, -EINPROGRESS, "50 e1; 50 untold", .n_hops = 1,
	 .hops = { VIA(0xe, 1) } },
       { "append via f dev 1", APPEND, -EINPROGRESS, "50 e1 f1; 50 untold", .n_hops = 2,
	 .hops = { VIA(0xf, 1), VIA(0xe, 1) } },
       { "add via e dev 2 metric 40", CREATE, 0, "40 e2; 50 e1 f1; 50 untold", .metric = 40,
	 .n_hops = 1, .hops = { VIA(0xe, 2) } },
       { "del metric 40: promotion is not announced", DEL, 0, "50 e1 f1; 50 untold", .metric = 40,
	 .n_hops = 1, .hops = { VIA(0xe, 2) } },
       { "del metric 50: one message for all", DEL, -EINPROGRESS, "50 untold", .n_hops = 2,
	 .hops = { VIA(0xe, 1), VIA(0xf, 1) } })

SCRIPT(test_delete_hop_by_hop,
       { "add nexthop via a dev 1 nexthop via b dev 2", MORE, 0, "50 a1 b2", .n_hops = 2,
	 .hops = { VIA(0xa, 1), VIA(0xb, 2) } },
       { "del nexthop via a dev 1 nexthop via b dev 2, 1st", DEL, 0, "50 b2", .n_hops = 1,
	 .hops = { VIA(0xa, 1) } },
       { "2nd", DEL, 0, "", .n_hops = 1, .hops = { VIA(0xb, 2) } },
       { "once more", DEL, -EAGAIN, NULL, .n_hops = 1, .hops = { VIA(0xb, 2) } })

SCRIPT(test_device_routes_of_one_metric,
       { "add dev 1", CREATE, 0, "50 -1", .n_hops = 1, .hops = { DEV(1) } },
       { "append dev 2", APPEND, 0, "50 -1; 50 -2", .n_hops = 1, .hops = { DEV(2) } },
       { "del dev 1", DEL, 0, "50 -2", .n_hops = 1, .hops = { DEV(1) } },
       { "append dev 1", APPEND, 0, "50 -2; 50 -1", .n_hops = 1, .hops = { DEV(1) } },
       { "replace dev 3: the first one goes, which of two a replay could not tell", REPLACE,
	 -EAGAIN, "50 -3; 50 -1", .n_hops = 1, .hops = { DEV(3) } },
       { "replace dev 1: fib6 has it twice", REPLACE, -EAGAIN, "50 -1; 50 -1", .n_hops = 1,
	 .hops = { DEV(1) } },
       { "del dev 1", DEL, 0, "50 -1", .n_hops = 1, .hops = { DEV(1) } },
       { "del dev 1", DEL, 0, "", .n_hops = 1, .hops = { DEV(1) } })

SCRIPT(test_replace_device_route,
       { "add dev 1", CREATE, 0, "50 -1", .n_hops = 1, .hops = { DEV(1) } },
       { "add dev 1 metric 60", CREATE, 0, "50 -1; 60 -1", .metric = 60, .n_hops = 1,
	 .hops = { DEV(1) } },
       { "replace dev 2", REPLACE, 0, "50 -2; 60 -1", .n_hops = 1, .hops = { DEV(2) } },
       { "replace dev 2 mtu lock 1300", REPLACE, 0, "50 -2 mtu 1300; 60 -1", .n_hops = 1,
	 .mtu = 1300, .hops = { DEV(2) } })

/* A set and a device route: a dump of the first four steps would show a1 a2 alone. */
SCRIPT(test_set_beside_device_route,
       { "append via a dev 1", APPEND, 0, "50 a1", .n_hops = 1, .hops = { VIA(0xa, 1) } },
       { "append dev 2", APPEND, 0, "50 a1; 50 -2", .n_hops = 1, .hops = { DEV(2) } },
       { "append via a dev 2", APPEND, 0, "50 a1 a2; 50 -2", .n_hops = 2,
	 .hops = { VIA(0xa, 2), VIA(0xa, 1) } },
       { "del via a dev 1", DEL, 0, "50 a2; 50 -2", .n_hops = 1, .hops = { VIA(0xa, 1) } },
       { "replace dev 1: the first of its kind", REPLACE, 0, "50 a2; 50 -1", .n_hops = 1,
	 .hops = { DEV(1) } },
       { "replace via b dev 1", REPLACE, 0, "50 b1; 50 -1", .n_hops = 1, .hops = { VIA(0xb, 1) } })

SCRIPT(test_replace_the_other_kind,
       { "append via a dev 1", APPEND, 0, "50 a1", .n_hops = 1, .hops = { VIA(0xa, 1) } },
       { "append via a dev 2", APPEND, 0, "50 a1 a2", .n_hops = 2,
	 .hops = { VIA(0xa, 2), VIA(0xa, 1) } },
       { "replace dev 1: all siblings go", REPLACE, 0, "50 -1", .n_hops = 1, .hops = { DEV(1) } },
       { "replace nexthop via d dev 1 nexthop via d dev 2", REPLACE, 0, "50 d1 d2", .n_hops = 2,
	 .hops = { VIA(0xd, 1), VIA(0xd, 2) } })

SCRIPT(test_reject,
       { "add blackhole", CREATE, 0, "50 blackhole -9", .type = RTN_BLACKHOLE, .n_hops = 1,
	 .hops = { DEV(9) } },
       { "del", DEL, 0, "", .type = RTN_BLACKHOLE, .n_hops = 1, .hops = { DEV(9) } })

SCRIPT(test_next_hop_objects,
       { "add nhid 10", CREATE, 0, "50 #10 a1", .nhid = 10, .n_hops = 1, .hops = { VIA(0xa, 1) } },
       { "append nhid 11", APPEND, 0, "50 #10 a1; 50 #11 a2", .nhid = 11, .n_hops = 1,
	 .hops = { VIA(0xa, 2) } },
       { "append via b dev 1", APPEND, 0, "50 #10 a1; 50 #11 a2; 50 b1", .n_hops = 1,
	 .hops = { VIA(0xb, 1) } },
       { "nexthop replace id 11 via b dev 2", REPLACE, -EAGAIN, "50 #10 a1; 50 #11 b2; 50 b1",
	 .nhid = 11, .n_hops = 1, .hops = { VIA(0xb, 2) } },
       { "replace nhid 12", REPLACE, -EAGAIN, "50 #12 a1 b2; 50 #11 b2; 50 b1", .nhid = 12,
	 .n_hops = 2, .hops = { VIA(0xa, 1), VIA(0xb, 2) } },
       { "nexthop del id 11", DEL, 0, "50 #12 a1 b2; 50 b1", .nhid = 11, .n_hops = 1,
	 .hops = { VIA(0xb, 2) } },
       { "… and the group that was left with it", DEL, 0, "50 b1", .nhid = 12, .n_hops = 1,
	 .hops = { VIA(0xb, 2) } },
       { "without compat mode: add nhid 10 metric 60", CREATE, 0, "50 b1; 60 #10", .metric = 60,
	 .nhid = 10 },
       { "del nhid 10 metric 60", DEL, 0, "50 b1", .metric = 60, .nhid = 10 })

/* ip link del dev 2, with dev 1 down: the whole set goes, hop by hop. */
SCRIPT(test_device_goes,
       { "add nexthop via a dev 1 nexthop via a dev 2", MORE, 0, "50 a1 a2", .n_hops = 2,
	 .hops = { VIA(0xa, 1), VIA(0xa, 2) } },
       { "append via b dev 1 mtu lock 1300: announced with the new hop's mtu", APPEND, -EINPROGRESS,
	 "50 a1 a2 b1 mtu 1300; 50 untold", .n_hops = 3, .mtu = 1300,
	 .hops = { VIA(0xb, 1), VIA(0xa, 1), VIA(0xa, 2) } },
       { "1st", DEL, -EINPROGRESS, "50 a2 b1 mtu 1300; 50 untold", .n_hops = 1,
	 .hops = { VIA(0xa, 1) } },
       { "2nd: b's own mtu is not known", DEL, -EINPROGRESS, "50 b1 mtu 1300 truncated; 50 untold",
	 .n_hops = 1, .hops = { VIA(0xa, 2) } },
       { "a dump tells", DUMP, 0, "50 untold; 50 b1 mtu 1300", .n_hops = 1, .mtu = 1300,
	 .hops = { VIA(0xb, 1) } },
       { "3rd", DEL, -EINPROGRESS, "50 untold", .n_hops = 1, .mtu = 1300, .hops = { VIA(0xb, 1) } })

/* Several hops appended at once are announced with the attributes of the first that was there. */
SCRIPT(test_append_several,
       { "add via a dev 1 mtu lock 1300", CREATE, 0, "50 a1 mtu 1300", .n_hops = 1, .mtu = 1300,
	 .hops = { VIA(0xa, 1) } },
       { "append nexthop via b dev 1 nexthop via c dev 1", APPEND, -EINPROGRESS,
	 "50 a1 b1 c1 mtu 1300; 50 untold", .n_hops = 3, .mtu = 1300,
	 .hops = { VIA(0xa, 1), VIA(0xb, 1), VIA(0xc, 1) } },
       { "del via a dev 1", DEL, -EINPROGRESS, "50 b1 c1 mtu 1300; 50 untold", .n_hops = 1,
	 .mtu = 1300, .hops = { VIA(0xa, 1) } },
       { "del via b dev 1", DEL, -EINPROGRESS, "50 c1 mtu 1300 truncated; 50 untold", .n_hops = 1,
	 .hops = { VIA(0xb, 1) } })

/* The kernel's own routes from advertisements never form a set; those of a daemon do. */
SCRIPT(test_router_advertisements,
       { "a router", CREATE, 0, "50 a1", .protocol = RTPROT_RA, .expires = true, .n_hops = 1,
	 .hops = { VIA(0xa, 1) } },
       { "another", MORE, 0, "50 a1; 50 b1", .protocol = RTPROT_RA, .expires = true, .n_hops = 1,
	 .hops = { VIA(0xb, 1) } },
       { "the first again, lifetime infinite", MORE, 0, "50 a1; 50 b1", .protocol = RTPROT_RA,
	 .n_hops = 1, .hops = { VIA(0xa, 1) } },
       { "a static one: a set of its own", MORE, 0, "50 a1; 50 b1; 50 c1", .n_hops = 1,
	 .hops = { VIA(0xc, 1) } },
       { "del a", DEL, 0, "50 b1; 50 c1", .protocol = RTPROT_RA, .n_hops = 1,
	 .hops = { VIA(0xa, 1) } },
       { "del c", DEL, 0, "50 b1", .n_hops = 1, .hops = { VIA(0xc, 1) } },
       { "it was a daemon's: b has a sibling", MORE, 0, "50 b1 d1", .protocol = RTPROT_RA,
	 .n_hops = 2, .hops = { VIA(0xb, 1), VIA(0xd, 1) } })

SCRIPT(test_source_specific, { "add dev 1", CREATE, 0, "50 -1", .n_hops = 1, .hops = { DEV(1) } },
       { "add from /48 via a dev 1", CREATE, 0, "50 -1; 50 a1 from /48", .src_len = 48, .n_hops = 1,
	 .hops = { VIA(0xa, 1) } },
       { "add from /32 via a dev 1", CREATE, 0, "50 -1; 50 a1 from /48; 50 a1 from /32",
	 .src_len = 32, .n_hops = 1, .hops = { VIA(0xa, 1) } },
       { "del from /48", DEL, 0, "50 -1; 50 a1 from /32", .src_len = 48, .n_hops = 1,
	 .hops = { VIA(0xa, 1) } })

/* Messages that only make sense if others were lost. */
SCRIPT(test_missed,
       { "del of what is not there", DEL, -EAGAIN, NULL, .n_hops = 1, .hops = { DEV(1) } },
       { "replace of what is not there", REPLACE, -EAGAIN, "50 -1", .n_hops = 1,
	 .hops = { DEV(1) } },
       { "del of another metric", DEL, -EAGAIN, NULL, .metric = 60, .n_hops = 1,
	 .hops = { DEV(1) } },
       { "del of another device", DEL, -EAGAIN, NULL, .n_hops = 1, .hops = { DEV(2) } },
       { "replace by a set", REPLACE, 0, "50 a1 b1", .n_hops = 2,
	 .hops = { VIA(0xa, 1), VIA(0xb, 1) } },
       { "append to a set that lost b", APPEND, -EAGAIN, "50 a1 c1", .n_hops = 2,
	 .hops = { VIA(0xc, 1), VIA(0xa, 1) } },
       { "del of more hops than there are", DEL, -EAGAIN, "", .n_hops = 3,
	 .hops = { VIA(0xa, 1), VIA(0xb, 1), VIA(0xc, 1) } })

/* Encapsulations are not told apart: there may be two, and only a dump tells what is left. */
SCRIPT(test_encapsulation,
       { "add encap seg6 … dev 1", CREATE, 0, "50 -1", .encap = true, .n_hops = 1,
	 .hops = { DEV(1) } },
       { "append encap seg6 … dev 1", APPEND, 0, NULL, .encap = true, .n_hops = 1,
	 .hops = { DEV(1) } },
       { "del", DEL, -EAGAIN, "", .encap = true, .n_hops = 1, .hops = { DEV(1) } })

static struct step device_step(uint16_t flags, uint32_t ifindex, uint32_t mtu)
{
	struct step step = { .flags = flags, .n_hops = 1, .mtu = mtu, .hops = { DEV(ifindex) } };

	return step;
}

static void test_mark_and_sweep(void **state)
{
	struct step one = device_step(MORE, 1, 0), two = device_step(MORE, 2, 0);
	struct world world;

	(void)state;
	open_world(&world);
	assert_int_equal(apply(&world, &one), 0);
	assert_int_equal(apply(&world, &two), 0);
	world.changes = 0;
	rib_mark(world.rib);
	two.flags = DUMP;
	assert_int_equal(apply(&world, &two), 0);
	assert_int_equal(world.changes, 0);
	assert_int_equal(rib_sweep(world.rib), 1);
	assert_int_equal(world.changes, 1);
	assert_state(&world, "swept", "50 -2");
	rib_mark(world.rib);
	assert_int_equal(rib_sweep(world.rib), 1);
	assert_state(&world, "swept", "");
	assert_null(rib_table(world.rib, RT_TABLE_MAIN));
	rib_free(world.rib);
}

/* `replace dev 2` over dev 1 and dev 2 leaves dev 2 twice; a dump shows both. */
static void test_twins_in_a_dump(void **state)
{
	struct step twin = device_step(DUMP, 2, 0), unlike = device_step(DUMP, 2, 1300);
	struct step gone = device_step(DEL, 2, 0);
	struct world world;

	(void)state;
	open_world(&world);
	for (int dump = 0; dump < 2; dump++) {
		rib_mark(world.rib);
		assert_int_equal(apply(&world, &twin), 0);
		assert_int_equal(apply(&world, &unlike), 0);
		assert_int_equal(rib_sweep(world.rib), 0);
		assert_state(&world, "unlike twins", "50 -2; 50 -2 mtu 1300");
	}
	rib_mark(world.rib);
	assert_int_equal(apply(&world, &twin), 0);
	assert_int_equal(apply(&world, &twin), 0);
	assert_int_equal(rib_sweep(world.rib), 1);
	assert_state(&world, "like twins", "50 -2");
	assert_int_equal(apply(&world, &gone), -EAGAIN);
	rib_free(world.rib);
}

/* What fib6 has at the levels that the RIB asks about, and about how many it did. */
struct fib6 {
	const struct world *world;
	const struct level_entry *entries;
	size_t n, asked;
};

static bool fib6_has(const struct route *level, const struct level_sum *known, void *ctx)
{
	struct level_sum sum = { 0 };
	struct fib6 *fib6 = ctx;

	fib6->asked++;
	assert_int_equal(level->table, RT_TABLE_MAIN);
	assert_int_equal(level->metric, 50);
	assert_int_equal(level->src.len, 0);
	assert_true(prefix_equal(&level->dst, &fib6->world->dst));
	for (size_t i = 0; i < fib6->n; i++)
		level_add(&sum, &fib6->entries[fib6->n - 1 - i]);
	return sum.n == known->n && sum.sum == known->sum;
}

/* Returns how many levels were asked about. */
static size_t settle(struct world *world, const struct level_entry *entries, size_t n)
{
	struct fib6 fib6 = { .world = world, .entries = entries, .n = n };

	rib_compare(world->rib, fib6_has, &fib6);
	rib_settle(world->rib);
	return fib6.asked;
}

static struct level_entry hop_entry(uint8_t gateway, uint32_t ifindex)
{
	union sixlane_addr addr = { .bytes = { 0xfd, [15] = gateway } };
	struct level_entry entry = { .ifindex = ifindex, .type = RTN_UNICAST, .preference = 2 };

	if (gateway)
		memcpy(entry.gateway, &addr, sizeof(addr));
	return entry;
}

static void dump(struct world *world, const struct step *steps, size_t n)
{
	rib_mark(world->rib);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(apply(world, &steps[i]), 0);
	rib_sweep(world->rib);
}

#define A_AND_B .n_hops = 2, .hops = { VIA(0xa, 1), VIA(0xb, 2) }

/* fib6 dumps [via a dev 1, dev 2, via b dev 2] as the set alone. */
static void test_untold(void **state)
{
	const struct level_entry in_fib6[] = { hop_entry(0xa, 1), hop_entry(0xb, 2),
					       hop_entry(0, 2) };
	const struct step set = { .flags = DUMP, A_AND_B };
	const struct step device = device_step(MORE, 2, 0), gone = device_step(DEL, 2, 0);
	struct world world;

	(void)state;
	open_world(&world);
	assert_int_equal(apply(&world, &device), 0);
	dump(&world, &set, 1);
	assert_state(&world, "known only before", "50 untold; 50 a1 b2");
	world.changes = 0;
	assert_int_equal(settle(&world, in_fib6, 3), 1);
	assert_state(&world, "one more", "50 untold; 50 a1 b2");
	assert_int_equal(rib_untold(world.rib), 1);
	assert_int_equal(world.changes, 0);
	assert_int_equal(apply(&world, &gone), -EINPROGRESS);
	assert_int_equal(settle(&world, in_fib6, 2), 1);
	assert_state(&world, "none more", "50 a1 b2");
	assert_int_equal(rib_untold(world.rib), 0);
	assert_int_equal(world.changes, 1);
	assert_int_equal(settle(&world, in_fib6, 3), 0);
	rib_free(world.rib);
}

static struct level_entry unlike(struct level_entry entry, uint32_t mtu, uint8_t type,
				 uint8_t preference, uint8_t expires)
{
	entry.mtu = mtu;
	entry.type = type;
	entry.preference = preference;
	entry.expires = expires;
	return entry;
}

/* Each thing that may be otherwise in fib6. */
static void test_what_settles(void **state)
{
	const struct level_entry a = hop_entry(0xa, 1), b = hop_entry(0xb, 2);
	const struct level_entry object = { .next_hop_id = 10, .preference = 2 };
	const struct {
		struct level_entry entries[4];
		size_t n;
		bool settles;
	} cases[] = {
		{ { a, b, object }, 3, true },
		{ { b, object, a }, 3, true },
		{ { a, b }, 2, false },
		{ { a, a, object }, 3, false },
		{ { a, object }, 2, false },
		{ { a }, 0, false },
		{ { a, b, object, hop_entry(0, 3) }, 4, false },
		{ { a, hop_entry(0xb, 1), object }, 3, false },
		{ { a, hop_entry(0xc, 2), object }, 3, false },
		{ { a, unlike(b, 1300, RTN_UNICAST, 2, 0), object }, 3, false },
		{ { a, unlike(b, 0, RTN_LOCAL, 2, 0), object }, 3, false },
		{ { a, unlike(b, 0, RTN_UNICAST, 3, 0), object }, 3, false },
		{ { a, unlike(b, 0, RTN_UNICAST, 2, 1), object }, 3, false },
		{ { a, b, { .next_hop_id = 11, .preference = 2 } }, 3, false },
	};
	/* In compatibility mode an object's hops are told, too. */
	const struct step steps[] = {
		{ .flags = DUMP, A_AND_B },
		{ .flags = DUMP, .nhid = 10, .n_hops = 1, .hops = { VIA(0xe, 1) } },
		{ .flags = DUMP, .metric = 60, .n_hops = 1, .hops = { DEV(7) } },
	};
	struct world world;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		open_world(&world);
		dump(&world, steps, ARRAY_SIZE(steps));
		assert_int_equal(settle(&world, cases[i].entries, cases[i].n), 1);
		assert_state(&world, "asked",
			     cases[i].settles ? "50 a1 b2; 50 #10 e1; 60 -7"
					      : "50 untold; 50 a1 b2; 50 #10 e1; 60 -7");
		rib_free(world.rib);
	}
}

/* Equal may be what was there before a message that is under way: a replacement of what is hidden.
 */
static void test_messages_under_way(void **state)
{
	const struct level_entry in_fib6[] = { hop_entry(0xa, 1), hop_entry(0xb, 2) };
	const struct step set = { .flags = DUMP, A_AND_B };
	const struct step replaced = device_step(REPLACE, 3, 0), gone = device_step(DEL, 3, 0);
	struct world world;
	struct fib6 fib6 = { .world = &world, .entries = in_fib6, .n = 2 };

	(void)state;
	open_world(&world);
	dump(&world, &set, 1);
	rib_compare(world.rib, fib6_has, &fib6);
	assert_int_equal(apply(&world, &replaced), -EINPROGRESS);
	assert_int_equal(apply(&world, &gone), -EINPROGRESS);
	rib_settle(world.rib);
	assert_state(&world, "the set is not taken for the one replaced", "50 untold; 50 a1 b2");
	settle(&world, in_fib6, 2);
	assert_state(&world, "nothing under way", "50 a1 b2");
	rib_free(world.rib);
}

/* A second dump tells the set again: what is beside it may still be. */
static void test_untold_after_two_dumps(void **state)
{
	const struct step set = { .flags = DUMP, A_AND_B };
	struct world world;

	(void)state;
	open_world(&world);
	for (int i = 0; i < 2; i++) {
		dump(&world, &set, 1);
		assert_state(&world, "dumped", "50 untold; 50 a1 b2");
	}
	rib_free(world.rib);
}

/* While messages were lost the first went and came again: a dump tells the order of now. */
static void test_order_of_a_dump(void **state)
{
	const struct step one = device_step(DUMP, 1, 0), two = device_step(DUMP, 2, 0);
	const struct step before[] = { one, two }, after[] = { two, one };
	const struct step set = { .flags = DUMP, .n_hops = 1, .hops = { VIA(0xa, 1) } };
	const struct step set_first[] = { set, one }, set_last[] = { one, set };
	struct world world;

	(void)state;
	open_world(&world);
	dump(&world, before, 2);
	assert_state(&world, "before", "50 -1; 50 -2");
	dump(&world, after, 2);
	assert_state(&world, "after", "50 -2; 50 -1");
	dump(&world, set_first, 2);
	assert_state(&world, "a set first", "50 a1; 50 -1");
	dump(&world, set_last, 2);
	assert_state(&world, "a set last", "50 -1; 50 a1");
	rib_free(world.rib);
}

/* Each change of the routes beside which something is untold, and what becomes of that. */
static void test_changes_beside_untold(void **state)
{
	static const struct {
		struct step step;
		const char *then;
		int ret;
	} changes[] = {
		{ { .flags = APPEND,
		    .n_hops = 3,
		    .hops = { VIA(0xc, 3), VIA(0xa, 1), VIA(0xb, 2) } },
		  "50 untold; 50 a1 b2 c3",
		  -EINPROGRESS },
		{ { .flags = REPLACE, .n_hops = 2, .hops = { VIA(0xc, 3), VIA(0xd, 3) } },
		  "50 untold; 50 c3 d3",
		  -EINPROGRESS },
		{ { .flags = DEL, A_AND_B }, "50 untold", -EINPROGRESS },
		{ { .flags = DEL, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2",
		  -EINPROGRESS },
		{ { .flags = MORE, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2; 50 -7",
		  -EINPROGRESS },
		/* of which it is not known whether it replaced the one beside */
		{ { .flags = REPLACE, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2; 50 -7",
		  -EINPROGRESS },
		{ { .flags = MORE, .metric = 60, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2; 60 -7",
		  0 },
	};
	const struct step set = { .flags = DUMP, A_AND_B };
	struct world world;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		open_world(&world);
		dump(&world, &set, 1);
		assert_int_equal(apply(&world, &changes[i].step), changes[i].ret);
		assert_state(&world, "a change", changes[i].then);
		dump(&world, NULL, 0);
		assert_state(&world, "swept", "");
		assert_int_equal(rib_untold(world.rib), 0);
		rib_free(world.rib);
	}
}

/* What is left when a set goes may be nothing, or what stood beside it. */
static void test_untold_alone(void **state)
{
	const struct level_entry other = hop_entry(0, 3);
	const struct step set = { .flags = DUMP, A_AND_B }, gone = { .flags = DEL, A_AND_B };
	struct world world;

	(void)state;
	for (size_t left = 0; left < 2; left++) {
		open_world(&world);
		dump(&world, &set, 1);
		assert_int_equal(apply(&world, &gone), -EINPROGRESS);
		assert_int_equal(settle(&world, &other, left), 1);
		assert_state(&world, "the set is gone", left ? "50 untold" : "");
		rib_free(world.rib);
	}
}

/* One hop is left, whose own attributes nobody told: it is not known, though it looks alike. */
static void test_truncated_does_not_settle(void **state)
{
	const struct level_entry b = hop_entry(0xb, 2);
	const struct step set = { .flags = DUMP, A_AND_B };
	const struct step gone = { .flags = DEL, .n_hops = 1, .hops = { VIA(0xa, 1) } };
	struct world world;

	(void)state;
	open_world(&world);
	dump(&world, &set, 1);
	assert_int_equal(apply(&world, &gone), -EINPROGRESS);
	settle(&world, &b, 1);
	assert_state(&world, "asked", "50 untold; 50 b2 truncated");
	rib_free(world.rib);
}

/* A dump that is taken again on top, because routes changed under it, makes no twins. */
static void test_dump_in_rounds(void **state)
{
	struct route_hop hop = DEV(1);
	struct route route = {
		.table = RT_TABLE_MAIN, .metric = 50, .type = RTN_UNICAST, .n_hops = 1, .hops = &hop
	};
	struct rib *rib = rib_new(NULL, NULL);

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint8_t i = 0; i < 4; i++) {
			route.dst.len = 8 + i / 2;
			hop.ifindex = 1 + i % 2;
			assert_int_equal(rib_add(rib, &route, DUMP), 0);
		}
	}
	assert_int_equal(rib_routes(rib), 4);
	for (uint8_t i = 0; i < 4; i++) {
		route.dst.len = 8 + i / 2;
		hop.ifindex = 1 + i % 2;
		assert_int_equal(rib_del(rib, &route), 0);
	}
	rib_free(rib);
}

/* After a dump of a set, what a single hop of it has is not known. */
static void test_hop_left_after_a_dump(void **state)
{
	struct step set = { .n_hops = 3, .hops = { VIA(0xa, 1), VIA(0xb, 1), VIA(0xc, 1) } };
	struct step gone = { .flags = DEL, .n_hops = 1, .hops = { VIA(0xa, 1) } };
	struct world world;

	(void)state;
	open_world(&world);
	assert_int_equal(apply(&world, &set), 0);
	assert_int_equal(apply(&world, &gone), -EINPROGRESS);
	gone.hops[0].gateway.bytes[15] = 0xb;
	assert_int_equal(apply(&world, &gone), -EINPROGRESS);
	assert_state(&world, "one left", "50 untold; 50 c1 truncated");
	rib_free(world.rib);
}

static void test_truncated_set(void **state)
{
	static struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route = { .table = RT_TABLE_MAIN,
			       .metric = 50,
			       .type = RTN_UNICAST,
			       .truncated = true,
			       .n_hops = ROUTE_MAX_HOPS,
			       .hops = hops };
	struct world world;

	(void)state;
	open_world(&world);
	for (unsigned int i = 0; i < ROUTE_MAX_HOPS; i++)
		hops[i] = (struct route_hop)VIA((uint8_t)i, 1);
	route.dst = world.dst;
	assert_int_equal(rib_add(world.rib, &route, MORE), 0);
	assert_int_equal(world.changes, 1);
	assert_int_equal(rib_add(world.rib, &route, MORE), 0);
	assert_int_equal(world.changes, 1);
	/* One hop goes, and an unseen one, while the set may have others that were never seen. */
	route.n_hops = 1;
	route.truncated = false;
	assert_int_equal(rib_del(world.rib, &route), -EAGAIN);
	hops[0].ifindex = 2;
	assert_int_equal(rib_del(world.rib, &route), -EAGAIN);
	hops[0].ifindex = 1;
	assert_int_equal(rib_routes(world.rib), 1);
	route.n_hops = ROUTE_MAX_HOPS;
	route.truncated = true;
	assert_int_equal(rib_del(world.rib, &route), -EAGAIN);
	assert_int_equal(rib_routes(world.rib), 0);
	rib_free(world.rib);
}

static bool uses_device_2(const struct route *route, void *ctx)
{
	(void)ctx;
	return route->hops[0].ifindex == 2;
}

static void test_prune(void **state)
{
	struct step one = device_step(MORE, 1, 0), two = device_step(MORE, 2, 0);
	struct world world;

	(void)state;
	open_world(&world);
	apply(&world, &one);
	apply(&world, &two);
	assert_int_equal(rib_prune(world.rib, uses_device_2, NULL), 1);
	assert_state(&world, "pruned", "50 -1");
	rib_freep(&world.rib);
	assert_null(world.rib);
}

/* Whether it is worth while to look for the routes of a device, or of an object. */
static void test_users(void **state)
{
	struct route_hop hops[] = { DEV(7), DEV(8) };
	struct route route = {
		.table = RT_TABLE_MAIN, .type = RTN_UNICAST, .n_hops = 1, .hops = hops
	};
	struct rib *rib = rib_new(NULL, NULL);

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_false(rib_may_use_device(rib, 7) || rib_may_use_object(rib, 5));
		assert_int_equal(rib_add(rib, &route, NLM_F_CREATE), 0);
		assert_true(rib_may_use_device(rib, 7));
		/* Replaced by one with an object, whose device says nothing. */
		route.next_hop_id = 5;
		assert_int_equal(rib_add(rib, &route, NLM_F_REPLACE), 0);
		assert_true(rib_may_use_object(rib, 5));
		assert_false(rib_may_use_device(rib, 7));
		assert_int_equal(rib_del(rib, &route), 0);
		route.next_hop_id = 0;
	}
	route.n_hops = 2;
	assert_int_equal(rib_add(rib, &route, NLM_F_CREATE), 0);
	assert_false(rib_may_use_device(rib, 7) || rib_may_use_device(rib, 8));
	rib_free(rib);
}

static void add_table(void *ctx, uint32_t table)
{
	*(uint64_t *)ctx += table;
}

/* Tables are apart, whatever bucket they fall into; cloned routes are no routes. */
static void test_tables(void **state)
{
	static const uint32_t tables[] = { 254, 255, 254 + 64, 0xfffffffe };
	struct route_hop hop = DEV(1);
	struct route route = { .type = RTN_UNICAST, .n_hops = 1, .hops = &hop };
	struct rib *rib = rib_new(NULL, NULL);
	uint64_t sum = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		assert_null(rib_table(rib, tables[i]));
		route.table = tables[i];
		route.cloned = true;
		assert_int_equal(rib_add(rib, &route, 0), 0);
		assert_null(rib_table(rib, tables[i]));
		route.cloned = false;
		assert_int_equal(rib_add(rib, &route, 0), 0);
		assert_int_equal(rib_table(rib, tables[i])->entries, 1);
	}
	assert_int_equal(rib_routes(rib), ARRAY_SIZE(tables));
	rib_each_table(rib, add_table, &sum);
	assert_int_equal(sum, 254ull + 255 + 318 + 0xfffffffe);
	assert_int_equal(rib_del(rib, &route), 0);
	sum = 0;
	rib_each_table(rib, add_table, &sum);
	assert_int_equal(sum, 254ull + 255 + 318);
	assert_null(rib_find(rib, route.table, &route.dst));
	assert_non_null(rib_find(rib, 254, &route.dst));
	rib_free(rib);
}

#define N_TABLES 3u

static bool has_sources(const struct rib *rib, uint32_t table)
{
	static const struct prefix all;
	const struct radix *radix = rib_table(rib, table);
	const struct radix_node *node = radix ? radix_first_under(radix, &all) : NULL;

	for (; node; node = radix_next_under(node, &all)) {
		const struct rib_dest *dest = container_of(node, const struct rib_dest, node);

		for (const struct rib_route *r = dest->routes; r; r = r->next) {
			if (r->src.len)
				return true;
		}
	}
	return false;
}

static bool is_even(const struct route *route, void *ctx)
{
	(void)ctx;
	return route->hops[0].ifindex % 2 == 0;
}

/* Whether a table has source-specific routes, after whatever happened to it. */
static void test_sources(void **state)
{
	struct rib *rib = rib_new(NULL, NULL);
	unsigned int seen[2] = { 0, 0 };
	uint64_t random = 1;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		struct route_hop hops[2] = { VIA(1, 1), VIA(2, 1) };
		struct route route = { .type = RTN_UNICAST, .n_hops = 1, .hops = hops };
		uint32_t draw;

		random = random * 6364136223846793005u + 1442695040888963407u;
		draw = (uint32_t)(random >> 33);
		hops[0].ifindex = 1 + draw % 3;
		hops[0].has_gateway = draw & 8;
		route.n_hops = draw & 8 ? 1 + (draw >> 4) % 2 : 1;
		route.table = 254 + (draw >> 5) % N_TABLES;
		route.dst.len = (uint8_t)((draw >> 8) % 3);
		route.src.len = (draw >> 10) % 4 ? 0 : 3;
		if (draw % 101 == 0)
			rib_prune(rib, is_even, NULL);
		else if (draw % 103 == 0)
			rib_mark(rib);
		else if (draw % 107 == 0)
			rib_sweep(rib);
		else if (draw >> 12 & 1)
			rib_del(rib, &route);
		else
			rib_add(rib, &route, draw >> 13 & 1 ? REPLACE : APPEND);
		for (uint32_t table = 253; table <= 254 + N_TABLES; table++) {
			bool has = has_sources(rib, table);

			seen[has]++;
			assert_int_equal(rib_table_has_sources(rib, table), has);
		}
	}
	assert_true(seen[0] > 20000 && seen[1] > 20000);
	rib_free(rib);
}

/* Not asserted: a figure for whoever changes a structure. */
static void test_time(void **state)
{
	const unsigned int n = 160000;
	struct rib *rib = rib_new(NULL, NULL);
	struct route_hop hop = VIA(1, 1);
	struct route route = { .table = RT_TABLE_MAIN,
			       .metric = 1024,
			       .type = RTN_UNICAST,
			       .n_hops = 1,
			       .hops = &hop };
	uint64_t random = 1, start = util_now_ns();

	(void)state;
	for (unsigned int i = 0; i < n; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		route.dst.len = (uint8_t)(24 + (random >> 60) * 2);
		route.dst.addr.words[0] = (uint32_t)(random >> 20);
		route.dst.addr.words[1] = (uint32_t)(random >> 40);
		route.dst.addr.bytes[0] = 0x20;
		prefix_mask(&route.dst);
		assert_int_equal(rib_add(rib, &route, 0), 0);
	}
	print_message("%u routes in %.0f ms\n", n, (double)(util_now_ns() - start) / 1e6);
	rib_free(rib);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_multipath),
		cmocka_unit_test(test_delete_hop_by_hop),
		cmocka_unit_test(test_device_routes_of_one_metric),
		cmocka_unit_test(test_replace_device_route),
		cmocka_unit_test(test_set_beside_device_route),
		cmocka_unit_test(test_replace_the_other_kind),
		cmocka_unit_test(test_reject),
		cmocka_unit_test(test_next_hop_objects),
		cmocka_unit_test(test_device_goes),
		cmocka_unit_test(test_append_several),
		cmocka_unit_test(test_router_advertisements),
		cmocka_unit_test(test_source_specific),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_encapsulation),
		cmocka_unit_test(test_mark_and_sweep),
		cmocka_unit_test(test_twins_in_a_dump),
		cmocka_unit_test(test_untold),
		cmocka_unit_test(test_changes_beside_untold),
		cmocka_unit_test(test_what_settles),
		cmocka_unit_test(test_messages_under_way),
		cmocka_unit_test(test_untold_after_two_dumps),
		cmocka_unit_test(test_order_of_a_dump),
		cmocka_unit_test(test_untold_alone),
		cmocka_unit_test(test_truncated_does_not_settle),
		cmocka_unit_test(test_dump_in_rounds),
		cmocka_unit_test(test_hop_left_after_a_dump),
		cmocka_unit_test(test_truncated_set),
		cmocka_unit_test(test_prune),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
