/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps of the datapath; bpf/abi/ has their layouts. All are pinned by name, so that the second
 * port loaded by `ip link` shares those of the first. Knows no packets.
 *
 * The daemon maps the arrays and stores to them while packets are processed. READ_ONCE reads what
 * is tested and then used, and what the daemon publishes by one store.
 */
#ifndef SIXLANE_MAPS_H
#define SIXLANE_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* wants the types of the above */

#include "abi/sixlane.h"

/* Branch hints: the compiler lays the common path out without taken jumps. */
#ifndef likely /* newer libbpf has both */
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* A map of the datapath: BPF_MAP_TYPE_*, BPF_F_*, number of entries, types of key and value. */
#define PINNED_MAP(name, map_type, flags, entries, key_type, value_type) \
	struct {                                                         \
		__uint(type, BPF_MAP_TYPE_##map_type);                   \
		__uint(map_flags, flags);                                \
		__uint(max_entries, entries);                            \
		__type(key, key_type);                                   \
		__type(value, value_type);                               \
		__uint(pinning, LIBBPF_PIN_BY_NAME);                     \
	} name SEC(".maps")

#define PINNED_RING(name, bytes)                     \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_RINGBUF);  \
		__uint(max_entries, bytes);          \
		__uint(pinning, LIBBPF_PIN_BY_NAME); \
	} name SEC(".maps")

PINNED_MAP(sl_meta, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct sixlane_meta);
PINNED_MAP(sl_routes, LPM_TRIE, BPF_F_NO_PREALLOC, SIXLANE_MAX_ROUTES, struct sixlane_route_key,
	   __u32);

/* Memory of the compiled FIB. The daemon adds chunks as it needs them. */
struct fib_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SIXLANE_FIB_CHUNK_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SIXLANE_FIB_CHUNKS);
	__type(key, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__array(values, struct fib_chunk);
} sl_fib SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SIXLANE_FIB_CHUNK_BYTES);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_fib_first SEC(".maps");

#ifdef SIXLANE_ARENA
struct {
	__uint(type, SIXLANE_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_FIB_ARENA_PAGES);
	char (*map_extra)[SIXLANE_FIB_ARENA]; /* as __uint(map_extra, …), which is limited to an int
					       */
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_fib_arena SEC(".maps");
#endif

PINNED_MAP(sl_src_routes, LPM_TRIE, BPF_F_NO_PREALLOC, SIXLANE_MAX_SOURCES,
	   struct sixlane_route_key, __u32);
PINNED_MAP(sl_next_hops, ARRAY, BPF_F_MMAPABLE, SIXLANE_MAX_NEXT_HOPS, __u32,
	   struct sixlane_next_hop);
PINNED_MAP(sl_nh_buckets, ARRAY, BPF_F_MMAPABLE, SIXLANE_MAX_NH_BUCKETS, __u32,
	   union sixlane_nh_bucket);
PINNED_MAP(sl_exceptions, PERCPU_HASH, BPF_F_NO_PREALLOC, SIXLANE_MAX_EXCEPTIONS,
	   union sixlane_addr, struct sixlane_exception);
PINNED_MAP(sl_punted, ARRAY, BPF_F_MMAPABLE, SIXLANE_PUNTED_WORDS, __u32, __u64);
PINNED_MAP(sl_fresh, ARRAY, BPF_F_MMAPABLE, SIXLANE_FRESH_WORDS, __u32, __u64);
PINNED_MAP(sl_operator, HASH, BPF_F_NO_PREALLOC, SIXLANE_MAX_OPERATOR_EXCEPTIONS,
	   union sixlane_addr, struct sixlane_operator);
PINNED_RING(sl_icmp_events, SIXLANE_ICMP_EVENTS_BYTES);
PINNED_MAP(sl_cpu, PERCPU_ARRAY, 0, 1, __u32, struct sixlane_cpu);
PINNED_MAP(sl_neigh_index, HASH, BPF_F_NO_PREALLOC, SIXLANE_MAX_NEIGHBOURS,
	   struct sixlane_neigh_key, __u32);
PINNED_MAP(sl_neighbours, ARRAY, BPF_F_MMAPABLE, SIXLANE_MAX_NEIGHBOURS, __u32,
	   struct sixlane_neigh);
PINNED_RING(sl_samples, SIXLANE_SAMPLES_BYTES);
PINNED_MAP(sl_port_index, HASH, 0, SIXLANE_MAX_PORTS, __u32, __u32);
PINNED_MAP(sl_ports, ARRAY, BPF_F_MMAPABLE, SIXLANE_MAX_PORTS, __u32, struct sixlane_port);
PINNED_MAP(sl_vlans, HASH, BPF_F_NO_PREALLOC, SIXLANE_MAX_VLANS, struct sixlane_vlan_key, __u32);
PINNED_MAP(sl_rules, ARRAY, BPF_F_MMAPABLE, 2 * SIXLANE_MAX_RULES, __u32, struct sixlane_rule);
PINNED_MAP(sl_guard, ARRAY, BPF_F_MMAPABLE, SIXLANE_GUARD_WORDS, __u32, __u64);
PINNED_MAP(sl_policies, LPM_TRIE, BPF_F_NO_PREALLOC, SIXLANE_MAX_POLICIES, struct sixlane_route_key,
	   __u32);
PINNED_MAP(sl_counters, PERCPU_ARRAY, 0, SIXLANE_MAX_PORTS, __u32, struct sixlane_counters);

#endif
