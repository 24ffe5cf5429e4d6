// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads fib6's own tries: every fib6_info, with its exceptions, as the kernel has it now; and the
 * namespace's next-hop objects, which are in a tree by id. Embedded in the daemon, which runs a
 * program for one bounded call (BPF_PROG_TEST_RUN of a raw tracepoint's program, under RCU) in the
 * network namespace that it is about.
 *
 * A walk is in pre-order, left before right: by address, then by length. It takes no lock, and
 * between calls it keeps nothing but the last prefix. It reads each node's children once, and what
 * lies below them has no address in common. A node that was taken out keeps its children, and a
 * call ends before one that is just being changed. So a route that stands all the while is reported
 * exactly once, whatever comes and goes beside it. A walk from a prefix on, or to one, begins at
 * the root as well, and skips the nodes that are not asked for.
 *
 * A destination is one step if it has one route.
 */
#include "kernel_record.bpf.h"

/* Together more than a call takes: at most five nodes a record, in both tries. */
#define STEPS 512
#define STEPS_AT_ONCE 256
#define MAX_TREE_DEPTH 64 /* of next-hop objects */
#define MIN_COST 32	  /* of a call that ends where a destination says so */

/* --- the key --- */

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
	for (__u32 i = 0; i < 2; i++) {
		const __u64 mask = mask_of(bits > 64 * i ? bits - 64 * i : 0);
		const __u64 other = load_be64((const __u64 *)address + i) & mask;

		if (other != (kr.key[i] & mask))
			return (kr.key[i] & mask) < other ? -1 : 1;
	}
	return 0;
}

/* What of a node is to be read. */
enum part { PART_NONE, PART_BELOW, PART_OWN, PART_ALL };

/* Of nodes behind the key all, or, if only the key's is wanted, its own routes. */
__noinline int part_wanted(__u32 bit)
{
	const bool only_key = kr.call.question.reading == KERNEL_READ_AT;
	const __u32 len = kr.call.question.dst_len;
	int order = 0;

	if (bit)
		order = compare_key(&VIEW(fib6_info, kr.leaf)->fib6_dst.addr,
				    bit < len ? bit : len);
	if (order < 0 || (!order && bit > len))
		return only_key ? PART_NONE : PART_ALL;
	if (order > 0)
		return PART_NONE;
	return only_key && bit == len ? PART_OWN : PART_BELOW;
}

/* --- a destination --- */

/* One in 256, by its address alone, for a reader that compares two walks call by call. */
static __always_inline bool ends_call(const struct kernel_record *record)
{
	const __u64 *dst = (const __u64 *)record->dst;

	return !((dst[0] ^ dst[1]) * 0x9e3779b97f4a7c15 >> 56);
}

/* Reports kr.route, and goes to the next one. Not 0: the call ends. */
static __always_inline int add_route(void)
{
	const __u64 address = kr.route, hop = MEMBER(fib6_info, address, fib6_nh);
	const struct fib6_info *route;
	struct kernel_record *record = add_record(KERNEL_RECORD_ROUTE);

	if (!record) {
		take_back();
		return 1;
	}
	route = VIEW(fib6_info, address);
	fill_route(record, route);
	kr.ends = kr.cost >= MIN_COST && ends_call(record);
	kr.route = (__u64)route->fib6_next;
	kr.cost++;
	if (route->nh) {
		record->next_hop_id = VIEW(nexthop, route->nh)->id;
		return 0;
	}
	fill_hop(record, VIEW(fib6_nh, hop));
	return add_exceptions_of(hop);
}

/* Whether the leaf is the node's own, not one from below, not that of its source subtree. */
static __always_inline bool is_own(const struct fib6_info *leaf, __u32 bit, bool by_source)
{
	const __u32 src_len = (__u32)leaf->fib6_src.plen;

	if (by_source)
		return src_len && src_len == bit;
	return (__u32)leaf->fib6_dst.plen == bit && !src_len;
}

/*
 * Below a root a node always has a leaf, its own or one from below, but for the moment in which it
 * is changed. And fib6_add_1() links a node that is to branch before it gives it its children, so
 * that what is below cannot be reached for a moment.
 */
static __always_inline bool is_unfinished(__u32 bit, bool branches, bool by_source)
{
	const struct fib6_info *leaf = VIEW(fib6_info, kr.leaf);

	if (!bit || !kr.leaf || branches)
		return bit && !kr.leaf;
	return (__u32)(by_source ? leaf->fib6_src.plen : leaf->fib6_dst.plen) > bit;
}

/*
 * A load that nothing waits for is the only prefetch there is: of a node's children a fifth of a
 * walk's time, and of what follows on these a tenth.
 */
static __always_inline void prefetch_behind(void)
{
	const struct fib6_node *next = VIEW(fib6_node, kr.stack[bound_index(kr.depth - 1, STACK)]);

	PREFETCH(next->left);
	PREFETCH(next->right);
	PREFETCH(&next->leaf->fib6_dst);
}

