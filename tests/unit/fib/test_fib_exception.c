// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions on simulated maps: what each origin says and what comes of both, for how long, how
 * many there may be, and what a full telling leaves.
 */
#include <errno.h>

#include "../unit.h"
#include "exception_world.h"

static void set_three_routes(struct world *world)
{
	set_routes(world);
	set(world, "2001:db8:1::/48", via("fe80::3", 4));
}

/* The prefix that packets find carries the mark, and no other. */
static void test_longest_prefix_is_marked(void **state)
{
	struct world *world = *state;
	unsigned long writes;

	set_three_routes(world);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300)), 0);
	assert_exceptions(world, 1);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_marks(world, "2001:db8::2", ANY);
	assert_marks(world, "2001:db8:1::1", 0);
	assert_marks(world, "2001:db9::1", 0);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_target(world, "2001:db8::1", via("fe80::2", 3));
	/* Said again it writes nothing; the second one marks nothing. */
	writes = world->sim->exception_writes + world->sim->routes.writes;
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	assert_int_equal(world->sim->exception_writes + world->sim->routes.writes, writes);
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1400));
	assert_int_equal(world->sim->exception_writes + world->sim->routes.writes, writes + 1);
	unsay(world, FIB_KERNEL, "2001:db8::1");
	assert_effect(world, "2001:db8::1", SIM_NO_EFFECT);
	assert_marks(world, "2001:db8::1", ANY);
	unsay(world, FIB_KERNEL, "2001:db8::2");
	assert_marks(world, "2001:db8::1", 0);
	assert_exceptions(world, 0);
	unsay(world, FIB_KERNEL, "2001:db8::3");
}

static void test_tables_are_apart(void **state)
{
	struct world *world = *state;
	const union sixlane_addr dst = addr("2001:db8::1");
	const struct fib_exception said = pmtu(1300);

	set_three_routes(world);
	set_in(world, 1000, "2001:db8::/32", via("fe80::9", 3));
	assert_int_equal(fib_set_exception(world->fib, FIB_KERNEL, 1000, &dst, &said), 0);
	assert_effect(world, "2001:db8::1", SIM_NO_EFFECT);
	assert_marks(world, "2001:db8::1", 0);
	assert_int_equal(find_in(world, 1000, "2001:db8::1", "::").marks, ANY);
	/* It outlives its routes, and finds the next ones. */
	unset_in(world, 1000, "2001:db8::/32");
	assert_exceptions(world, 1);
	set_in(world, 1000, "2001::/16", via("fe80::9", 3));
	assert_int_equal(find_in(world, 1000, "2001:db8::1", "::").marks, ANY);
	fib_set_exception(world->fib, FIB_KERNEL, 1000, &dst, NULL);
	unset_in(world, 1000, "2001::/16");
	assert_exceptions(world, 0);
}

/* --- what both say ------------------------------------------------------------------------------
 */

#define K SIXLANE_EXCEPTION_KERNEL
#define O SIXLANE_EXCEPTION_OPERATOR
#define MTU SIXLANE_EXCEPTION_MTU
#define HOP SIXLANE_EXCEPTION_NEXT_HOP
#define LOCKED SIXLANE_EXCEPTION_LOCKED
#define PUNT SIXLANE_EXCEPTION_PUNT
#define OBSERVE SIXLANE_EXCEPTION_OBSERVE
#define UNDER SIXLANE_EXCEPTION_UNDER
#define MORE SIXLANE_EXCEPTION_MORE

struct merging {
	const char *what;
	struct fib_exception kernel, oper;
	bool no_kernel, no_operator;
	uint32_t flags, mtu, expires, gateway; /* of the next hop: its last digit */
};

#define VIA(n)                                                                  \
	{                                                                       \
		.gateway = { .bytes = { 0xfe, 0x80, [15] = n } }, .ifindex = 4, \
		.has_gateway = true                                             \
	}

