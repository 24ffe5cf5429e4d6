/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the forwarders that sixlane is compared with need to know: set before they are loaded.
 */
#ifndef BENCH_FORWARD_CONFIG_H
#define BENCH_FORWARD_CONFIG_H

#include <linux/types.h>

struct forward_config {
	__u32 egress;	  /* ifindex */
	__be32 table;	  /* in the key of the bare trie */
	__u16 dst_mac[4]; /* of the next hop; three words are used */
	__u16 src_mac[4]; /* of the egress device */
	__u32 load_bytes; /* of forward_memory, to load from */
	__u32 large;	  /* frames may lie in several buffers (Linux 5.18) */
};

/* Where a route leads to. */
struct forward_hop {
	__u32 egress; /* ifindex */
	__u16 dst_mac[3];
	__u16 src_mac[3];
};

struct forward_count {
	__u64 packets, bytes;
};

/* Linux 5.15 allows no array to have larger values. */
#define FORWARD_MEMORY_WORDS (1u << 20)

struct forward_memory {
	__u32 words[FORWARD_MEMORY_WORDS];
};

#endif
