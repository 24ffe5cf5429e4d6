/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The IPv6 tables of the network namespace, which the kernel keeps in a hash table: the root of
 * one, and the ids of all.
 */
#ifndef USER_DAEMON_KERNEL_TABLES_BPF_H
#define USER_DAEMON_KERNEL_TABLES_BPF_H

#include "kernel_call.bpf.h"

#define TABLE_STEPS 128 /* times itself: more than KERNEL_READER_TABLES and the buckets */

struct {
	__u64 heads; /* of the hash table */
	__u64 node;  /* next one of a chain */
	__u64 root;  /* of the one that was looked for */
	__u32 bucket;
	__u32 id; /* to look for */
	__u32 n;  /* listed */
} tables;

/* FIB6_TABLE_HASHSZ */
static __always_inline __u32 n_buckets(void)
{
	const struct netns_ipv6 *ipv6 = NULL;

	return bpf_core_field_exists(ipv6->fib6_local_tbl) ? 256 : 1;
}

static __always_inline void enter_bucket(void)
{
	const struct hlist_head *heads = (const void *)tables.heads;
	const __u32 bucket = tables.bucket & (n_buckets() - 1);

	tables.node = (__u64)BPF_CORE_READ(&heads[bucket], first);
}

static __always_inline void enter_tables(__u32 bucket)
{
	tables.heads = (__u64)BPF_CORE_READ(the_net(), ipv6.fib_table_hash);
	tables.bucket = bucket;
	tables.n = 0;
	enter_bucket();
}

static __always_inline const struct fib6_table *next_table(void)
{
	const struct hlist_node *node = (const void *)tables.node;

	tables.node = (__u64)BPF_CORE_READ(node, next);
	return (const void *)node - bpf_core_field_offset(struct fib6_table, tb6_hlist);
}

/* Like all that are not static, verified once, not once a call. Not 0: no more calls. */
__noinline int find_table(void)
{
	const struct fib6_table *table;

	if (!tables.node)
		return 1;
	table = next_table();
	if (BPF_CORE_READ(table, tb6_id) != tables.id)
		return 0;
	tables.root = MEMBER(fib6_table, table, tb6_root);
	return 1;
}

__noinline int find_tables(void)
{
	for (int i = 0; i < TABLE_STEPS; i++)
		if (find_table())
			return 1;
	return 0;
}

/* fib6_get_table(): the address of the root; 0: there is none. */
static __always_inline __u64 find_root(__u32 id)
{
	tables.id = id;
	tables.root = 0;
	enter_tables(id);
	for (int i = 0; i < TABLE_STEPS; i++)
		if (find_tables())
			break;
	return tables.root;
}

/* Not 0: there are no more, or more than fit. */
__noinline int list_table(void)
{
	struct kernel_reader_call *call = the_call();

	if (!call)
		return 1;
	if (!tables.node) {
		if (++tables.bucket >= n_buckets())
			return 1;
		enter_bucket();
		return 0;
	}
	if (tables.n >= KERNEL_READER_TABLES) {
		call->answer.cut = 1;
		return 1;
	}
	call->tables[bound_index(tables.n++, KERNEL_READER_TABLES)] =
		BPF_CORE_READ(next_table(), tb6_id);
	return 0;
}

__noinline int list_tables(void)
{
	for (int i = 0; i < TABLE_STEPS; i++)
		if (list_table())
			return 1;
	return 0;
}

#endif
