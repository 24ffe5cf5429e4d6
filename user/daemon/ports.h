/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which programs run on which devices, and the datapath's view of each device: a port slot.
 */
#ifndef USER_DAEMON_PORTS_H
#define USER_DAEMON_PORTS_H

#include <stdbool.h>
#include <stdint.h>

struct device;
struct loader_maps;
struct stores;
struct sync;

/* Attach to the configured ports. 0; or -errno and err (LOADER_ERR bytes), and all are detached. */
int ports_attach(struct sync *sync, char *err);
/* Detach from every device of this namespace that runs a program with our maps. 0 or -errno. */
int ports_detach_all(const struct loader_maps *fds);

/* A device changed: check its program and write its port, and those that depend on it. */
void ports_update(struct sync *sync, uint32_t ifindex);
void ports_update_all(struct sync *sync);
/* The same for the slaves of a bond; other masters: nothing is done. */
void ports_update_slaves(struct sync *sync, uint32_t master);
/* Write all ports again, since something changed that no device reports. */
void ports_write_all(struct sync *sync);
/* A device is about to be removed from the store. moved: to another network namespace. */
void ports_removed(const struct stores *stores, const struct device *device, bool moved);
/* Routes lead to this device: give it a slot if it has none. */
void ports_add_egress(struct sync *sync, uint32_t ifindex);

#endif
