/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Structures of the kernel with the members that the kernel reader reads. libbpf finds members by
 * name (CO-RE), so order and gaps do not matter.
 */
#ifndef USER_DAEMON_KERNEL_STRUCTS_BPF_H
#define USER_DAEMON_KERNEL_STRUCTS_BPF_H

#include <linux/bpf.h>
#include <linux/in6.h>
#include <linux/ipv6_route.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define AF_INET6 10
/* of net/ip6_route.h */
#define IPV6_DECODE_PREF(pref) ((pref) ^ 2)
/* of net/ip6_fib.h, net/dst.h and net/ipv6/ip6_fib.c */
#define FIB6_EXCEPTION_BUCKET_SIZE 1024
#define RT6_EXCEPTION_BUCKET_FLUSHED 1ull
#define DST_METRICS_FLAGS 3ull
#define FIB6_TABLE_HASHSZ 256

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct rb_node {
	struct rb_node *rb_left, *rb_right;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct fib6_info;
struct fib6_table;

struct netns_ipv6 {
	struct fib6_info *fib6_null_entry;
	struct fib6_table *fib6_local_tbl; /* CONFIG_IPV6_MULTIPLE_TABLES */
	struct hlist_head *fib_table_hash;
};

struct netns_nexthop {
	struct rb_root rb_root;
};

struct net {
	struct netns_nexthop nexthop;
	struct netns_ipv6 ipv6;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	struct nsproxy *nsproxy;
};

struct fib6_node {
	struct fib6_node *left, *right;
	struct fib6_node *subtree; /* CONFIG_IPV6_SUBTREES */
	struct fib6_info *leaf;
	__u16 fn_bit;
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

struct lwtunnel_state;
struct rt6_exception_bucket;

struct fib_nh_common {
	int nhc_oif; /* the index of its device, always */
	__u8 nhc_gw_family;
	struct lwtunnel_state *nhc_lwtstate;
	union {
		struct in6_addr ipv6;
	} nhc_gw;
	int nhc_weight;
};

struct fib6_nh {
	struct fib_nh_common nh_common;
	struct rt6_exception_bucket *rt6i_exception_bucket; /* with RT6_EXCEPTION_BUCKET_FLUSHED */
};

struct nh_info {
	__u8 family;
	struct fib6_nh fib6_nh;
};

struct nexthop {
	struct rb_node rb_node;
	__u32 id;
	bool is_group;
	struct nh_info *nh_info; /* of a group another structure is in its place */
};

struct fib6_info {
	struct fib6_info *fib6_next;
	unsigned int fib6_nsiblings;
	unsigned long expires;
	struct dst_metrics *fib6_metrics;
	struct rt6key fib6_dst, fib6_src, fib6_prefsrc;
	__u32 fib6_flags;
	__u32 fib6_metric;
	__u8 fib6_protocol, fib6_type;
	struct nexthop *nh;
	struct fib6_nh fib6_nh[];
};

struct dst_entry {
	struct net_device *dev;
	unsigned long _metrics; /* the address of dst_metrics with DST_METRICS_FLAGS */
	unsigned long expires;
};

struct rt6_info {
	struct dst_entry dst;
	struct rt6key rt6i_dst;
	struct in6_addr rt6i_gateway;
	__u32 rt6i_flags;
};

struct rt6_exception {
	struct hlist_node hlist;
	struct rt6_info *rt6i;
};

#pragma clang attribute pop

#endif
