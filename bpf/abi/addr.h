/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses, in network order, and MACs: the keys and values of several maps. */
#ifndef BPF_ABI_ADDR_H
#define BPF_ABI_ADDR_H

#include <linux/types.h>

union sixlane_addr {
	__u8 bytes[16];
	__be32 words[4];
	__be64 halves[2];
};

/*
 * A MAC and 16 bits of flags in one naturally aligned word, so that it is published by
 * one store and no reader ever sees half of it. bytes[0..5] is the MAC in wire order.
 */
union sixlane_mac {
	__u64 word;
	struct {
		__u8 bytes[6];
		__u16 flags;
	};
};
#define SIXLANE_MAC_VALID 1u /* in flags: the MAC may be used */

#endif
