/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What packets can get to in the simulated maps, and what may be named there. Private to sim_*.c.
 */
#ifndef TEST_SIM_USE_H
#define TEST_SIM_USE_H

#include "sim_maps.h"

/* Before anything changes: whatever packets can get to now, they can until a grace period ends. */
void sim_use_refresh(struct sim *sim);
/* As of the last refresh: packets can get there; they can, or could in this grace period. */
bool sim_use_is_named(const struct sim *sim, const struct sim_use *of);
bool sim_use_is_recent(const struct sim *sim, const struct sim_use *of);

/* sim_fib.c: memory of the compiled FIB; all of it goes, as a new daemon has it; and every value
 * that packets may find there, some of them often. */
void *sim_fib_chunk(void *ctx, uint32_t n);
void sim_fib_drop(struct sim *sim);
void sim_fib_each(const struct sim *sim, void (*fn)(void *ctx, uint32_t value), void *ctx);

/* Fails the test if what a next-hop entry, or a member of a group, leads to is not there. */
void sim_check_entry(const struct sim *sim, union sixlane_nh_entry nh_entry);
void sim_check_leaf(const struct sim *sim, uint32_t id);

#endif
