// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads fib6's own tries: every fib6_info, with its exceptions, as the kernel has it now. Embedded
 * in the daemon, which runs a program for one bounded call (BPF_PROG_TEST_RUN of a raw tracepoint's
 * program, under RCU) in the network namespace that it is about.
 *
 * A walk is in pre-order, left before right: by address, then by length. It takes no lock, and
 * between calls it keeps nothing but the last prefix. It reads each node's children once, and what
 * lies below them has no address in common. A node that was taken out keeps its children, and a
 * call ends before one that is just being linked. So a route that stands all the while is reported
 * exactly once, whatever comes and goes beside it.
 *
 * A destination is one step if it has one route. What a step leaves for the next is in `walk`, not
 * on the stack: Linux 6.1 takes values known there to stay what they are.
 */
#include "kernel_exceptions.bpf.h"
#include "kernel_objects.bpf.h"
#include "kernel_route.bpf.h"
#include "kernel_tables.bpf.h"

#define MAX_DEPTH 130 /* nodes from the root to a leaf, by destination or by source */
/* Together more than a call takes: at most five nodes a record, in both tries. */
#define STEPS 512
#define STEPS_AT_ONCE 256

/* --- a destination --- */

/* Reports walk.route, and goes to the next one. Not 0: the call ends. */
static __always_inline int add_route(struct kernel_reader_call *call)
{
	const __u64 address = walk.route;
	struct kernel_record *record = record_at(walk.n);
	const struct fib6_info *route;
	const struct fib6_nh *hop;
	__u64 object;

	if (!record) {
		call->answer.cut_routes = !take_back(call);
		return 1;
	}
	route = VIEW(fib6_info, address);
	fill_route(record, route);
	walk.route = (__u64)route->fib6_next;
	object = (__u64)route->nh;
	walk.n++;
	walk.cost++;
	if (object) {
		fill_object(record, object);
		return 0;
	}
	walk.hop = MEMBER(fib6_info, address, fib6_nh);
	hop = VIEW(fib6_nh, walk.hop);
	fill_hop(record, hop);
	if (!call->question.exceptions || call->answer.cut || !hop->rt6i_exception_bucket)
		return 0;
	return add_exceptions() && take_back(call);
}

static __always_inline void push(__u64 node)
{
	if (node)
		walk.stack[bound_index(walk.depth++, STACK)] = node;
}

static __always_inline __u64 pop(void)
{
	return walk.stack[bound_index(--walk.depth, STACK)];
}

/* Whether the leaf is the node's own, not one from below, not that of its source subtree. */
static __always_inline bool is_own(const struct fib6_info *leaf, __u32 bit, bool by_source)
{
	const __u32 src_len = (__u32)leaf->fib6_src.plen;

	if (by_source)
		return src_len && src_len == bit;
	return (__u32)leaf->fib6_dst.plen == bit && !src_len;
}

/* Its own routes are next, and what is of its source subtree behind them. */
static __always_inline void enter_routes(const struct fib6_node *node, bool by_source)
{
	const __u32 bit = node->fn_bit;
	const __u64 leaf = (__u64)node->leaf;

	if (!by_source && bpf_core_field_exists(node->subtree) && node->subtree) {
		walk.base = walk.depth;
		push((__u64)node->subtree);
	}
	if (leaf && leaf != walk.null_entry && is_own(VIEW(fib6_info, leaf), bit, by_source))
		walk.route = leaf;
}

/*
 * fib6_add_1() links a node that is to branch before it gives it its children, so that what is
 * below cannot be reached for a moment. It has no route of its own, but the leaf of one from below.
 */
static __always_inline bool is_unfinished(const struct fib6_node *node, bool by_source)
{
	const struct fib6_info *leaf;

	if (!node->fn_bit || !node->leaf || (node->left && node->right))
		return false;
	if (bpf_core_field_exists(node->subtree) && node->subtree)
		return false;
	leaf = VIEW(fib6_info, node->leaf);
	return (by_source ? leaf->fib6_src.plen : leaf->fib6_dst.plen) > node->fn_bit;
}

