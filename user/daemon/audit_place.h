/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places: destinations that the audit reads out of turn, since an event points at them, a lifetime
 * ends there, or a pass found a difference.
 */
#ifndef USER_DAEMON_AUDIT_PLACE_H
#define USER_DAEMON_AUDIT_PLACE_H

#include <sys/queue.h>

#include "../rib/radix.h"

struct audit;
struct sync;

struct audit_place {
	TAILQ_ENTRY(audit_place) in_list;
	struct prefix dst;
	uint32_t table;
	uint32_t n_left; /* readings to come */
	uint64_t due_ns; /* of the next reading, or of the next check of lifetimes */
	bool counted;	 /* a difference is counted and logged */
};

/*
 * Read the routes of a destination from the kernel's own table into the RIB, since a message left
 * something out. False: they cannot be read.
 */
bool audit_place_read(struct sync *sync, uint32_t table, const struct prefix *dst);
/* The same within some milliseconds, three times: the kernel is about to change them. */
void audit_place_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * ... for all destinations with a route that a router advertised on this device. 0: with a route
 * that has an MTU, which may follow that of a device.
 */
void audit_place_read_unsteady(struct sync *sync, uint32_t advertised_by);
/* Routes of a destination changed: it becomes a place if they may change without a message. */
void audit_place_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst);
/* A pass found a difference, which audit_places_run() corrects. 0, or -E2BIG: too many. */
int audit_place_add_difference(struct audit *audit, uint32_t table, const struct prefix *dst);
/* The RIB takes over audit->routes. */
void audit_place_store(struct sync *sync, uint32_t table, const struct prefix *dst);

/* Count a reading of the place, and set when the next one is due. */
void audit_place_begin(struct audit_place *place, uint64_t now_ns);
/* Read all places that are due. */
void audit_places_run(struct sync *sync);
void audit_places_free(struct audit *audit);

#endif