static const struct merging mergings[] = {
	{ "an MTU", .no_operator = true, .kernel = { .mtu = 1300 }, .flags = K | MTU, .mtu = 1300 },
	{ "an MTU that no link may have", .no_operator = true, .kernel = { .mtu = 1000 },
	  .flags = K | MTU, .mtu = 1280 },
	{ "an MTU that ends, but not to the nanosecond", .no_operator = true,
	  .kernel = { .mtu = 1300, .expires_ns = 7, .gone_ns = 9 }, .flags = K | MTU | MORE,
	  .mtu = 1300, .expires = 7 },
	{ "an operator's, who locks", .no_kernel = true,
	  .oper = { .mtu = 1300, .mtu_locked = true }, .flags = O | MTU | LOCKED, .mtu = 1300 },
	{ "the operator's is smaller", .kernel = { .mtu = 1400, .expires_ns = 7 },
	  .oper = { .mtu = 1300, .mtu_locked = true, .expires_ns = 9 },
	  .flags = K | O | MTU | LOCKED | MORE, .mtu = 1300, .expires = 9 },
	{ "the kernel's is smaller", .kernel = { .mtu = 1300, .expires_ns = 9 },
	  .oper = { .mtu = 1400, .mtu_locked = true, .expires_ns = 7 },
	  .flags = K | O | MTU | LOCKED | MORE | PUNT, .mtu = 1400, .expires = 7 },
	{ "they are the same", .kernel = { .mtu = 1300, .expires_ns = 9 }, .oper = { .mtu = 1300 },
	  .flags = K | O | MTU | MORE, .mtu = 1300 },
	{ "they are the same, to what links may have", .kernel = { .mtu = 1000 },
	  .oper = { .mtu = 1280 }, .flags = K | O | MTU | MORE, .mtu = 1280 },
	{ "next hops: the operator's", .kernel = { .has_hop = true, .hop = VIA(5) },
	  .oper = { .has_hop = true, .hop = VIA(6) }, .flags = K | O | HOP | MORE, .gateway = 6 },
	{ "the operator's next hop, to which the kernel's MTU does not lead",
	  .kernel = { .mtu = 1300, .expires_ns = 7 }, .oper = { .has_hop = true, .hop = VIA(6) },
	  .flags = K | O | HOP | MORE, .gateway = 6 },
	{ "the operator's next hop, whatever is punted", .kernel = { .punt = true },
	  .oper = { .has_hop = true, .hop = VIA(6) }, .flags = K | O | HOP | MORE, .gateway = 6 },
	{ "the operator's next hop to nowhere", .kernel = { .mtu = 1300 },
	  .oper = { .has_hop = true, .mtu = 1400 }, .flags = K | O | MTU | MORE | PUNT,
	  .mtu = 1400 },
	{ "the kernel's next hop, the operator's MTU", .kernel = { .has_hop = true, .hop = VIA(5) },
	  .oper = { .mtu = 1300 }, .flags = K | O | MTU | MORE | PUNT, .mtu = 1300 },
	{ "what is observed does not count",
	  .kernel = { .mtu = 1300, .observe = true, .expires_ns = 7 }, .oper = { .mtu = 1400 },
	  .flags = K | O | MTU, .mtu = 1400 },
	{ "unless all is", .no_operator = true,
	  .kernel = { .mtu = 1300, .observe = true, .punt = true, .expires_ns = 7 },
	  .flags = K | MTU | OBSERVE, .mtu = 1300, .expires = 7 },
	{ "a punt, but for the operator's MTU",
	  .kernel = { .punt = true, .mtu = 1300, .expires_ns = 7 },
	  .oper = { .mtu = 1400, .expires_ns = 9 }, .flags = K | O | MTU | MORE | PUNT, .mtu = 1400,
	  .expires = 9 },
	{ "a punt of the kernel's alone, which ends with it", .no_operator = true,
	  .kernel = { .punt = true, .expires_ns = 7 }, .flags = K | PUNT, .expires = 7 },
	{ "a hop to nowhere", .no_operator = true, .kernel = { .has_hop = true },
	  .flags = K | PUNT },
	{ "under nothing", .no_operator = true, .kernel = { .has_under = true, .mtu = 1300 },
	  .flags = K | MTU | PUNT, .mtu = 1300 },
	{ "under the route's hop", .kernel = { .has_under = true, .mtu = 1300, .under = VIA(2) },
	  .oper = { .mtu = 1400 }, .flags = K | O | MTU | MORE | PUNT, .mtu = 1400 },
	{ "under another hop", .kernel = { .has_under = true, .mtu = 1300, .under = VIA(1) },
	  .oper = { .mtu = 1400 }, .flags = K | O | MTU | MORE, .mtu = 1400 },
	{ "nothing at all", .no_operator = true, .flags = K },
};

