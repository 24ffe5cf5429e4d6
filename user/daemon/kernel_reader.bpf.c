// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the kernel's own tries of IPv6 routes (fib6): every fib6_info with its exceptions. Also
 * reads the next-hop objects of the namespace, which are in a tree by id. The daemon runs the
 * program for each bounded call (BPF_PROG_TEST_RUN of a raw tracepoint program, under RCU) in the
 * network namespace that it asks about.
 *
 * A walk is in pre-order, left before right: by address, then by length. It takes no lock, and
 * keeps only the last prefix between calls. It reads the children of each node once; their subtrees
 * share no address. A removed node keeps its children, and a call ends before a node that is being
 * changed. So a route that exists during the whole walk is reported exactly once. A walk from or to
 * a prefix also starts at the root, and skips nodes.
 *
 * A destination with one route takes one step.
 */
#include "kernel_call.bpf.h"

/* Their product exceeds what a call needs: at most five nodes a record, in both tries. */
#define STEPS 512
#define STEPS_AT_ONCE 256
#define MAX_TREE_DEPTH 64 /* of next-hop objects */
#define MIN_COST 32	  /* before ends_call() counts */

#define MAX_CHAIN 16				 /* the kernel allows 10 */
#define BUCKET_COST 8				 /* in records: 3 microseconds */
#define MAX_COST (KERNEL_READER_RECORDS - 2048u) /* the rest is for routes */

/* --- records of routes --- */

static __always_inline void fill_hop(struct kernel_record *record, const struct fib6_nh *hop)
{
	const __u32 family = hop->nh_common.nhc_gw_family;

	record->ifindex = (__u32)hop->nh_common.nhc_oif;
	record->weight = (__u16)hop->nh_common.nhc_weight;
	record->encap = hop->nh_common.nhc_lwtstate || (family && family != AF_INET6);
	if (family == AF_INET6)
		copy_address(record->gateway, VIEW_MEMBER(in6_addr, &hop->nh_common.nhc_gw));
}

static __always_inline void fill_metrics(struct kernel_record *record,
					 const struct dst_metrics *metrics)
{
	record->mtu = metrics->metrics[RTAX_MTU - 1];
	record->mtu_locked = metrics->metrics[RTAX_LOCK - 1] >> RTAX_MTU & 1;
	record->hop_limit = metrics->metrics[RTAX_HOPLIMIT - 1];
	record->features = metrics->metrics[RTAX_FEATURES - 1];
}

static __always_inline void fill_route(struct kernel_record *record, const struct fib6_info *route)
{
	const __u32 flags = route->fib6_flags, siblings = route->fib6_nsiblings;

	copy_address(record->dst, &route->fib6_dst.addr);
	record->dst_len = (__u8)route->fib6_dst.plen;
	record->src_len = (__u8)route->fib6_src.plen;
	if (record->src_len)
		copy_address(record->src, &route->fib6_src.addr);
	record->expires = route->expires;
	record->flags = flags;
	record->metric = route->fib6_metric;
	record->n_siblings = siblings < 0xffff ? siblings : 0xffff;
	record->type = route->fib6_type;
	record->protocol = route->fib6_protocol;
	record->preference = IPV6_DECODE_PREF(flags >> 27 & 3);
	record->prefsrc = route->fib6_prefsrc.plen != 0;
	fill_metrics(record, VIEW(dst_metrics, route->fib6_metrics));
}

/*
 * --- records of exceptions: Path MTUs and redirects ---
 *
 * The kernel keeps those of a hop in a hash table of chains, which is copied as a whole. The table
 * stays when the last exception is gone. Bounded: a table counts as several records, and room is
 * reserved for the routes.
 */

static __always_inline void fill_exception(struct kernel_record *record, __u64 address)
{
	const struct rt6_info *cached = VIEW(rt6_info, address);
	const struct net_device *dev = (const void *)cached->dst.dev;

	copy_address(record->dst, &cached->rt6i_dst.addr);
	copy_address(record->gateway, &cached->rt6i_gateway);
	record->expires = cached->dst.expires;
	record->flags = cached->rt6i_flags;
	fill_metrics(record, VIEW(dst_metrics, cached->dst._metrics & ~DST_METRICS_FLAGS));
	record->ifindex = (__u32)BPF_CORE_READ(dev, ifindex);
}

static __always_inline bool is_wanted(__u64 cached)
{
	const __u64 *dst = (const void *)&VIEW(rt6_info, cached)->rt6i_dst.addr;
	const struct kernel_choice *choice = &kr.call.question.choice;

	return choice->exceptions == KERNEL_EXCEPTIONS_ALL ||
	       (dst[0] == choice->dst.halves[0] && dst[1] == choice->dst.halves[1]);
}

/* Adds kr.exception if it was asked for, and moves on in its chain. Not 0: no room. */
__noinline int add_exception(void)
{
	const struct rt6_exception *exception = VIEW(
		rt6_exception, kr.exception - bpf_core_field_offset(struct rt6_exception, hlist));
	const __u64 cached = (__u64)exception->rt6i;
	struct kernel_record *record;

	kr.exception = (__u64)exception->hlist.next;
	if (++kr.cost > MAX_COST)
		return 1;
	if (!is_wanted(cached))
		return 0;
	record = add_record(KERNEL_RECORD_EXCEPTION);
	if (!record)
		return 1;
	fill_exception(record, cached);
	return 0;
}

