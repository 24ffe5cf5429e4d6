// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookups as bpf/route.h does them, many in one run and without packets: by both engines side by
 * side, or as a packet does them while routes change.
 */
#include "agree.h"
#include "../../bpf/route.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, AGREE_PROBES);
	__type(key, __u32);
	__type(value, struct agree_probe);
} agree_probes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct agree_state);
} agree_states SEC(".maps");

/* The state of a run, shared by the callbacks. */
struct work {
	struct agree_state *state;
	__u32 first;
	__u64 end_ns;
};

static __always_inline struct agree_state *find_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&agree_states, &zero);
}

static __always_inline struct agree_probe *find_probe(__u32 first, __u32 i)
{
	__u32 at = (first + i) & (AGREE_PROBES - 1);

	return bpf_map_lookup_elem(&agree_probes, &at);
}

static __always_inline __u32 find_compiled(__u32 table, const union sixlane_addr *addr)
{
	const struct fib_memory memory = fib_open();
	const union sixlane_fib fib = { .word = fib_roots(&memory) };
	__u32 root;

	if (!fib.word)
		return COMPILED_UNKNOWN;
	root = route_root(fib, table);
	if (!root || root == COMPILED_UNKNOWN)
		return root;
	return compiled_find(&memory, root, bpf_be64_to_cpu(addr->halves[0]),
			     bpf_be64_to_cpu(addr->halves[1]));
}

static long agree_one(__u32 i, void *ctx)
{
	const struct work *work = ctx;
	struct agree_probe *probe = find_probe(work->first, i);

	if (!probe)
		return 1;
	probe->trie =
		route_find_in_trie(probe->table, probe->addr.halves[0], probe->addr.halves[1]);
	probe->compiled = find_compiled(probe->table, &probe->addr);
	return 0;
}

static __always_inline int run_batch(long (*one)(__u32 i, void *ctx))
{
	struct work work = { .state = find_state() };

	if (!work.state)
		return XDP_ABORTED;
	work.first = work.state->next;
	work.state->next += AGREE_BATCH;
	bpf_loop(AGREE_BATCH, one, &work, 0);
	return XDP_PASS;
}

SEC("xdp")
int agree(struct xdp_md *xdp)
{
	(void)xdp;
	return run_batch(agree_one);
}

/*
 * Every second time the address that is being changed, so that a state that lasts for nanoseconds
 * is met. Additions that return something are full barriers: no load of the lookup gets past them.
 */
static long follow_one(__u32 i, void *ctx)
{
	const struct work *work = ctx;
	struct agree_probe *result = find_probe(work->first, i);
	struct agree_state *state = find_state();
	const struct agree_probe *probe;
	union sixlane_addr addr;
	__u32 table;

	if (!result || !state)
		return 1;
	result->which = (i & 1 ? READ_ONCE(state->hot) : work->first + i) & (AGREE_PROBES - 1);
	probe = find_probe(result->which, 0);
	if (!probe)
		return 1;
	addr = probe->addr;
	table = probe->table;
	result->before = __sync_fetch_and_add(&state->finished, 0);
	result->found = route_find(table, &addr, ROUTE_HERE);
	result->after = __sync_fetch_and_add(&state->started, 0);
	return 0;
}

SEC("xdp")
int follow(struct xdp_md *xdp)
{
	(void)xdp;
	return run_batch(follow_one);
}

static long linger_on(__u32 i, void *ctx)
{
	const struct work *work = ctx;

	(void)i;
	return bpf_ktime_get_ns() >= work->end_ns;
}

/* A reader that takes 20 ms. */
SEC("xdp")
int linger(struct xdp_md *xdp)
{
	struct work work = { .state = find_state(), .end_ns = bpf_ktime_get_ns() + 20000000 };
	struct agree_state *state = find_state();

	(void)xdp;
	if (!state)
		return XDP_ABORTED;
	WRITE_ONCE(state->inside, 1);
	bpf_loop(1 << 23, linger_on, &work, 0);
	WRITE_ONCE(state->inside, 0);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
