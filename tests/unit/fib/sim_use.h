/* SPDX-License-Identifier: GPL-2.0-only */
/* What packets can reach in the simulated maps, and what may be named there. Private to sim_*.c. */
#ifndef TEST_SIM_USE_H
#define TEST_SIM_USE_H

#include "sim_maps.h"

/* Call before a change: what packets can reach now, they can until a grace period ends. */
void sim_use_refresh(struct sim *sim);
/* As of the last refresh: packets can reach it now; now or since the last grace period. */
bool sim_use_is_named(const struct sim *sim, const struct sim_use *of);
bool sim_use_is_recent(const struct sim *sim, const struct sim_use *of);

/* sim_fib.c: the memory of the compiled FIB; freeing it, as a new daemon does; calling fn for every
 * value in it, for some several times. */
void *sim_fib_chunk(void *ctx, uint32_t n);
void sim_fib_drop(struct sim *sim);
void sim_fib_each(const struct sim *sim, void (*fn)(void *ctx, uint32_t value), void *ctx);

/* Fail the test if what a next-hop entry, or a member of a group, names does not exist. */
void sim_check_entry(const struct sim *sim, union sixlane_nh_entry nh_entry);
void sim_check_leaf(const struct sim *sim, uint32_t id);

#endif