static void test_merging(void **state)
{
	struct world *world = *state;
	const union sixlane_addr dst = addr("2001:db8::1");

	set(world, "2001:db8::/32", via("fe80::2", 4));
	for (size_t i = 0; i < 2 * ARRAY_SIZE(mergings); i++) {
		const struct merging *m = &mergings[i / 2];
		const struct sixlane_exception *is;

		/* Whoever speaks first. */
		for (size_t turn = i; turn < i + 2; turn++) {
			if (turn % 2 && !m->no_kernel)
				assert_int_equal(say(world, FIB_KERNEL, "2001:db8::1", m->kernel),
						 0);
			if (!(turn % 2) && !m->no_operator)
				assert_int_equal(say(world, FIB_OPERATOR, "2001:db8::1", m->oper),
						 0);
		}
		is = sim_exception(world->sim, SIXLANE_TABLE_MAIN, &dst);
		if (!is || is->flags != m->flags || is->mtu != m->mtu ||
		    is->expires_ns != m->expires)
			fail_msg("%s: flags %#x mtu %u expires %u", m->what, is ? is->flags : 0,
				 is ? is->mtu : 0, is ? (unsigned int)is->expires_ns : 0);
		if (m->gateway) {
			const struct fib_hop hop = VIA((uint8_t)m->gateway);

			assert_true(sim_fate_is(world->sim,
						world->sim->next_hops[is->next_hop].fate, &hop));
		}
		unsay(world, FIB_KERNEL, "2001:db8::1");
		unsay(world, FIB_OPERATOR, "2001:db8::1");
		assert_exceptions(world, 0);
		assert_int_equal(stats_of(world).next_hops, 1);
	}
}

/* The datapath compares, whatever kind of route it is. */
static void test_under_a_hop(void **state)
{
	struct world *world = *state;
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const struct sixlane_exception *value;
	struct sim_found found;

	set(world, "::/0", several(FIB_HASHED, hops, 2));
	set(world, "2001:db8::/32", via("fe80::2", 4));
	for (int i = 0; i < 2; i++) {
		const char *dst = i ? "2001:db8::1" : "2001:db9::1";

		say(world, FIB_KERNEL, dst, pmtu_under(1300, hops[1]));
		assert_mtu(world, dst, 1300);
		assert_under(world, dst, hops[1]);
		found = find_in(world, SIXLANE_TABLE_MAIN, dst, "::");
		effect_of(world, dst, &value);
		if (i)
			assert_int_equal(found.next_hop->fate.word, value->under.word);
	}
	assert_int_equal(stats_of(world).next_hops, 3);
	/* A member's fate is told by its hop, which is held as long as it is compared. */
	unset(world, "::/0");
	unset(world, "2001:db8::/32");
	assert_int_equal(stats_of(world).next_hops, 0);
	assert_int_equal(stats_of(world).neighbours, 1);
	unsay(world, FIB_KERNEL, "2001:db9::1");
	unsay(world, FIB_KERNEL, "2001:db8::1");
	assert_int_equal(stats_of(world).neighbours, 0);
}

/* The kernel's word is of one of the routes there; nobody knows which. */
static void test_by_source(void **state)
{
	struct world *world = *state;
	const struct fib_source sources[] = { { .target = via("fe80::1", 3) },
					      { .src = pfx("2001:db9::/32"),
						.target = via("fe80::2", 3) } };
	const struct fib_target target = {
		.verdict = SIXLANE_FORWARD, .kind = FIB_SOURCES, .n_sources = 2, .sources = sources
	};

	set(world, "2001:db8::/32", target);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1300));
	assert_mtu(world, "2001:db8::2", 1300);
	/* Until it is of one, and is said anew. */
	set(world, "2001:db8::/32", via("fe80::1", 3));
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	assert_mtu(world, "2001:db8::1", 1300);
}

/* --- for how long -------------------------------------------------------------------------------
 */