/* Not 0: the call ends before the destination, since it cannot go on now. */
static __always_inline int enter_node(__u64 address, bool by_source)
{
	const struct fib6_node *node = VIEW(fib6_node, address);

	if (is_unfinished(node, by_source)) {
		walk.again = 1;
		walk.n = walk.first;
		return 1;
	}
	PREFETCH(node->left->fn_bit + node->right->fn_bit);
	push((__u64)node->right);
	push((__u64)node->left);
	enter_routes(node, by_source);
	return 0;
}

/* The destination is through. Not 0: the call ends before the next one. */
static __always_inline int end_destination(struct kernel_reader_call *call)
{
	walk.base = NO_BASE;
	if (walk.n != walk.first) {
		call->answer.last = walk.first;
		walk.first = walk.n;
	}
	call->answer.end = !walk.depth;
	return call->answer.cut || !walk.depth || walk.cost >= walk.budget;
}

/* A node with its first route, or another route of it. Not 0: the call ends. */
__noinline int walk_step(void)
{
	struct kernel_reader_call *call = the_call();

	if (!call)
		return 1;
	if (!walk.route) {
		const bool by_source = walk.depth > walk.base;

		if (walk.depth <= walk.base && end_destination(call))
			return 1;
		if (enter_node(pop(), by_source))
			return 1;
		if (!walk.route)
			return 0;
	}
	return add_route(call);
}

/* --- to a prefix --- */

static __always_inline __u64 load_be64(const void *bytes)
{
	return __builtin_bswap64(*(const __u64 *)bytes);
}

/* The most significant bits, 0 to 64 of them. */
static __always_inline __u64 mask_of(__u32 bits)
{
	return bits >= 64 ? ~0ull : ~(~0ull >> bits);
}

/* The key against an address, in their first bits: < 0, 0 or > 0. */
static __always_inline int compare_key(const struct in6_addr *address, __u32 bits)
{
	const __u64 high_mask = mask_of(bits), low_mask = mask_of(bits > 64 ? bits - 64 : 0);
	const __u64 high = load_be64(address) & high_mask;
	const __u64 low = load_be64((const char *)address + 8) & low_mask;
	const __u64 key_high = walk.key[0] & high_mask, key_low = walk.key[1] & low_mask;

	if (key_high != high)
		return key_high < high ? -1 : 1;
	return key_low == low ? 0 : key_low < low ? -1 : 1;
}

static __always_inline bool key_bit(__u32 bit)
{
	return bit < 64 ? walk.key[0] >> (63 - bit) & 1 : walk.key[1] >> ((127 - bit) & 63) & 1;
}

/* A route at the node or below it: its leaf, but where this is being changed. 0: there is none. */
static __always_inline __u64 any_leaf(__u64 address)
{
	for (int i = 0; address && i < MAX_DEPTH; i++) {
		const struct fib6_node *node = VIEW(fib6_node, address);
		const __u64 leaf = (__u64)node->leaf, left = (__u64)node->left;

		if (leaf)
			return leaf;
		address = left ? left : (__u64)node->right;
	}
	return 0;
}

/* Whether the node's prefix covers the key. If not, and it is behind it, the node is pushed. */
static __always_inline bool covers_key(__u64 address, __u32 bit)
{
	const __u32 len = walk.key_len;
	const __u64 leaf = bit ? any_leaf(address) : 0;
	int order = 0;

	if (bit && !leaf)
		return false;
	if (leaf)
		order = compare_key(&VIEW(fib6_info, leaf)->fib6_dst.addr, bit < len ? bit : len);
	if (order < 0 || (!order && bit > len))
		push(address);
	return !order && bit <= len;
}

/* Pushes what is behind the key at walk.node, and goes to the child. Not 0: there is none. */
__noinline int approach(void)
{
	const __u64 address = walk.node;
	const struct fib6_node *node = VIEW(fib6_node, address);
	const __u32 bit = node->fn_bit;
	__u64 left, right;

	walk.node = 0;
	if (is_unfinished(node, false)) {
		walk.again = 1;
		return 1;
	}
	left = (__u64)node->left;
	right = (__u64)node->right;
	if (!covers_key(address, bit))
		return 1;
	if (!key_bit(bit)) /* as are those behind the key's length */
		push(right);
	if (bit == walk.key_len)
		push(left);
	else
		walk.node = key_bit(bit) ? right : left;
	return !walk.node;
}

