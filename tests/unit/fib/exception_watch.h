/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets to DST at each single write: they meet what held before, or what holds afterwards.
 */
#ifndef TEST_EXCEPTION_WATCH_H
#define TEST_EXCEPTION_WATCH_H

#include "exception_world.h"

#define DST "2001:db8:1::1"

/* A packet's route, and what it meets there. */
struct meeting {
	struct fib_target route;
	enum sim_effect effect;
};

static struct {
	struct world *world;
	struct meeting may[3];
	size_t n;
	unsigned int writes;
} watch;

static inline bool meets(const struct meeting *meeting)
{
	const struct sixlane_exception *value;
	const union sixlane_addr dst = addr(DST);
	struct sim_found found;

	if (!sim_find(watch.world->sim, SIXLANE_TABLE_MAIN, &dst, &dst, &found))
		return meeting->route.verdict != SIXLANE_FORWARD;
	return sim_does(watch.world->sim, &found, &meeting->route, NULL, NULL, false) &&
	       sim_effect(watch.world->sim, SIXLANE_TABLE_MAIN, &dst, &found, &value) ==
		       meeting->effect;
}

static inline void look(void *ctx)
{
	(void)ctx;
	watch.writes++;
	for (size_t i = 0; i < watch.n; i++) {
		if (meets(&watch.may[i]))
			return;
	}
	fail_msg("a packet meets what is neither of before nor of afterwards");
}

/* From now on packets to DST meet one of these, and in the end the last one. */
static inline void watch_for(struct world *world, const struct meeting *may, size_t n)
{
	watch.world = world;
	memcpy(watch.may, may, n * sizeof(*may));
	watch.n = n;
	watch.writes = 0;
	world->sim->written = look;
}

static inline void watch_end(struct world *world)
{
	assert_true(watch.writes > 0);
	world->sim->written = NULL;
	assert_true(meets(&watch.may[watch.n - 1]));
}

#endif
