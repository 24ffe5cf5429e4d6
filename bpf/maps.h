/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps of the datapath, as sixlane.h lays them out. All are pinned by name, so that the
 * second port loaded by `ip link` shares those of the first (but for scratch.h). Knows no packet.
 *
 * The arrays are mapped into the daemon, which stores to them while packets are under way:
 * a word that is tested and then used, or published by one store, is read by READ_ONCE.
 */
#ifndef SIXLANE_MAPS_H
#define SIXLANE_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* wants the types of the above */

#include "abi/sixlane.h"

/* What most packets do is laid out in a row, and what few do behind it. */
#ifndef likely /* newer libbpf has both */
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sixlane_meta);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_meta SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_ROUTES);
	__type(key, struct sixlane_route_key);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_routes SEC(".maps");

/* The daemon makes chunks as it needs them. */
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
	char (*map_extra)[SIXLANE_FIB_ARENA]; /* as by __uint, whose int are too many */
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_fib_arena SEC(".maps");
#endif

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_SOURCES);
	__type(key, struct sixlane_route_key);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_src_routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_MAX_NEXT_HOPS);
	__type(key, __u32);
	__type(value, struct sixlane_next_hop);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_next_hops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_MAX_NH_BUCKETS);
	__type(key, __u32);
	__type(value, union sixlane_nh_bucket);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_nh_buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_EXCEPTIONS);
	__type(key, union sixlane_addr);
	__type(value, struct sixlane_exception);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_exceptions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_PUNTED_WORDS);
	__type(key, __u32);
	__type(value, __u64);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_punted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_FRESH_WORDS);
	__type(key, __u32);
	__type(value, __u64);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_fresh SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_OPERATOR_EXCEPTIONS);
	__type(key, union sixlane_addr);
	__type(value, struct sixlane_operator);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_operator SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SIXLANE_ICMP_EVENTS_BYTES);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_icmp_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sixlane_cpu);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_NEIGHBOURS);
	__type(key, struct sixlane_neigh_key);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_neigh_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_MAX_NEIGHBOURS);
	__type(key, __u32);
	__type(value, struct sixlane_neigh);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_neighbours SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SIXLANE_SAMPLES_BYTES);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SIXLANE_MAX_PORTS);
	__type(key, __u32);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_port_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct sixlane_port);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_VLANS);
	__type(key, struct sixlane_vlan_key);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_vlans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * SIXLANE_MAX_RULES);
	__type(key, __u32);
	__type(value, struct sixlane_rule);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SIXLANE_GUARD_WORDS);
	__type(key, __u32);
	__type(value, __u64);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_guard SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_POLICIES);
	__type(key, struct sixlane_route_key);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_policies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SIXLANE_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct sixlane_counters);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_counters SEC(".maps");

#endif
