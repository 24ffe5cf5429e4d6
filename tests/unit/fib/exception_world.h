/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Short words for exceptions in a world of fib_world.h: what is said of destinations in the main
 * table, and what packets to them meet.
 */
#ifndef TEST_EXCEPTION_WORLD_H
#define TEST_EXCEPTION_WORLD_H

#include "fib_world.h"

/* --- what is said ------------------------------------------------------------------------------
 */

static inline struct fib_exception pmtu(uint32_t mtu)
{
	return (struct fib_exception){ .mtu = mtu };
}

static inline struct fib_exception pmtu_under(uint32_t mtu, struct fib_hop under)
{
	return (struct fib_exception){ .mtu = mtu, .has_under = true, .under = under };
}

static inline struct fib_exception redirect(struct fib_hop hop)
{
	return (struct fib_exception){ .has_hop = true, .hop = hop };
}

static inline struct fib_exception until(struct fib_exception said, uint64_t expires_ns)
{
	said.expires_ns = expires_ns;
	return said;
}

static inline int say(struct world *world, enum fib_origin origin, const char *dst,
		      struct fib_exception said)
{
	const union sixlane_addr to = addr(dst);

	return fib_set_exception(world->fib, origin, SIXLANE_TABLE_MAIN, &to, &said);
}

static inline void unsay(struct world *world, enum fib_origin origin, const char *dst)
{
	const union sixlane_addr to = addr(dst);

	assert_int_equal(fib_set_exception(world->fib, origin, SIXLANE_TABLE_MAIN, &to, NULL), 0);
}

/* Next in doubt is this one; NULL: none is. */
static inline void assert_doubt(struct world *world, const char *dst)
{
	union sixlane_addr to, is;
	uint32_t table;
	bool any = fib_exception_in_doubt(world->fib, &table, &is);

	assert_int_equal(any, dst != NULL);
	if (!dst)
		return;
	to = addr(dst);
	assert_int_equal(table, SIXLANE_TABLE_MAIN);
	assert_memory_equal(&is, &to, sizeof(to));
}

static inline void set_routes(struct world *world)
{
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db8::/32", via("fe80::2", 3));
}

/* --- what packets meet -------------------------------------------------------------------------
 */

static inline enum sim_effect effect_of(const struct world *world, const char *dst,
					const struct sixlane_exception **value)
{
	const struct sim_found found = find_in(world, SIXLANE_TABLE_MAIN, dst, "::");
	const union sixlane_addr to = addr(dst);

	return sim_effect(world->sim, SIXLANE_TABLE_MAIN, &to, &found, value);
}

static inline void assert_effect(const struct world *world, const char *dst, enum sim_effect effect)
{
	const struct sixlane_exception *value;

	assert_int_equal(effect_of(world, dst, &value), effect);
}

/* The operator's MTU turns back what is over it; the rest is the kernel's. */
static inline void assert_forbids(const struct world *world, const char *dst, uint32_t mtu)
{
	const uint32_t operators = SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_MTU;
	const struct sixlane_exception *value;

	assert_int_equal(effect_of(world, dst, &value), SIM_PUNTED);
	assert_int_equal(value->flags & operators, operators);
	assert_int_equal(value->mtu, mtu);
}

/* Packets to dst are told this MTU; 0: the exception has none. */
static inline void assert_mtu(const struct world *world, const char *dst, uint32_t mtu)
{
	const struct sixlane_exception *value;

	assert_int_equal(effect_of(world, dst, &value), SIM_APPLIED);
	assert_int_equal(value->flags & SIXLANE_EXCEPTION_MTU, mtu ? SIXLANE_EXCEPTION_MTU : 0);
	assert_int_equal(value->mtu, mtu);
}

static inline void assert_hop(const struct world *world, const char *dst, struct fib_hop hop)
{
	const struct sixlane_exception *value;

	assert_int_equal(effect_of(world, dst, &value), SIM_APPLIED);
	assert_true(value->flags & SIXLANE_EXCEPTION_NEXT_HOP);
	assert_true(sim_fate_is(world->sim, world->sim->next_hops[value->next_hop].fate, &hop));
}

static inline void assert_under(const struct world *world, const char *dst, struct fib_hop under)
{
	const struct sixlane_exception *value;

	assert_int_equal(effect_of(world, dst, &value), SIM_APPLIED);
	assert_true(value->flags & SIXLANE_EXCEPTION_UNDER);
	assert_true(sim_fate_is(world->sim, value->under, &under));
}

static inline void assert_marks(const struct world *world, const char *dst, uint32_t marks)
{
	assert_int_equal(find_in(world, SIXLANE_TABLE_MAIN, dst, "::").marks, marks);
}

static inline void assert_exceptions(const struct world *world, size_t n)
{
	assert_int_equal(stats_of(world).exceptions, n);
	assert_int_equal(world->sim->n_exceptions, n);
}

#define HOUR (3600ull * 1000000000)

static inline void pass(struct world *world, uint64_t now_ns)
{
	uint64_t next_ns;

	fib_exceptions_expire(world->fib, now_ns, 10, &next_ns);
}

/* What was not told again. */
static inline void expire_gone(struct world *world)
{
	uint64_t next_ns;

	fib_exceptions_expire(world->fib, 1, SIZE_MAX, &next_ns);
}

#define ANY SIXLANE_ROUTE_EXCEPTIONS
#define MISSING (SIXLANE_ROUTE_EXCEPTIONS | SIXLANE_ROUTE_EXCEPTIONS_MISSING)

#endif
