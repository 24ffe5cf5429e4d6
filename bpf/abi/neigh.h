/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Neighbours (sl_neigh_index, sl_neighbours), and samples of their packets (sl_samples). */
#ifndef BPF_ABI_NEIGH_H
#define BPF_ABI_NEIGH_H

#include "addr.h"

#define SIXLANE_MAX_NEIGHBOURS 131072u

/* --- sl_neigh_index: HASH, key sixlane_neigh_key, value __u32 index in sl_neighbours --- */

struct sixlane_neigh_key {
	union sixlane_addr addr;
	__u32 ifindex;
	__u32 zero;
};
_Static_assert(sizeof(struct sixlane_neigh_key) == 24, "layout is ABI");

/* --- sl_neighbours: ARRAY, mmapable; slot 0 is never used ------------------------------ */

/*
 * The key is repeated here and compared by readers that came by the hash, since the
 * kernel may reuse an element of a hash while a reader still holds it. A slot's key
 * changes only after a grace period in which nothing named the slot.
 */
struct sixlane_neigh {
	union sixlane_mac mac; /* 0 while unresolved */
	struct sixlane_neigh_key key;
	__u32 used; /* set to 1 by the datapath when 0, cleared by the daemon: "has traffic" */
	/* Set to 1 by the daemon: the packet that next sets used is to be told in sl_samples, and
	 * clears it. */
	__u32 sample;
};
_Static_assert(sizeof(struct sixlane_neigh) == 40, "layout is ABI");

/* --- sl_samples: RINGBUF of sixlane_sample ------------------------------------------------ */

#define SIXLANE_SAMPLES_BYTES 65536u /* a page, on every architecture */

/* A packet that was forwarded, and where to. None that an exception was applied to. */
struct sixlane_sample {
	union sixlane_addr dst, src;
	union sixlane_addr next_hop; /* the gateway, or on link the destination */
	__u32 ingress;		     /* ifindex of the port, that of a VLAN or bond … */
	__u32 iif;		     /* … and what rules see: the VRF of a VRF's port */
	__u32 table;		     /* in which the route was found */
	__u32 egress;		     /* ifindex of the route's device */
	__be16 src_port, dst_port;   /* 0 where the protocol has none */
	__u8 next_header;
	__u8 tclass;
	__u8 zero[2];
};
_Static_assert(sizeof(struct sixlane_sample) == 72, "layout is ABI");

#endif
