/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a network namespace has beside its tries: the list of its IPv6 tables, which the kernel
 * keeps in a hash table, and its next-hop objects, in a tree by id. Of these a single one of IPv6
 * has the exceptions of its hop, which all routes by it share.
 */
#ifndef USER_DAEMON_KERNEL_LISTS_BPF_H
#define USER_DAEMON_KERNEL_LISTS_BPF_H

#include "kernel_record.bpf.h"

#define MAX_TREE_DEPTH 64

/* --- tables --- */

/* Not 0: the call ends, since there are no more. A walk looks into the bucket of its table only. */
static __always_inline int next_bucket(void)
{
	const struct netns_ipv6 *ipv6 = NULL;
	const __u32 n = bpf_core_field_exists(ipv6->fib6_local_tbl) ? FIB6_TABLE_HASHSZ : 1;
	const struct hlist_head *heads = BPF_CORE_READ(the_net(), ipv6.fib_table_hash);
	const bool all = kr.call.question.reading == KERNEL_READ_TABLES;

	if (kr.bucket == (all ? n : 1)) {
		kr.call.view.end = true;
		return 1;
	}
	heads += all ? kr.bucket : kr.call.question.table & (n - 1);
	kr.bucket++;
	kr.table = (__u64)BPF_CORE_READ(heads, first);
	return 0;
}

/* The next table, or bucket: reports it, or begins at its root if it is that of a walk. */
__noinline int table_step(void)
{
	const struct hlist_node *node = (const void *)kr.table;
	const struct fib6_table *table =
		(const void *)node - bpf_core_field_offset(struct fib6_table, tb6_hlist);
	const __u32 id = node ? BPF_CORE_READ(table, tb6_id) : 0;
	struct kernel_record *record;

	if (!node)
		return next_bucket();
	kr.table = (__u64)BPF_CORE_READ(node, next);
	if (kr.call.question.reading == KERNEL_READ_TABLES) {
		record = add_record(KERNEL_RECORD_TABLE);
		if (!record) {
			take_back();
			return 1;
		}
		record->table = id;
	} else if (id == kr.call.question.table) {
		kr.has_root = true;
		push(MEMBER(fib6_table, table, tb6_root));
	}
	return 0;
}

/* --- next-hop objects --- */

/* kr.object: the one with the least id above the last one; 0: there is none. */
__noinline int search_object(void)
{
	__u64 node = (__u64)BPF_CORE_READ(the_net(), nexthop.rb_root.rb_node);

	view_forget();
	kr.object = 0;
	for (int i = 0; node && i < MAX_TREE_DEPTH; i++) {
		const __u64 address = node - bpf_core_field_offset(struct nexthop, rb_node);
		const struct nexthop *object = VIEW(nexthop, address);

		if (object->id > kr.key[1]) {
			kr.object = address;
			node = (__u64)object->rb_node.rb_left;
		} else {
			node = (__u64)object->rb_node.rb_right;
		}
	}
	return 0;
}

/* The next object is reported, with its exceptions. Not 0: the call ends. */
__noinline int object_step(void)
{
	const struct nexthop *object;
	struct kernel_record *record;
	__u64 address, info;

	search_object();
	address = kr.object;
	if (end_destination(!address))
		return 1;
	record = add_record(KERNEL_RECORD_OBJECT);
	if (!record)
		return take_back();
	object = VIEW(nexthop, address);
	record->next_hop_id = object->id;
	((__u64 *)record->dst)[1] = __builtin_bswap64(object->id);
	kr.key[1] = object->id;
	kr.cost++;
	info = object->is_group ? 0 : (__u64)object->nh_info;
	if (!info || VIEW(nh_info, info)->family != AF_INET6)
		return 0;
	return add_exceptions_of(MEMBER(nh_info, info, fib6_nh));
}

#endif
