/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How programs of the engine declare a map: a line each. */
#ifndef BENCH_ENGINE_MAP_BPF_H
#define BENCH_ENGINE_MAP_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* needs the types of the above */

#define MAP(name, kind, flags, entries, key_type, value_type) \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_##kind);            \
		__uint(map_flags, flags);                     \
		__uint(max_entries, entries);                 \
		__type(key, key_type);                        \
		__type(value, value_type);                    \
	} name SEC(".maps")

#endif
