/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the desired state writes with: maps/write.c on a router, a recorder in tests. The writer
 * knows how a map is written so that readers see nothing half done; the caller decides what and in
 * which order.
 */
#ifndef USER_FIB_WRITER_H
#define USER_FIB_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

/* The maps, with the types of their keys and values. */
enum fib_map {
	/* Hashes and tries. */
	FIB_MAP_ROUTES,	     /* struct sixlane_route_key: uint32_t */
	FIB_MAP_SOURCES,     /* struct sixlane_route_key: uint32_t */
	FIB_MAP_NEIGH_INDEX, /* struct sixlane_neigh_key: slot, uint32_t */
	FIB_MAP_PORT_INDEX,  /* ifindex, uint32_t: slot, uint32_t */
	FIB_MAP_VLANS,	     /* struct sixlane_vlan_key: slot, uint32_t */
	FIB_MAP_EXCEPTIONS,  /* union sixlane_addr: struct sixlane_exception */
	/* Arrays, which are mapped memory: a store cannot fail. */
	FIB_MAP_NEXT_HOPS, /* struct sixlane_next_hop; one word: its entry */
	FIB_MAP_BUCKETS,   /* one word: union sixlane_nh_bucket */
	FIB_MAP_NEIGHS,	   /* struct sixlane_neigh; one word: its MAC */
	FIB_MAP_PORTS,	   /* struct sixlane_port */
};

struct fib_writer {
	void *ctx; /* given to all functions */
	/*
	 * Insert or replace an entry of a hash or trie. 0, or -errno and the map is as before.
	 *
	 * The value of an exception lacks the datapath's counters, check and version. added_ns 0
	 * keeps that of an existing entry; a new one gets the current time. After an error, packets
	 * of the destination may pass.
	 */
	int (*set)(void *ctx, enum fib_map map, const void *key, const void *value);
	/* 0, -ENOENT or another -errno. */
	int (*del)(void *ctx, enum fib_map map, const void *key);
	/*
	 * Write a whole entry of an array, which no packet may use: a next hop that nothing names,
	 * a neighbour that no index names (its MAC is stored last).
	 *
	 * A port may be in use: it is written field by field, flags last when they grow and first
	 * when they shrink. Waits for a grace period when packets would mix the old port with the
	 * new.
	 */
	void (*store)(void *ctx, enum fib_map map, uint32_t index, const void *value);
	/* Write one word of an entry that packets may use, by one store. */
	void (*store_word)(void *ctx, enum fib_map map, uint32_t index, uint64_t word);
	/*
	 * Reduce a port to what both its old and its new value allow, unless it becomes another
	 * port. Returns true if storing the new value would have to wait for packets under way.
	 */
	bool (*hold_port)(void *ctx, uint32_t slot, const struct sixlane_port *port);
	/* SIXLANE_META_GAPS. */
	void (*set_gaps)(void *ctx, bool gaps);
	/* Memory of the compiled FIB: see struct compiled_memory. */
	void *(*chunk)(void *ctx, uint32_t n);
	void (*publish)(void *ctx, union sixlane_fib fib);
	/* Wait until every packet that was under way at the call has left. 0 or -errno. */
	int (*grace)(void *ctx);
};

#endif