static void test_expiry_in_steps(void **state)
{
	struct world *world = *state;
	uint64_t next;

	set_three_routes(world);
	fib_exceptions_expire(world->fib, 1000, 10, &next);
	assert_true(next == UINT64_MAX);
	say(world, FIB_KERNEL, "2001:db8::3", until(pmtu(1300), 300));
	say(world, FIB_KERNEL, "2001:db8::1", until(pmtu(1300), 100));
	say(world, FIB_OPERATOR, "2001:db8::2", until(pmtu(1300), 200));
	say(world, FIB_KERNEL, "2001:db8::4", pmtu(1300));
	fib_exceptions_expire(world->fib, 99, 10, &next);
	assert_int_equal(next, 100);
	assert_exceptions(world, 4);
	fib_exceptions_expire(world->fib, 250, 1, &next);
	assert_int_equal(next, 200);
	assert_effect(world, "2001:db8::1", SIM_NO_EFFECT);
	assert_mtu(world, "2001:db8::2", 1300);
	assert_int_equal(world->sim->n_over, 0);
	fib_exceptions_expire(world->fib, 250, 10, &next);
	assert_int_equal(next, 300);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_int_equal(world->sim->n_over, 1);
	assert_memory_equal(&world->sim->over.dst, &(union sixlane_addr[]){ addr("2001:db8::2") },
			    sizeof(union sixlane_addr));
	assert_mtu(world, "2001:db8::3", 1300);
	/* Said anew it lives on. */
	say(world, FIB_KERNEL, "2001:db8::3", until(pmtu(1300), 900));
	fib_exceptions_expire(world->fib, 800, 10, &next);
	assert_int_equal(next, 900);
	fib_exceptions_expire(world->fib, UINT64_MAX - 1, 10, &next);
	assert_exceptions(world, 1);
	assert_true(next == UINT64_MAX);
}

/* Of what both say, the other's word is left. */
static void test_one_word_expires(void **state)
{
	struct world *world = *state;
	uint64_t next;

	set_three_routes(world);
	say(world, FIB_KERNEL, "2001:db8::1", until(pmtu(1300), 100));
	say(world, FIB_OPERATOR, "2001:db8::1", until(pmtu(1400), 200));
	fib_exceptions_expire(world->fib, 100, 1, &next);
	assert_int_equal(next, 200);
	assert_mtu(world, "2001:db8::1", 1400);
	assert_int_equal(world->sim->exceptions[0].value.expires_ns, 200);
	/* One that is in doubt is not asked about when it is over. */
	say(world, FIB_KERNEL, "2001:db8::2", until(pmtu(1300), 150));
	set(world, "2001:db8::/32", via("fe80::7", 3));
	fib_exceptions_expire(world->fib, 200, 2, &next);
	assert_exceptions(world, 0);
	assert_doubt(world, NULL);
}

static bool is_not_the_first(void *ctx, uint32_t table, const union sixlane_addr *dst,
			     enum fib_doubt doubt)
{
	unsigned int *n = ctx;

	assert_int_equal(table, SIXLANE_TABLE_MAIN);
	assert_int_equal(doubt, FIB_NOT_DOUBTED_SINCE);
	++*n;
	return dst->bytes[15] != 1;
}

/* Between the two moments it may hold yet, or not any more. */
static void test_not_to_the_nanosecond(void **state)
{
	struct fib_exception said = until(pmtu(1300), 100);
	struct world *world = *state;
	unsigned int n = 0;
	uint64_t next;

	set_three_routes(world);
	said.gone_ns = 130;
	say(world, FIB_KERNEL, "2001:db8::1", said);
	fib_exceptions_expire(world->fib, 129, 10, &next);
	assert_int_equal(next, 130);
	assert_int_equal(world->sim->exceptions[0].value.flags, K | MTU | MORE);
	assert_int_equal(world->sim->exceptions[0].value.expires_ns, 100);
	restart(world, SIXLANE_MAX_ROUTES);
	set_three_routes(world);
	assert_doubt(world, "2001:db8::1");
	fib_exceptions_expire(world->fib, 130, 10, &next);
	assert_exceptions(world, 0);
	/* A dump finds it gone: that is no end of which anything is uncertain. */
	say(world, FIB_KERNEL, "2001:db8::2", said);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, is_not_the_first, &n);
	fib_exceptions_expire(world->fib, 1, 10, &next);
	assert_exceptions(world, 0);
}

/*
 * What the kernel may have for longer than its end says is asked about before, and until then it is
 * the kernel's; it goes only with the kernel's word.
 */
