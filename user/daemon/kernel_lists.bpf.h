/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a network namespace has of whole kinds: its IPv6 tables, which the kernel keeps in a hash
 * table, and its next-hop objects, in a tree by id. Of these the single ones of IPv6 are reported,
 * each with the exceptions of its hop, which all routes by it share.
 */
#ifndef USER_DAEMON_KERNEL_LISTS_BPF_H
#define USER_DAEMON_KERNEL_LISTS_BPF_H

#include "kernel_record.bpf.h"

#define TABLE_STEPS 128 /* times itself: more than KERNEL_READER_TABLES and the buckets */
#define MAX_TREE_DEPTH 64
#define MAX_SEARCHES 8

/* --- tables --- */

static __always_inline __u32 n_buckets(void)
{
	const struct netns_ipv6 *ipv6 = NULL;

	return bpf_core_field_exists(ipv6->fib6_local_tbl) ? FIB6_TABLE_HASHSZ : 1;
}

/* Notes the next table, or enters the next bucket. Not 0: there are no more. */
__noinline int table_step(void)
{
	const struct hlist_head *heads = BPF_CORE_READ(the_net(), ipv6.fib_table_hash);
	const struct hlist_node *node = (const void *)kr.table;
	const struct fib6_table *table =
		(const void *)node - bpf_core_field_offset(struct fib6_table, tb6_hlist);
	__u32 id;

	if (!node) {
		if (kr.bucket == kr.end_bucket)
			return 1;
		heads += kr.bucket++;
		kr.table = (__u64)BPF_CORE_READ(heads, first);
		return 0;
	}
	kr.table = (__u64)BPF_CORE_READ(node, next);
	id = BPF_CORE_READ(table, tb6_id);
	if (id == kr.call.question.table)
		kr.root = MEMBER(fib6_table, table, tb6_root);
	if (kr.call.answer.n_tables < KERNEL_READER_TABLES)
		kr.call.tables[bound_index(kr.call.answer.n_tables, KERNEL_READER_TABLES)] = id;
	kr.call.answer.n_tables++;
	return 0;
}

__noinline int table_steps(void)
{
	for (int i = 0; i < TABLE_STEPS; i++)
		if (table_step())
			return 1;
	return 0;
}

/* All of them, or those in the bucket of the question's. */
static __always_inline void find_tables(bool all)
{
	kr.root = 0;
	kr.table = 0;
	kr.bucket = all ? 0 : kr.call.question.table & (n_buckets() - 1);
	kr.end_bucket = all ? n_buckets() : kr.bucket + 1;
	for (int i = 0; i < TABLE_STEPS; i++)
		if (table_steps())
			break;
}

/* --- next-hop objects --- */

/* kr.found: the object with the least id above the last one; 0: there is none. */
__noinline int search_object(void)
{
	__u64 node = (__u64)BPF_CORE_READ(the_net(), nexthop.rb_root.rb_node);

	kr.found = 0;
	for (int i = 0; node && i < MAX_TREE_DEPTH; i++) {
		const __u64 address = node - bpf_core_field_offset(struct nexthop, rb_node);
		const struct nexthop *object = VIEW(nexthop, address);

		if (object->id > kr.call.answer.object) {
			kr.found = address;
			node = (__u64)object->rb_node.rb_left;
		} else {
			node = (__u64)object->rb_node.rb_right;
		}
	}
	return 0;
}

/*
 * Where the kernel is just turning the tree a search may miss some. That takes less time than a
 * search, so that two in a row do not miss the same.
 */
static __always_inline __u64 next_object(void)
{
	__u64 before;

	search_object();
	for (int i = 0; i < MAX_SEARCHES; i++) {
		before = kr.found;
		view_forget();
		search_object();
		if (kr.found == before)
			break;
	}
	return kr.found;
}

/* The next object, which is a record unless it is a group. Not 0: the call ends. */
__noinline int object_step(void)
{
	const __u64 address = next_object();
	const struct nexthop *object;
	struct kernel_record *record;
	__u64 info;
	__u32 id;

	if (!address) {
		kr.call.answer.end = 1;
		return 1;
	}
	object = VIEW(nexthop, address);
	id = object->id;
	info = object->is_group ? 0 : (__u64)object->nh_info;
	if (info && VIEW(nh_info, info)->family == AF_INET6) {
		record = add_record(KERNEL_RECORD_OBJECT);
		if (!record) {
			take_back();
			return 1;
		}
		record->next_hop_id = id;
		if (add_exceptions_of(MEMBER(nh_info, info, fib6_nh)))
			return 1;
	}
	kr.call.answer.object = id;
	kr.first = kr.call.answer.n;
	return kr.call.answer.cut || ++kr.cost >= kr.call.question.budget;
}

#endif
