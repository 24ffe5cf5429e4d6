/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices: the programs that run on them, the datapath's view of each (a port slot), and what keeps
 * them from forwarding.
 */
#ifndef USER_DAEMON_PORTS_H
#define USER_DAEMON_PORTS_H

#include "../maps/maps.h"

struct device;
struct link;
struct links;
struct schedule;
struct stores;
struct sync;

/* --- port_program.c */

/* Attach to the configured ports. 0; or -errno and err (LOADER_ERR bytes), and all are detached. */
int ports_attach(struct sync *sync, char *err);
/* Detach from every device of this namespace that runs a program with our maps. 0 or -errno. */
int ports_detach_all(const struct loader_maps *fds);

/* A device is about to be removed from the store. moved: to another network namespace. */
void ports_removed(const struct stores *stores, const struct device *device, bool moved);
/* Check the program of a device: it may be new, have gone, or not fit the MTU. */
void ports_update_program(struct sync *sync, struct device *device);

/* --- ports.c */

/* A device changed: check its program and write its port, and those that depend on it. */
void ports_update(struct sync *sync, uint32_t ifindex);
void ports_update_all(struct sync *sync);
/* The same for the slaves of a bond; other masters: nothing is done. */
void ports_update_slaves(struct sync *sync, uint32_t master);
/* Write all ports again, since something changed that no device reports. */
void ports_write_all(struct sync *sync);
/* Routes lead to this device: give it a slot if it has none. */
void ports_add_egress(struct sync *sync, uint32_t ifindex);

/* Devices that have a port slot, in the order of slots. */
struct port_list {
	uint32_t slots[SIXLANE_MAX_PORTS];
	const struct device *devices[SIXLANE_MAX_PORTS];
	size_t n;
};
void ports_list(const struct sync *sync, struct port_list *ports);

/* Write the pairs of all ports; only_held: only those that are held back. */
void ports_write_pairs(struct sync *sync, bool only_held);

/* SIXLANE_PORT_* flags by the guard, and no source of ICMPv6 errors where XDP must not answer. */
void ports_set_guard_flags(const struct sync *sync, const struct device *device,
			   struct sixlane_port *port);

/* A device came, went or was renamed. True: ports are to be written again. */
bool ports_guard_changed(struct sync *sync);

/* --- port_checks.c */

/* A message about a device came: mark the ports whose upper devices it may concern. */
void ports_mark_uppers(struct links *links, struct schedule *schedule, const struct link *link);
/* Check the marked ports, or all: ports whose frames an upper device takes pass everything. */
void ports_check_uppers(struct sync *sync, bool all);
/* Ports whose NIC strips VLAN tags before XDP pass everything. */
void ports_check_strips(struct sync *sync);

#endif