static void test_without_a_known_end(void **state)
{
	struct fib_exception leased = until(redirect(hop_via("fe80::5", 4, 0)), 900);
	struct world *world = *state;
	const struct sixlane_exception *value = &world->sim->exceptions[0].value;
	uint64_t next;

	leased.confirm_ns = 300;
	set_routes(world);
	say(world, FIB_KERNEL, "2001:db8::1", leased);
	assert_int_equal(value->expires_ns, 900);
	assert_true(value->flags & MORE);
	fib_exceptions_expire(world->fib, 299, 10, &next);
	assert_int_equal(next, 300);
	assert_hop(world, "2001:db8::1", hop_via("fe80::5", 4, 0));
	fib_exceptions_expire(world->fib, 300, 10, &next);
	assert_true(next == UINT64_MAX);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_int_equal(value->expires_ns, 0);
	assert_doubt(world, "2001:db8::1");
	/* Nobody answers. */
	fib_exceptions_expire(world->fib, 5000, 10, &next);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	leased.confirm_ns = 5300;
	leased.expires_ns = 5900;
	say(world, FIB_KERNEL, "2001:db8::1", leased);
	fib_exceptions_expire(world->fib, 5000, 10, &next);
	assert_int_equal(next, 5300);
	assert_hop(world, "2001:db8::1", hop_via("fe80::5", 4, 0));
	/* In doubt for another reason it is not asked about twice. */
	fib_doubt_exceptions(world->fib, 0, NULL);
	assert_doubt(world, "2001:db8::1");
	fib_exceptions_expire(world->fib, 5300, 10, &next);
	assert_true(next == UINT64_MAX);
	assert_doubt(world, NULL);
	unsay(world, FIB_KERNEL, "2001:db8::1");
	/* Beside the operator's, which has an end. */
	say(world, FIB_KERNEL, "2001:db8::1", leased);
	say(world, FIB_OPERATOR, "2001:db8::1", until(pmtu(1400), 5200));
	fib_exceptions_expire(world->fib, 5300, 10, &next);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_int_equal(value->flags & (K | O), K);
	assert_doubt(world, "2001:db8::1");
}

/* --- how many -----------------------------------------------------------------------------------
 */

static void test_those_that_expire_sooner_go(void **state)
{
	struct world *world = *state;

	set_three_routes(world);
	fib_set_max_exceptions(world->fib, 2);
	say(world, FIB_KERNEL, "2001:db8::1", until(pmtu(1300), 200));
	say(world, FIB_KERNEL, "2001:db8:1::1", until(pmtu(1300), 100));
	assert_int_equal(stats_of(world).exceptions_evicted, 0);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::2", until(pmtu(1300), 300)), 0);
	assert_exceptions(world, 2);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_mtu(world, "2001:db8::2", 1300);
	/* The kernel still has the one that went. */
	assert_effect(world, "2001:db8:1::1", SIM_PUNTED);
	assert_marks(world, "2001:db8:1::1", MISSING);
	assert_int_equal(stats_of(world).exceptions_evicted, 1);
	assert_int_equal(stats_of(world).exceptions_missing, 1);
	/* What expires sooner than all others finds no room, nor does what expires with one. */
	assert_int_equal(say(world, FIB_KERNEL, "2001:db9::1", until(pmtu(1300), 200)), -ENOSPC);
	assert_effect(world, "2001:db9::1", SIM_PUNTED);
	assert_effect(world, "2001:db9::2", SIM_NO_EFFECT);
	assert_int_equal(stats_of(world).exceptions_missing, 2);
	assert_int_equal(stats_of(world).missing, 0);
	/* What is there may change. */
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::1", until(pmtu(1400), 150)), 0);
	assert_mtu(world, "2001:db8::1", 1400);
	/* The kernel's that never expire are the last of its to go. */
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::5", pmtu(1300)), 0);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::6", pmtu(1300)), 0);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::7", pmtu(1300)), -ENOSPC);
	assert_exceptions(world, 2);
}

