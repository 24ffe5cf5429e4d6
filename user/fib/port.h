/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ports: slots of devices in sl_ports, and their VLANs: which port receives the frames of a lower
 * device with a tag (sl_vlans). A next hop may name a port before its device was described:
 * the port has flags 0 until then, and packets to it pass. Knows nothing of what flags mean.
 *
 * The datapath checks what it finds in sl_vlans against the port, so an entry that could not be
 * deleted does no harm. A missing entry only leaves packets to the kernel. Both are tried again.
 */
#ifndef USER_FIB_PORT_H
#define USER_FIB_PORT_H

#include "desired.h"

struct fib_vlan {
	struct fib_hash_node node;
	struct sixlane_vlan_key key;
	uint32_t slot;
	struct fib_port *port; /* NULL: no port has it, so it is to be deleted */
	bool adopted;	       /* not confirmed yet */
};

struct fib_port {
	struct fib_hash_node node;
	struct sixlane_port port; /* as written; the key is its ifindex */
	struct fib_vlan *vlan;	  /* NULL: it has no tag, or no entry in sl_vlans */
	uint32_t slot;
	uint32_t refs; /* next hops */
	bool known;    /* the device exists */
	bool adopted;  /* not confirmed yet */
	bool held;     /* the maps allow less than port: fib_prepare_port() */
};

/* A reference to the port of a device, which is added if needed. NULL: no room or no memory. */
struct fib_port *fib_port_get(struct fib *fib, uint32_t ifindex);
void fib_port_put(struct fib *fib, struct fib_port *port);
/* Free unused ports and retry tags. confirm: the device of a port that is still adopted is gone. */
void fib_port_sweep(struct fib *fib, bool confirm);

/* Delete tags without a port; with confirm also adopted ones. */
void fib_vlan_sweep(struct fib *fib, bool confirm);

#endif
