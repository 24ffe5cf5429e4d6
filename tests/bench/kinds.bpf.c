// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kinds of map that exceptions could stand in, each hit as bpf/exception.h hits its own: a
 * lookup, three stores to the value. Entered by plain test runs, one lookup a run; "none" is what
 * a run costs without.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "../../bpf/abi/sixlane.h"
#include "kinds.h"

#define KIND(name, kind_type, kind_flags)                    \
	struct {                                             \
		__uint(type, BPF_MAP_TYPE_##kind_type);      \
		__uint(map_flags, kind_flags);               \
		__uint(max_entries, SIXLANE_MAX_EXCEPTIONS); \
		__type(key, union sixlane_addr);             \
		__type(value, struct sixlane_exception);     \
	} name SEC(".maps")

KIND(shared, HASH, BPF_F_NO_PREALLOC);
KIND(percpu, PERCPU_HASH, BPF_F_NO_PREALLOC);
KIND(percpu_full, PERCPU_HASH, 0);
KIND(percpu_lru, LRU_PERCPU_HASH, 0);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} turn SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} spread SEC(".maps");

/* Of the entry to hit: below spread, which is a power of two. */
static __always_inline __u32 next_number(void)
{
	__u32 zero = 0, *number = bpf_map_lookup_elem(&turn, &zero);
	__u32 *n = bpf_map_lookup_elem(&spread, &zero);

	/* an odd step goes through all of a power of two, far from one to the next */
	return number && n ? (*number += KINDS_STEP) & (*n - 1) : 0;
}

static __always_inline int hit(void *map)
{
	union sixlane_addr key = { 0 };
	struct sixlane_exception *value;

	key.words[3] = next_number();
	value = map ? bpf_map_lookup_elem(map, &key) : NULL;
	if (!value) /* none, or dropped by the map itself */
		return XDP_DROP;
	value->hits++;
	value->bytes += 64;
	value->used_ns = bpf_ktime_get_coarse_ns();
	return XDP_DROP;
}

#define SIDE(name, map)                    \
	SEC("xdp")                         \
	int hit_##name(struct xdp_md *ctx) \
	{                                  \
		(void)ctx;                 \
		return hit(map);           \
	}

SIDE(none, NULL)
SIDE(shared, &shared)
SIDE(percpu, &percpu)
SIDE(percpu_full, &percpu_full)
SIDE(percpu_lru, &percpu_lru)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
