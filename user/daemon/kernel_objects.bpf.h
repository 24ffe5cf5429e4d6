/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The next-hop objects of the network namespace, by id: the single ones of IPv6, each with the
 * exceptions of its hop, which all routes by it share.
 *
 * The kernel's tree of them turns when one comes or goes. So a search beside such a change may miss
 * some, unlike a walk of routes.
 */
#ifndef USER_DAEMON_KERNEL_OBJECTS_BPF_H
#define USER_DAEMON_KERNEL_OBJECTS_BPF_H

#include "kernel_exceptions.bpf.h"

#define MAX_TREE_DEPTH 64
#define OBJECT_STEPS 256 /* times itself: more than KERNEL_READER_RECORDS */

/* The object with the least id above walk.object; 0: there is none. */
static __always_inline __u64 next_object(void)
{
	__u64 node = (__u64)BPF_CORE_READ(the_net(), nexthop.rb_root.rb_node), found = 0;

	for (int i = 0; node && i < MAX_TREE_DEPTH; i++) {
		const __u64 address = node - bpf_core_field_offset(struct nexthop, rb_node);
		const struct nexthop *object = VIEW(nexthop, address);

		if (object->id > walk.object) {
			found = address;
			node = (__u64)object->rb_node.rb_left;
		} else {
			node = (__u64)object->rb_node.rb_right;
		}
	}
	return found;
}

/* False: the call ends, and the next one begins with it. */
static __always_inline bool add_object(struct kernel_reader_call *call, __u32 id, __u64 info)
{
	struct kernel_record *record = record_at(walk.n);

	if (!record)
		return !take_back(call);
	__builtin_memset(record, 0, sizeof(*record));
	record->kind = KERNEL_RECORD_OBJECT;
	record->next_hop_id = id;
	walk.n++;
	walk.hop = MEMBER(nh_info, info, fib6_nh);
	if (!call->question.exceptions || !add_exceptions())
		return true;
	return !take_back(call);
}

/* The next object, which is a record unless it is a group. Not 0: the call ends. */
__noinline int object_step(void)
{
	struct kernel_reader_call *call = the_call();
	const __u64 address = next_object();
	const struct nexthop *object;
	__u64 info;
	__u32 id;

	if (!call)
		return 1;
	if (!address) {
		call->answer.end = 1;
		return 1;
	}
	object = VIEW(nexthop, address);
	id = object->id;
	info = object->is_group ? 0 : (__u64)object->nh_info;
	if (info && VIEW(nh_info, info)->family == AF_INET6 && !add_object(call, id, info))
		return 1;
	walk.object = id;
	call->answer.object = id;
	walk.first = walk.n;
	return call->answer.cut || ++walk.cost >= walk.budget;
}

__noinline int object_steps(void)
{
	for (int i = 0; i < OBJECT_STEPS; i++)
		if (object_step())
			return 1;
	return 0;
}

#endif