static __always_inline void approach_key(void)
{
	for (int i = 0; walk.node && i < MAX_DEPTH; i++)
		if (approach())
			break;
}

/* A step of fib6_locate_1(), by the key. Not 0: walk.node is the node, or 0 since there is none. */
__noinline int descend(void)
{
	const struct fib6_node *node = VIEW(fib6_node, walk.node);
	const __u32 bit = node->fn_bit;

	if (bit >= walk.key_len) {
		if (bit > walk.key_len)
			walk.node = 0;
		return 1;
	}
	if (is_unfinished(node, false))
		walk.again = 1;
	walk.node = key_bit(bit) ? (__u64)node->right : (__u64)node->left;
	return 0;
}

/* What is of the key's destination, if there are routes to it. */
__noinline int enter_key(void)
{
	__u64 leaf;

	for (int i = 0; walk.node && i < MAX_DEPTH; i++)
		if (descend())
			break;
	leaf = any_leaf(walk.node);
	if (leaf && !compare_key(&VIEW(fib6_info, leaf)->fib6_dst.addr, walk.key_len))
		enter_routes(VIEW(fib6_node, walk.node), false);
	return 0;
}

/* --- the programs --- */

static __always_inline void begin(struct kernel_reader_call *call)
{
	const struct kernel_reader_question *question = &call->question;

	__builtin_memset(&call->answer, 0, sizeof(call->answer));
	call->answer.now_ns = bpf_ktime_get_ns();
	call->answer.jiffies = bpf_jiffies64();
	view_forget();
	walk.depth = 0;
	walk.base = NO_BASE;
	walk.route = 0;
	walk.again = 0;
	walk.null_entry = (__u64)BPF_CORE_READ(the_net(), ipv6.fib6_null_entry);
	walk.key[0] = load_be64(question->dst);
	walk.key[1] = load_be64(question->dst + 8);
	walk.key_len = question->dst_len;
	walk.n = 0;
	walk.cost = 0;
	walk.budget = question->budget;
	walk.first = 0;
	walk.object = question->object;
	call->answer.object = question->object;
}

__noinline int walk_steps(void)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (walk_step())
			return 1;
	return 0;
}

static __always_inline void run(struct kernel_reader_call *call)
{
	int ended = walk.again;

	for (int i = 0; !ended && i < STEPS; i++)
		ended = walk_steps();
	if (!ended)
		take_back(call);
	call->answer.n = walk.n;
}

/* The destinations behind the last one, or all of a table. */
SEC("raw_tp")
int kr_walk(void *ctx)
{
	struct kernel_reader_call *call = the_call();

	(void)ctx;
	if (!call)
		return 0;
	begin(call);
	walk.node = find_root(call->question.table);
	if (!call->question.started)
		push(walk.node);
	else
		approach_key();
	run(call);
	return 0;
}

/* Exactly one destination. */
SEC("raw_tp")
int kr_find(void *ctx)
{
	struct kernel_reader_call *call = the_call();

	(void)ctx;
	if (!call)
		return 0;
	begin(call);
	walk.node = find_root(call->question.table);
	enter_key();
	run(call);
	return 0;
}

/* The ids of all tables. */
SEC("raw_tp")
int kr_tables(void *ctx)
{
	struct kernel_reader_call *call = the_call();

	(void)ctx;
	if (!call)
		return 0;
	begin(call);
	enter_tables(0);
	for (int i = 0; i < TABLE_STEPS; i++)
		if (list_tables())
			break;
	call->answer.n = tables.n;
	return 0;
}

/* The next-hop objects behind one. */
SEC("raw_tp")
int kr_objects(void *ctx)
{
	struct kernel_reader_call *call = the_call();

	(void)ctx;
	if (!call)
		return 0;
	begin(call);
	for (int i = 0; i < OBJECT_STEPS; i++)
		if (object_steps())
			break;
	call->answer.n = walk.n;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
