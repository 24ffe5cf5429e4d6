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

/*
 * sim_fib.c: make a chunk of the compiled FIB; free all of them, as a new daemon does; call fn for
 * every value there, for some several times.
 */
void *sim_fib_chunk(void *ctx, uint32_t n);
void sim_fib_drop(struct sim *sim);
void sim_fib_each(const struct sim *sim, void (*fn)(void *ctx, uint32_t value), void *ctx);

/* sim_maps.c: whether this write fails, if one in so many does; call after each visible change. */
bool sim_fails(struct sim *sim, unsigned int one_in);
void sim_report(struct sim *sim);

/* sim_slots.c: as the functions of struct fib_writer. */
void sim_neigh_set(struct sim *sim, uint32_t slot, const struct sixlane_neigh *neigh);
void sim_neigh_set_mac(struct sim *sim, uint32_t slot, union sixlane_mac mac);
bool sim_port_hold(void *ctx, uint32_t slot, const struct sixlane_port *port);
void sim_port_set(struct sim *sim, uint32_t slot, const struct sixlane_port *port);
int sim_neigh_index_set(struct sim *sim, const struct sixlane_neigh_key *key, uint32_t slot);
int sim_neigh_index_del(struct sim *sim, const struct sixlane_neigh_key *key);
int sim_port_index_set(struct sim *sim, uint32_t ifindex, uint32_t slot);
int sim_port_index_del(struct sim *sim, uint32_t ifindex);
int sim_vlan_set(struct sim *sim, const struct sixlane_vlan_key *key, uint32_t slot);
int sim_vlan_del(struct sim *sim, const struct sixlane_vlan_key *key);

/* Fail the test if what a next-hop entry, or a member of a group, names does not exist. */
void sim_check_entry(const struct sim *sim, union sixlane_nh_entry nh_entry);
void sim_check_leaf(const struct sim *sim, uint32_t id);

#endif
