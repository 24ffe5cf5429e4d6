// SPDX-License-Identifier: GPL-2.0-only
/*
 * What fib6 has at one level, read from its own trie. Embedded in the daemon, which runs it for a
 * level at a time (BPF_PROG_TEST_RUN of a raw tracepoint's program, under RCU) in the network
 * namespace that it is about.
 *
 * Finds the node as fib6_locate() does, and reads its list as rt6_select() does. What is there all
 * the while is found, though others come and go.
 */
#include <linux/bpf.h>
#include <linux/in6.h>
#include <linux/ipv6_route.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "census.h"

#define TABLE_BUCKETS 256 /* FIB6_TABLE_HASHSZ */
#define MAX_TABLES 64	  /* in one bucket */
#define MAX_DEPTH 129
#define MAX_ROUTES 600	      /* of one node */
#define MAX_HOPS 256	      /* ROUTE_MAX_HOPS */
#define MAX_JIFFIES_APART 100 /* lifetimes given at once; at most a second, whatever HZ is */

/* --- the kernel's structures, of which libbpf finds the members by name (CO-RE) --- */

/* of net/ip6_route.h */
#define IPV6_DECODE_PREF(pref) ((pref) ^ 2)
#define RTN_RTINFO 0x0004 /* the node has routes of its own */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct netns_ipv6 {
	struct hlist_head *fib_table_hash;
};

struct net {
	struct netns_ipv6 ipv6;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	struct nsproxy *nsproxy;
};

struct fib6_node {
	struct fib6_node *left, *right, *subtree;
	struct fib6_info *leaf;
	__u16 fn_bit;
	__u16 fn_flags;
};

struct fib6_table {
	struct hlist_node tb6_hlist;
	__u32 tb6_id;
	struct fib6_node tb6_root;
};

struct rt6key {
	struct in6_addr addr;
	int plen;
};

struct dst_metrics {
	__u32 metrics[RTAX_MAX]; /* by RTAX_* - 1 */
};

struct net_device {
	int ifindex;
};

struct fib_nh_common {
	struct net_device *nhc_dev;
	union {
		struct in6_addr ipv6;
	} nhc_gw;
};

struct fib6_nh {
	struct fib_nh_common nh_common;
};

struct nexthop {
	__u32 id;
};

struct fib6_info {
	struct fib6_info *fib6_next;
	unsigned int fib6_nsiblings;
	struct rt6key fib6_dst, fib6_src;
	__u32 fib6_flags;
	unsigned long expires;
	__u32 fib6_metric;
	__u8 fib6_type, fib6_protocol;
	struct dst_metrics *fib6_metrics;
	struct nexthop *nh;
	struct fib6_nh fib6_nh[];
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct census);
} census SEC(".maps");

static struct census *the_census(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&census, &zero);
}

/* --- to the node --- */

/* fib6_get_table() */
static const struct fib6_node *find_root(__u32 id)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();
	const struct hlist_head *heads = BPF_CORE_READ(task, nsproxy, net_ns, ipv6.fib_table_hash);
	const struct hlist_node *node = BPF_CORE_READ(&heads[id % TABLE_BUCKETS], first);

	for (int i = 0; node && i < MAX_TABLES; i++) {
		const struct fib6_table *table =
			(const void *)node - bpf_core_field_offset(struct fib6_table, tb6_hlist);

		if (BPF_CORE_READ(table, tb6_id) == id)
			return __builtin_preserve_access_index(&table->tb6_root);
		node = BPF_CORE_READ(node, next);
	}
	return NULL;
}

/*
 * fib6_locate_1(), but for the comparison of the prefix, which the caller makes. Like the others
 * that are not static, a function of its own for the verifier, which looks at it once.
 */
__u64 descend(__u64 root, bool by_src)
{
	const struct fib6_node *node = (const void *)root;
	const struct census *question = the_census();
	__u32 len;

	if (!question)
		return 0;
	len = by_src ? question->level.src_len : question->level.dst_len;
	for (int i = 0; node && i < MAX_DEPTH; i++) {
		const __u32 bit = BPF_CORE_READ(node, fn_bit), byte = bit / 8 & 15;
		__u8 bits;

		if (bit >= len)
			return bit == len ? (__u64)node : 0;
		bits = by_src ? question->level.src[byte] : question->level.dst[byte];
		if (bits & 0x80 >> bit % 8)
			node = BPF_CORE_READ(node, right);
		else
			node = BPF_CORE_READ(node, left);
	}
	return 0;
}

static bool is_prefix(const struct rt6key *key, const __u8 addr[16], __u32 len)
{
	__u64 theirs[2], ours[2];

	bpf_core_read(theirs, sizeof(theirs), &key->addr);
	__builtin_memcpy(ours, addr, sizeof(ours));
	return (__u32)BPF_CORE_READ(key, plen) == len && theirs[0] == ours[0] &&
	       theirs[1] == ours[1];
}