/* Not 0: more than fit. */
__noinline int add_chain(__u64 first)
{
	kr.exception = first;
	for (int i = 0; kr.exception && i < MAX_CHAIN; i++)
		if (add_exception())
			return 1;
	return kr.exception != 0;
}

/* Adds the exceptions of kr.hop that were asked for. Not 0: more than fit. */
__noinline int add_exceptions(void)
{
	const struct fib6_nh *hop = (const void *)kr.hop;
	const __u64 bucket = (__u64)BPF_CORE_READ(hop, rt6i_exception_bucket);

	kr.cost += BUCKET_COST;
	if (kr.cost > MAX_COST)
		return 1;
	if (bpf_probe_read_kernel(kr.chains, sizeof(kr.chains),
				  (const void *)(bucket & ~RT6_EXCEPTION_BUCKET_FLUSHED)))
		return 0;
	for (__u32 i = 0; i < FIB6_EXCEPTION_BUCKET_SIZE; i++)
		if (kr.chains[i].first && add_chain(kr.chains[i].first))
			return 1;
	return 0;
}

/* Adds the exceptions of a fib6_nh after its record, if any were asked for. Not 0: the call ends.
 */
static __always_inline int add_exceptions_of(__u64 hop)
{
	const struct kernel_choice *choice = &kr.call.question.choice;

	/* the record of the wanted hop has this number: only routes precede it */
	if (!choice->exceptions || (choice->hop && choice->hop != kr.call.view.n) ||
	    !VIEW(fib6_nh, hop)->rt6i_exception_bucket)
		return 0;
	kr.hop = hop; /* not an argument: the verifier would refuse a pointer there */
	return add_exceptions() && take_back();
}

/* --- the key --- */

static __always_inline __u64 load_be64(const void *bytes)
{
	return __builtin_bswap64(*(const __u64 *)bytes);
}

/* A mask of the most significant bits, 0 to 64 of them. */
static __always_inline __u64 mask_of(__u32 bits)
{
	return bits >= 64 ? ~0ull : ~(~0ull >> bits);
}

/* Compares the first bits of the key and of an address: < 0, 0 or > 0. */
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

/* Parts of a node that are to be read. */
enum part { PART_NONE, PART_BELOW, PART_OWN, PART_ALL };

/* Nodes behind the key are read whole; with KERNEL_READ_AT only the routes of the key. */
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

/* True for one destination in 256, chosen by its address, so that the calls of two walks begin at
 * the same places. */
static __always_inline bool ends_call(const struct kernel_record *record)
{
	const __u64 *dst = (const __u64 *)record->dst;

	return !((dst[0] ^ dst[1]) * 0x9e3779b97f4a7c15 >> 56);
}

/* Adds a record of kr.route, and moves to the next route. Not 0: the call ends. */
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

/* Whether the leaf belongs to the node, not to one below or to its source subtree. */
static __always_inline bool is_own(const struct fib6_info *leaf, __u32 bit, bool by_source)
{
	const __u32 src_len = (__u32)leaf->fib6_src.plen;

	if (by_source)
		return src_len && src_len == bit;
	return (__u32)leaf->fib6_dst.plen == bit && !src_len;
}

/*
 * Every node but a root has a leaf, its own or one from below, except while it is being changed.
 * fib6_add_1() also links a new branch node before it has its children, which cannot be reached for
 * a moment.
 */
static __always_inline bool is_unfinished(__u32 bit, bool branches, bool by_source)
{
	const struct fib6_info *leaf = VIEW(fib6_info, kr.leaf);

	if (!bit || !kr.leaf || branches)
		return bit && !kr.leaf;
	return (__u32)(by_source ? leaf->fib6_src.plen : leaf->fib6_dst.plen) > bit;
}

/*
 * A load whose result is not used is the only way to prefetch. Prefetching children saves a fifth
 * of the time of a walk; prefetching what follows them saves another tenth.
 */
static __always_inline void prefetch_behind(void)
{
	const struct fib6_node *next = VIEW(fib6_node, kr.stack[bound_index(kr.depth - 1, STACK)]);

	PREFETCH(next->left);
	PREFETCH(next->right);
	PREFETCH(&next->leaf->fib6_dst);
}

/* Not 0: the node is being changed, and the call ends before this destination. */
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
	asm volatile("" : "+r"(left), "+r"(right)); /* the compiler must not assume non-NULL */
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
	/* its own routes come next, then its source subtree */
	if (!by_source && subtree) {
		kr.base = kr.depth;
		push((__u64)subtree);
	}
	if (kr.leaf && kr.leaf != kr.null_entry && is_own(VIEW(fib6_info, kr.leaf), bit, by_source))
		kr.route = kr.leaf;
	return 0;
}

/* Enters a node, or adds its next route. Not 0: the call ends. */
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

/* The first table in the hash bucket of id. */
static __always_inline __u64 first_table(__u32 id)
{
	const struct netns_ipv6 *ipv6 = NULL;
	const __u32 n = bpf_core_field_exists(ipv6->fib6_local_tbl) ? FIB6_TABLE_HASHSZ : 1;
	const struct hlist_head *heads = BPF_CORE_READ(the_net(), ipv6.fib_table_hash);

	heads += id & (n - 1);
	return (__u64)BPF_CORE_READ(heads, first);
}

/* Checks a table of the bucket: the walk begins at the root of the right one. Not 0: it ends. */
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

/* --- next-hop objects: a single IPv6 one has exceptions, shared by all its routes --- */

/* Sets kr.object to the object with the next id; 0: there is none. */
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

/* Adds the next object with its exceptions. Not 0: the call ends. */
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
