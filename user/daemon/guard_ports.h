/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard's decisions about ports and pairs of ports, as the maps have them. Held back is written
 * before free. Does not decide when: guard_apply.c does.
 */
#ifndef USER_DAEMON_GUARD_PORTS_H
#define USER_DAEMON_GUARD_PORTS_H

#include "../guard/guard.h"
#include "../maps/maps.h"
#include "watchdog.h"

struct sync;

/* The guard, and which of its decisions are in the maps. */
struct guard_state {
	struct guard *guard;
	struct watchdog *watchdog; /* NULL before guard_apply_start() */
	uint64_t due_ns;	   /* the guard asks to be run then */
	bool ready;		   /* the maps have what the guard decided */
	bool slow;		   /* reading takes too long; every packet passes meanwhile */
	bool unreported;	   /* the log may lack what is held back now */
	bool tightens;	    /* first step of an update: nothing that was held back becomes free */
	int policies_error; /* -errno of writing the IPsec policies; 0: written */
	uint64_t policies_version;			 /* of the policies in the maps */
	char reported[GUARD_N_CAUSES][GUARD_REASON_LEN]; /* last reason logged for each cause */
};

/* Devices that have a port slot, in the order of slots. */
struct guard_ports {
	uint32_t slots[SIXLANE_MAX_PORTS];
	const struct device *devices[SIXLANE_MAX_PORTS];
	size_t n;
};
void guard_ports_find(const struct sync *sync, struct guard_ports *ports);

/* Write the pairs of all ports; only_held: only those that are held back. */
void guard_ports_write_all(struct sync *sync, bool only_held);
/* Write the pairs of a device that has just got a slot. */
void guard_ports_write_pairs(struct sync *sync, const struct device *device);

/* SIXLANE_PORT_* flags by the guard, and no source of ICMPv6 errors where XDP must not answer. */
void guard_ports_set_flags(const struct sync *sync, const struct device *device,
			   struct sixlane_port *port);

/* A device came, went or was renamed. True: ports are to be written again. */
bool guard_ports_devices_changed(struct sync *sync);
/* The same if names or VRFs may have changed unnoticed. Ports are to be written again. */
void guard_ports_refresh(struct sync *sync);

#endif