/* The routes of the level's destination and source, of all metrics. */
static const struct fib6_info *find_routes(const struct census *question)
{
	const struct fib6_node *node =
		(const void *)descend((__u64)find_root(question->level.table), false);
	const struct fib6_info *rt;

	if (node && question->level.src_len) {
		if (!bpf_core_field_exists(node->subtree))
			return NULL;
		node = (const void *)descend((__u64)BPF_CORE_READ(node, subtree), true);
	}
	if (!node || !(BPF_CORE_READ(node, fn_flags) & RTN_RTINFO))
		return NULL;
	rt = BPF_CORE_READ(node, leaf);
	if (!rt ||
	    !is_prefix(__builtin_preserve_access_index(&rt->fib6_dst), question->level.dst,
		       question->level.dst_len) ||
	    !is_prefix(__builtin_preserve_access_index(&rt->fib6_src), question->level.src,
		       question->level.src_len))
		return NULL;
	return rt;
}

/* --- its routes --- */

static struct {
	__u32 hops;   /* of the multipath set */
	__u32 others; /* since the first hop */
	struct level_entry first;
	__u64 first_expires; /* jiffies */
} seen;

static struct level_entry read_entry(const struct fib6_info *rt)
{
	const struct nexthop *object = BPF_CORE_READ(rt, nh);
	const __u32 flags = BPF_CORE_READ(rt, fib6_flags);
	struct level_entry entry = {
		.mtu = BPF_CORE_READ(rt, fib6_metrics, metrics[RTAX_MTU - 1]),
		.mtu_locked =
			BPF_CORE_READ(rt, fib6_metrics, metrics[RTAX_LOCK - 1]) >> RTAX_MTU & 1,
		.preference = IPV6_DECODE_PREF(flags >> 27 & 3),
		.expires = flags / RTF_EXPIRES & (BPF_CORE_READ(rt, fib6_protocol) != RTPROT_RA),
	};

	if (object) {
		entry.next_hop_id = BPF_CORE_READ(object, id);
		return entry;
	}
	entry.type = BPF_CORE_READ(rt, fib6_type);
	entry.ifindex = BPF_CORE_READ(rt, fib6_nh[0].nh_common.nhc_dev, ifindex);
	bpf_core_read(entry.gateway, sizeof(entry.gateway), &rt->fib6_nh[0].nh_common.nhc_gw.ipv6);
	return entry;
}

static bool is_unlike(const struct level_entry *entry, __u64 expires)
{
	const struct level_entry *first = &seen.first;
	const __u64 apart = expires - seen.first_expires + MAX_JIFFIES_APART;

	return entry->mtu != first->mtu || entry->mtu_locked != first->mtu_locked ||
	       entry->type != first->type || entry->preference != first->preference ||
	       entry->expires != first->expires ||
	       (entry->expires && apart > 2 * MAX_JIFFIES_APART);
}

/* A hop behind another: what a dump skips, and whether one's attributes are another's. */
static void compare_hop(struct census *reply, const struct fib6_info *rt,
			const struct level_entry *entry)
{
	const __u64 expires = BPF_CORE_READ(rt, expires);

	if (!BPF_CORE_READ(rt, fib6_nsiblings)) {
		seen.others += seen.hops != 0;
		return;
	}
	if (!seen.hops) {
		seen.first = *entry;
		seen.first_expires = expires;
	}
	seen.hops++;
	reply->answer.between |= seen.others != 0;
	reply->answer.unlike |= seen.hops > MAX_HOPS || is_unlike(entry, expires);
}

int add_route(__u64 address)
{
	const struct fib6_info *rt = (const void *)address;
	struct census *reply = the_census();
	struct level_entry entry;

	if (!reply || BPF_CORE_READ(rt, fib6_metric) != reply->level.metric)
		return 0;
	entry = read_entry(rt);
	level_add(&reply->answer.sum, &entry);
	compare_hop(reply, rt, &entry);
	return 0;
}

SEC("raw_tp")
int census_level(void *ctx)
{
	struct census *reply = the_census();
	const struct fib6_info *rt;

	(void)ctx;
	if (!reply)
		return 0;
	__builtin_memset(&reply->answer, 0, sizeof(reply->answer));
	__builtin_memset(&seen, 0, sizeof(seen));
	rt = find_routes(reply);
	for (int i = 0; rt && i < MAX_ROUTES; i++) {
		add_route((__u64)rt);
		rt = BPF_CORE_READ(rt, fib6_next);
	}
	reply->answer.unlike |= rt != NULL;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