static void test_the_operators_goes_before(void **state)
{
	struct world *world = *state;

	set_three_routes(world);
	fib_set_max_exceptions(world->fib, 2);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8::2", until(pmtu(1300), UINT64_MAX));
	assert_int_equal(say(world, FIB_OPERATOR, "2001:db9::1", until(pmtu(1300), 5)), 0);
	assert_int_equal(say(world, FIB_OPERATOR, "2001:db9::2", pmtu(1300)), 0);
	assert_exceptions(world, 2);
	assert_int_equal(stats_of(world).exceptions_evicted, 2);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_mtu(world, "2001:db9::1", 1300);
	/* Refused, not missing: the kernel knows nothing of it. */
	assert_int_equal(say(world, FIB_OPERATOR, "2001:db9::3", pmtu(1300)), -ENOSPC);
	assert_effect(world, "2001:db9::3", SIM_NO_EFFECT);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db9::3", pmtu(1300)), -ENOSPC);
	assert_effect(world, "2001:db9::3", SIM_PUNTED);
	/* The kernel's word may come beside the operator's, which stays. */
	assert_int_equal(say(world, FIB_KERNEL, "2001:db9::1", pmtu(1290)), 0);
	assert_forbids(world, "2001:db9::1", 1300);
	assert_int_equal(say(world, FIB_OPERATOR, "2001:db9::4", pmtu(1300)), -ENOSPC);
	/* The first one may be there again when the operator's has gone. */
	unsay(world, FIB_OPERATOR, "2001:db9::2");
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300)), 0);
	assert_mtu(world, "2001:db8::1", 1300);
}

static void test_a_smaller_bound(void **state)
{
	struct world *world = *state;

	set_three_routes(world);
	say(world, FIB_KERNEL, "2001:db8::1", until(pmtu(1300), 200));
	say(world, FIB_OPERATOR, "2001:db8::2", until(pmtu(1300), 50));
	say(world, FIB_KERNEL, "2001:db8::3", until(pmtu(1300), 100));
	fib_set_max_exceptions(world->fib, 2);
	assert_effect(world, "2001:db8::3", SIM_PUNTED);
	fib_set_max_exceptions(world->fib, 1);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_mtu(world, "2001:db8::2", 1300);
	fib_set_max_exceptions(world->fib, 0);
	assert_exceptions(world, 0);
	assert_int_equal(stats_of(world).exceptions_evicted, 3);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300)), -ENOSPC);
	fib_set_max_exceptions(world->fib, UINT32_MAX);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300)), 0);
}

/* --- told anew ----------------------------------------------------------------------------------
 */

static void test_what_is_not_told_again_goes(void **state)
{
	struct world *world = *state;

	set_three_routes(world);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1400));
	say(world, FIB_OPERATOR, "2001:db8::3", pmtu(1300));
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1310));
	say(world, FIB_KERNEL, "2001:db8::4", pmtu(1300));
	assert_forbids(world, "2001:db8::2", 1400);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_mtu(world, "2001:db8::1", 1310);
	assert_mtu(world, "2001:db8::2", 1400);
	assert_mtu(world, "2001:db8::3", 1300);
	assert_mtu(world, "2001:db8::4", 1300);
	fib_exceptions_begin(world->fib, FIB_OPERATOR);
	fib_exceptions_end(world->fib, FIB_OPERATOR, true, NULL, NULL);
	/* In steps, and until then it holds. */
	assert_mtu(world, "2001:db8::3", 1300);
	assert_true(fib_exceptions_leave(world->fib));
	expire_gone(world);
	assert_false(fib_exceptions_leave(world->fib));
	assert_int_equal(world->sim->n_over, 0);
	assert_exceptions(world, 2);
	assert_effect(world, "2001:db8::3", SIM_NO_EFFECT);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_exceptions_end(world->fib, FIB_KERNEL, false, NULL, NULL);
	assert_exceptions(world, 0);
	assert_marks(world, "2001:db8::1", 0);
}

static const char *const arrivals[] = { "2001:db8::3", "2001:db9::1", "2001:db8::1" };

/* Of those that are there none has come before one that is not. */
static void assert_in_turn(void *ctx)
{
	const struct sixlane_exception *value;
	bool is_there = false;

	for (size_t i = 0; i < ARRAY_SIZE(arrivals); i++) {
		const bool was_there = is_there;

		is_there = effect_of(ctx, arrivals[i], &value) == SIM_APPLIED;
		assert_true(is_there || !was_there);
	}
}

/* What the kernel gives their memory to lies together as they did. */
static void test_all_go_as_they_came(void **state)
{
	struct world *world = *state;

	set_routes(world);
	for (size_t i = 0; i < ARRAY_SIZE(arrivals); i++)
		say(world, FIB_OPERATOR, arrivals[i], pmtu(1300));
	world->sim->ctx = world;
	world->sim->written = assert_in_turn;
	fib_exceptions_begin(world->fib, FIB_OPERATOR);
	fib_exceptions_end(world->fib, FIB_OPERATOR, true, NULL, NULL);
	expire_gone(world);
	world->sim->written = NULL;
	assert_exceptions(world, 0);
}

