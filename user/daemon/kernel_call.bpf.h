/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of a call of the kernel reader (`kr`), and VIEW(), which makes a structure of the kernel
 * readable.
 *
 * A VIEW is bpf_rdonly_cast() (Linux 6.2 and newer): loads yield 0 where nothing is mapped. With
 * KERNEL_READER_PROBE it is a copy of the whole structure. There is one copy per type, valid until
 * another structure of that type is viewed.
 *
 * Steps pass values in `kr`, not on the stack: the verifier of Linux 6.1 takes a known value on the
 * stack for constant.
 */
#ifndef USER_DAEMON_KERNEL_CALL_BPF_H
#define USER_DAEMON_KERNEL_CALL_BPF_H

#include "../../bpf/bound.h"
#include "kernel_reader_abi.h"
#include "kernel_structs.bpf.h"

/* At most one node per level waits, of the trie and of a source subtree. */
#define STACK 512u
#define NO_BASE STACK
#define VIEW_BYTES 512u /* larger than any structure; the verifier checks it */

enum view {
	VIEW_fib6_node,
	VIEW_fib6_info,
	VIEW_fib6_nh,
	VIEW_dst_metrics,
	VIEW_nexthop,
	VIEW_nh_info,
	VIEW_rt6_exception,
	VIEW_rt6_info,
	N_VIEWS
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KERNEL_READER_RECORDS);
	__type(key, __u32);
	__type(value, struct kernel_record);
} kr_records SEC(".maps");

/* All global data. If it were static, clang would split it into variables that BTF lacks. */
struct {
	struct kernel_reader_call call; /* first: shared with the daemon */
	__u64 stack[STACK];		/* nodes to visit, the next one on top */
	__u32 depth;			/* of the stack */
	__u32 base;			/* nodes above it belong to a source subtree */
	__u64 prefetched;		/* not used */
	__u64 leaf;			/* of the current node */
	__u64 route;			/* next route of the destination */
	__u64 null_entry;		/* stands for "no route" at a root */
	__u64 key[2];	 /* of the question's prefix, or last object, in host order */
	__u32 seeking;	 /* the key is still ahead */
	__u32 cost;	 /* in records: what the call has done */
	bool ends;	 /* the call ends with this destination */
	__u32 first;	 /* first record of this destination */
	__u64 object;	 /* next next-hop object */
	__u64 hop;	 /* fib6_nh whose exceptions are to be added */
	__u64 exception; /* next one of a chain */
	__u64 table;	 /* next one of a bucket */
	bool has_root;	 /* the question's table was found */
#ifdef KERNEL_READER_PROBE
	struct {
		__u64 address;
		__u64 words[VIEW_BYTES / sizeof(__u64)];
	} views[N_VIEWS];
#endif
	/* of a hop; last, so that the offsets of the others fit into an instruction */
	struct {
		__u64 first;
		__u64 depth;
	} chains[FIB6_EXCEPTION_BUCKET_SIZE];
} kr;

#ifdef KERNEL_READER_PROBE
#define VIEW_IS_COPY true

/* A call does not see what an earlier one copied. */
static __always_inline void view_forget(void)
{
	for (int i = 0; i < N_VIEWS; i++)
		kr.views[i].address = 0;
}

static __always_inline const void *view_copy(enum view view, __u32 size, __u64 address)
{
	if (kr.views[view].address != address) {
		kr.views[view].address = address;
		/* on failure all zero */
		bpf_probe_read_kernel(kr.views[view].words, size, (const void *)address);
	}
	return kr.views[view].words;
}

#define VIEW(type, address)                                                           \
	((const struct type *)view_copy(VIEW_##type, bpf_core_type_size(struct type), \
					(__u64)(address)))
/* A member of a union in a VIEW, with its type. */
#define VIEW_MEMBER(type, member) ((const struct type *)(member))
#define PREFETCH(address) bpf_probe_read_kernel(&kr.prefetched, sizeof(kr.prefetched), address)

#else
#define VIEW_IS_COPY false

extern void *bpf_rdonly_cast(const void *address, __u32 btf_id) __ksym;

#define VIEW(type, address)                                            \
	((const struct type *)bpf_rdonly_cast((const void *)(address), \
					      bpf_core_type_id_kernel(struct type)))
#define VIEW_MEMBER(type, member) VIEW(type, member)
#define PREFETCH(address) (kr.prefetched = *(const __u64 *)(address))
#define view_forget()

#endif

/* The address of a member, which need not be readable. */
#define MEMBER(type, address, member) \
	((__u64)(address) + bpf_core_field_offset(struct type, member))

static __always_inline void copy_address(__u8 out[16], const void *address)
{
	__u64 *to = (__u64 *)out;
	const __u64 *from = address;

	to[0] = from[0];
	to[1] = from[1];
}

static __always_inline void push(__u64 node)
{
	if (node)
		kr.stack[bound_index(kr.depth++, STACK)] = node;
}

static __always_inline __u64 pop(void)
{
	return kr.stack[bound_index(--kr.depth, STACK)];
}

static __always_inline const struct net *the_net(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();

	return BPF_CORE_READ(task, nsproxy, net_ns);
}

/* Zeroed. NULL: there is no room. */
static __always_inline struct kernel_record *add_record(enum kernel_record_kind kind)
{
	struct kernel_record *record = bpf_map_lookup_elem(&kr_records, &kr.call.view.n);

	if (!record)
		return NULL;
	__builtin_memset(record, 0, sizeof(*record));
	record->kind = kind;
	kr.call.view.n++;
	return record;
}

/*
 * The destination does not fit. True: its records are removed, and the next call begins with it.
 * False: it was the first destination of the call, and is cut.
 */
static __always_inline bool take_back(void)
{
	if (kr.first) {
		kr.call.view.n = kr.first;
		return true;
	}
	kr.call.view.cut = true;
	return false;
}

/* A destination is complete. Not 0: the call ends before the next one. */
static __always_inline int end_destination(bool end)
{
	kr.first = kr.call.view.n;
	kr.call.view.end = end;
	return kr.call.view.cut || end || kr.ends || kr.cost >= kr.call.question.budget;
}

#endif