/* Not 0: the call ends before the destination, since it cannot go on now. */
static __always_inline int enter_node(__u64 address, bool by_source)
{
	const struct fib6_node *node = VIEW(fib6_node, address);
	const struct fib6_node *left = node->left, *right = node->right, *subtree = NULL;
	const __u32 bit = node->fn_bit;
	int part = PART_ALL;

	if (bpf_core_field_exists(node->subtree))
		subtree = node->subtree;
	kr.leaf = (__u64)node->leaf; /* once: it may change at any time */
	if (is_unfinished(bit, (left && right) || subtree, by_source)) {
		kr.call.view.n = kr.first;
		return 1;
	}
	if (kr.seeking) {
		part = part_wanted(bit);
		kr.seeking = part < PART_OWN;
	}
	if (part == PART_NONE)
		return 0;
	PREFETCH(left);
	PREFETCH(right);
	asm volatile("" : "+r"(left), "+r"(right)); /* NULL, for all that the compiler knows */
	if (!VIEW_IS_COPY && kr.depth)
		prefetch_behind();
	if (part == PART_OWN) {
		kr.depth = 0;
	} else {
		push((__u64)right);
		push((__u64)left);
	}
	if (part < PART_OWN)
		return 0;
	/* its own routes are next, and what is of its source subtree behind them */
	if (!by_source && subtree) {
		kr.base = kr.depth;
		push((__u64)subtree);
	}
	if (kr.leaf && kr.leaf != kr.null_entry && is_own(VIEW(fib6_info, kr.leaf), bit, by_source))
		kr.route = kr.leaf;
	return 0;
}

/* A node with its first route, or another route of it. Not 0: the call ends. */
__noinline int walk_step(void)
{
	if (!kr.route) {
		const bool by_source = kr.depth > kr.base;

		if (!by_source) {
			kr.base = NO_BASE;
			if (end_destination(!kr.depth))
				return 1;
		}
		if (enter_node(pop(), by_source))
			return 1;
		if (!kr.route)
			return 0;
	}
	return add_route();
}

/* --- the table --- */

/* The first one of its bucket. */
static __always_inline __u64 first_table(__u32 id)
{
	const struct netns_ipv6 *ipv6 = NULL;
	const __u32 n = bpf_core_field_exists(ipv6->fib6_local_tbl) ? FIB6_TABLE_HASHSZ : 1;
	const struct hlist_head *heads = BPF_CORE_READ(the_net(), ipv6.fib_table_hash);

	heads += id & (n - 1);
	return (__u64)BPF_CORE_READ(heads, first);
}

/* The next one, at whose root the walk begins if it is the one. Not 0: the call ends. */
__noinline int table_step(void)
{
	const struct hlist_node *node = (const void *)kr.table;
	const struct fib6_table *table =
		(const void *)node - bpf_core_field_offset(struct fib6_table, tb6_hlist);

	if (!node) {
		kr.call.view.end = true;
		return 1;
	}
	kr.table = (__u64)BPF_CORE_READ(node, next);
	if (BPF_CORE_READ(table, tb6_id) == kr.call.question.table) {
		kr.has_root = true;
		push(MEMBER(fib6_table, table, tb6_root));
	}
	return 0;
}

/* --- next-hop objects, of which a single one of IPv6 has exceptions, for all routes by it --- */

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

/* --- the program --- */

static __always_inline void begin(void)
{
	const struct kernel_reader_question *question = &kr.call.question;

	__builtin_memset(&kr.call.view, 0, sizeof(kr.call.view));
	kr.call.view.now_ns = bpf_ktime_get_ns();
	kr.call.view.jiffies = bpf_jiffies64();
	view_forget();
	kr.depth = 0;
	kr.base = NO_BASE;
	kr.route = 0;
	kr.null_entry = (__u64)BPF_CORE_READ(the_net(), ipv6.fib6_null_entry);
	kr.key[0] = load_be64(&question->dst.halves[0]);
	kr.key[1] = load_be64(&question->dst.halves[1]);
	kr.seeking = question->reading == KERNEL_READ_BEHIND || question->reading == KERNEL_READ_AT;
	kr.cost = 0;
	kr.ends = false;
	kr.first = 0;
	kr.table = question->table ? first_table(question->table) : 0;
	kr.has_root = false;
}

/* Not 0: the call ends. */
static __always_inline int step(void)
{
	if (kr.has_root)
		return walk_step();
	return kr.call.question.table ? table_step() : object_step();
}

__noinline int steps(void)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (step())
			return 1;
	return 0;
}

SEC("raw_tp")
int kr_read(void *ctx)
{
	(void)ctx;
	begin();
	for (int i = 0; i < STEPS; i++)
		if (steps())
			return 0;
	take_back();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
