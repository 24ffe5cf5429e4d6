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
 * Readers that found the slot by the hash compare the key again, since the kernel may reuse an
 * element of a hash while a reader holds it. A slot gets another key only after a grace period in
 * which nothing referred to the slot.
 */
struct sixlane_neigh {
	union sixlane_mac mac; /* 0 while unresolved */
	struct sixlane_neigh_key key;
	__u32 used; /* has traffic: set to 1 by the datapath, cleared by the daemon */
	/* Set to 1 by the daemon to get a sample of the packet that next sets used, which clears
	 * it. */
	__u32 sample;
};
_Static_assert(sizeof(struct sixlane_neigh) == 40, "layout is ABI");

/* --- sl_samples: RINGBUF of sixlane_sample ------------------------------------------------ */

#define SIXLANE_SAMPLES_BYTES 65536u /* a page, on every architecture */

/* A forwarded packet and its next hop. Packets with an exception are not sampled. */
struct sixlane_sample {
	union sixlane_addr dst, src;
	union sixlane_addr next_hop; /* the gateway, or the destination itself */
	__u32 ingress;		     /* ifindex of the port, also a VLAN device or bond */
	__u32 iif;		     /* ifindex that rules match: that of a VRF */
	__u32 table;		     /* of the route */
	__u32 egress;		     /* ifindex of the route's device */
	__be16 src_port, dst_port;   /* 0 for a protocol without ports */
	__u8 next_header;
	__u8 tclass;
	__u8 zero[2];
};
_Static_assert(sizeof(struct sixlane_sample) == 72, "layout is ABI");

#endif
