// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the routes of each level (destination, source, metric) of fib6, and keeps the levels that
 * have several. Embedded in the daemon, which runs it over all tables of its network namespace
 * by reading an iterator (ipv6_route_seq_ops); nothing is written to the reader.
 *
 * A level's routes stand side by side in their node's list. While it is walked they may change;
 * the daemon hears of that.
 */
#include <linux/bpf.h>
#include <linux/in6.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "census.h"

/* Of the kernel's own structures only what is read; libbpf finds it by name (CO-RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fib6_node;

struct fib6_table {
	__u32 tb6_id;
};

struct rt6key {
	struct in6_addr addr;
	int plen;
};

struct fib6_info {
	struct fib6_table *fib6_table;
	struct fib6_node *fib6_node;
	struct rt6key fib6_dst, fib6_src;
	__u32 fib6_metric;
};

struct bpf_iter__ipv6_route {
	struct fib6_info *rt;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the daemon's choice */
	__type(key, __u32);
	__type(value, struct census_level);
} census_levels SEC(".maps");

/* The level that the walk is in. */
static struct {
	const struct fib6_node *node;
	const struct fib6_info *first; /* met again: the walk has started over */
	__u32 metric;
	__u32 n;
	__u32 index; /* in census_levels, from the second route on */
} now;

static __u32 n_levels;

static void describe(struct census_level *level, const struct fib6_info *rt)
{
	bpf_core_read(level->dst, sizeof(level->dst), &rt->fib6_dst.addr);
	bpf_core_read(level->src, sizeof(level->src), &rt->fib6_src.addr);
	level->dst_len = rt->fib6_dst.plen;
	level->src_len = rt->fib6_src.plen;
	level->table = rt->fib6_table->tb6_id;
	level->metric = rt->fib6_metric;
}

SEC("iter/ipv6_route")
int census_route(struct bpf_iter__ipv6_route *ctx)
{
	const struct fib6_info *rt = ctx->rt;
	struct census_level *level;

	if (!rt)
		return 0;
	if (rt->fib6_node != now.node || rt->fib6_metric != now.metric || rt == now.first) {
		now.node = rt->fib6_node;
		now.metric = rt->fib6_metric;
		now.first = rt;
		now.n = 0;
	}
	now.n++;
	if (now.n == 1)
		return 0;
	if (now.n == 2)
		now.index = n_levels++;
	level = bpf_map_lookup_elem(&census_levels, &now.index);
	if (!level) /* more than the daemon expected: it asks again */
		return 0;
	if (now.n == 2)
		describe(level, rt);
	level->n = now.n;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
