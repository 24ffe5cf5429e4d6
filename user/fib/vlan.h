/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sl_vlans: which port receives the frames of a lower device with a tag. The datapath checks what
 * it finds there against the port, so an entry that could not be deleted does no harm. A missing
 * entry only leaves packets to the kernel. Both are tried again.
 */
#ifndef USER_FIB_VLAN_H
#define USER_FIB_VLAN_H

#include "desired.h"

struct fib_vlan {
	struct fib_hash_node node;
	struct sixlane_vlan_key key;
	uint32_t slot;
	struct fib_port *port; /* NULL: no port has it, so it is to be deleted */
	bool adopted;	       /* not confirmed yet */
};

/* Call before the port is written with this content; NULL: before it is removed. */
void fib_vlan_before(struct fib *fib, struct fib_port *port, const struct sixlane_port *content);
/*
 * Call after the port was written. Gives the port its tag. If another port has the tag, it is taken
 * from that one, unless this is a retry.
 */
void fib_vlan_after(struct fib *fib, struct fib_port *port, bool retry);
/* Delete entries without a port; with confirm also adopted ones. */
void fib_vlan_sweep(struct fib *fib, bool confirm);

#endif