/* Of two words the kernel's goes at once: what is written has one end for both. */
static void test_gone_beside_the_operators(void **state)
{
	struct world *world = *state;
	const struct prefix net = pfx("2001:db8::/48"), other = pfx("2001:db9::/48");
	const struct sixlane_exception *value;
	unsigned int n = 0;

	set_routes(world);
	say(world, FIB_KERNEL, "2001:db8::2", until(pmtu(1300), 100));
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1400));
	assert_true(fib_has_exceptions(world->fib, SIXLANE_TABLE_MAIN, &net));
	assert_false(fib_has_exceptions(world->fib, SIXLANE_TABLE_MAIN, &other));
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, is_not_the_first, &n);
	assert_mtu(world, "2001:db8::2", 1400);
	assert_int_equal(effect_of(world, "2001:db8::2", &value), SIM_APPLIED);
	assert_int_equal(value->expires_ns, 0);
}

/* The operator's words are no matter of the kernel's. */
static void test_not_told_again_and_not_gone(void **state)
{
	struct world *world = *state;
	unsigned int n = 0;
	union sixlane_addr dst;
	uint32_t table;

	set_three_routes(world);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8::3", pmtu(1300));
	say(world, FIB_OPERATOR, "2001:db8::4", pmtu(1300));
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say(world, FIB_KERNEL, "2001:db8::3", pmtu(1300));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, is_not_the_first, &n);
	assert_int_equal(n, 2);
	assert_exceptions(world, 4);
	expire_gone(world);
	assert_exceptions(world, 3);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_mtu(world, "2001:db8::3", 1300);
	assert_mtu(world, "2001:db8::4", 1300);
	assert_true(fib_exception_in_doubt(world->fib, &table, &dst));
	assert_int_equal(table, SIXLANE_TABLE_MAIN);
	assert_int_equal(dst.bytes[15], 1);
	assert_false(fib_exception_in_doubt(world->fib, &table, &dst));
}

/* ctx: the doubt that is expected, or NULL. */
static bool was_asked(void *ctx, uint32_t table, const union sixlane_addr *dst,
		      enum fib_doubt doubt)
{
	const enum fib_doubt *expected = ctx;

	(void)table;
	(void)dst;
	if (expected)
		assert_int_equal(doubt, *expected);
	return doubt == FIB_DOUBTED_ASKED;
}

static void tell_nothing(struct world *world, enum fib_doubt expected)
{
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, was_asked, &expected);
	expire_gone(world);
}

/* Who was asked and does not know, and did not tell afterwards, has it no more. */
static void test_asked_to_no_avail(void **state)
{
	struct world *world = *state;

	set_routes(world);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	tell_nothing(world, FIB_NOT_DOUBTED_SINCE);
	/* Not yet asked. */
	tell_nothing(world, FIB_NOT_DOUBTED_SINCE);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_doubt(world, "2001:db8::1");
	/* What was told before a doubt says nothing about it, whether or not one is asked. */
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	set(world, "2001:db8::/32", via("fe80::7", 3));
	assert_doubt(world, "2001:db8::1");
	fib_exceptions_end(world->fib, FIB_KERNEL, true, was_asked,
			   &(enum fib_doubt){ FIB_DOUBTED_SINCE });
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_doubt(world, "2001:db8::1");
	tell_nothing(world, FIB_DOUBTED_ASKED);
	assert_exceptions(world, 0);
	/* Nor is one to go that was asked about, and is known again. */
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	fib_doubt_exceptions(world->fib, 0, NULL);
	assert_doubt(world, "2001:db8::1");
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1310));
	tell_nothing(world, FIB_NOT_DOUBTED_SINCE);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_longest_prefix_is_marked),
		TEST(test_tables_are_apart),
		TEST(test_merging),
		TEST(test_under_a_hop),
		TEST(test_by_source),
		TEST(test_expiry_in_steps),
		TEST(test_one_word_expires),
		TEST(test_not_to_the_nanosecond),
		TEST(test_without_a_known_end),
		TEST(test_those_that_expire_sooner_go),
		TEST(test_the_operators_goes_before),
		TEST(test_a_smaller_bound),
		TEST(test_what_is_not_told_again_goes),
		TEST(test_all_go_as_they_came),
		TEST(test_gone_beside_the_operators),
		TEST(test_not_told_again_and_not_gone),
		TEST(test_asked_to_no_avail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
