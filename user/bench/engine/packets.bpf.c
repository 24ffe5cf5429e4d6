// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The generator. It runs in the live-frames mode of BPF_PROG_TEST_RUN, which recycles frames
 * without clearing them, so each frame is written whole. While no frame is due, the program drops
 * the buffer, which the kernel then offers again.
 */
#include "xdp.bpf.h"

#include <bpf/bpf_tracing.h>

#include "packets.h"

#define LOOPBACK 1

MAP(targets, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct packets_target);

/* The program under test. */
MAP(into, PROG_ARRAY, 0, 1, __u32, __u32);

MAP(states, ARRAY, BPF_F_MMAPABLE, PACKETS_MOST_CPUS, __u32, struct packets_state);

/* Frames of packets_given. */
MAP(given, ARRAY, BPF_F_MMAPABLE, 1, __u32, __u8[PACKETS_GIVEN_BYTES]);

/* Set before the object is loaded. */
const volatile union {
	__u16 pieces[40];
	__u64 words[10];
} header;					  /* the template */
const volatile __u32 header_bytes, payload_bytes; /* packets_given: 0, and the frame */
const volatile __u32 target_mask;		  /* targets of a CPU - 1, or given frames - 1 */
const volatile __u32 egress;			  /* ifindex to send from */
const volatile __u32 random_hosts;		  /* in place of the source's, which is 0 */
/* The process that runs the program: its number in its PID namespace, and that namespace. */
const volatile __u32 tgid;
const volatile __u32 pid_ns_dev, pid_ns_ino;
const volatile __u8 zeros[PACKETS_MOST_BYTES];

struct packets_run run;

/* --- when ----------------------------------------------------------------------------------- */

static __always_inline struct packets_state *find_state(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&states, &cpu);
}

/* Record when the timed part of a lane begins and ends, and whether the run is over. */
static __always_inline void take_time(struct packets_state *state, __u64 now)
{
	if (!state->made)
		__sync_fetch_and_add(&run.started, 1);
	if (!state->first_ns) {
		if (run.together && *(volatile __u32 *)&run.started < run.lanes)
			return;
		state->first_ns = now;
		state->first_made = state->made;
	} else if (!state->done) {
		state->last_ns = now;
		state->last_made = state->made;
		if (run.together && state->made - state->first_made >= run.count) {
			state->done = 1;
			__sync_fetch_and_add(&run.done, 1);
		}
	}
	state->over = *(volatile __u32 *)&run.over ||
		      (run.together && *(volatile __u32 *)&run.done >= run.lanes) ||
		      (run.length_ns && now - state->first_ns >= run.length_ns);
}

/*
 * Runs at a lane's first and last frame, at every 256th, and at every frame of a paced lane. A
 * paced lane that is late catches up. Returns whether a frame is due.
 */
static __always_inline bool look_around(struct packets_state *state)
{
	__u64 left = state->most - (state->made - state->refused), now, some;

	if (state->over || !left)
		return false;
	now = bpf_ktime_get_ns();
	some = PACKETS_LOOK_EVERY - state->made % PACKETS_LOOK_EVERY;
	if (run.delay_ns) {
		if (now < state->next_ns)
			return false;
		state->next_ns = (state->next_ns ?: now) + run.delay_ns;
		some = 1;
	}
	take_time(state, now);
	state->until = state->made + (left > some ? some : left > 1 ? left - 1 : 1);
	return !state->over;
}

/*
 * Set the index of the next frame's target. Returns XDP_REDIRECT, XDP_DROP while no frame is due,
 * or XDP_ABORTED for a buffer that is too small.
 */
static __always_inline int begin_frame(struct xdp_md *ctx, struct packets_state *state, __u32 bytes,
				       __u32 *index)
{
	if (!state || is_short(ctx, bytes))
		return XDP_ABORTED;
	if (state->made >= state->until && !look_around(state))
		return XDP_DROP;
	*index = state->first_target + (state->made & target_mask);
	return XDP_REDIRECT;
}

/* --- frames --------------------------------------------------------------------------------- */

/* A random host of the source's network. Returns its part of the checksum's sum. */
static __always_inline __u32 write_host(void *data)
{
	__u32 high = bpf_get_prandom_u32(), low = bpf_get_prandom_u32();

	*(__u64 *)(data + PACKETS_SRC_HOST) = (__u64)high << 32 | low;
	return (high >> 16) + (high & 0xffff) + (low >> 16) + (low & 0xffff);
}

/* The verifier knows header_bytes, and removes the branches that are not taken. */
static __always_inline void write_l4(__u16 *at, __u16 port, __u32 sum)
{
	__u32 bytes = header_bytes - PACKETS_IP6_BYTES;

	for (__u32 i = 1; i < PACKETS_TCP_BYTES / 2; i++)
		if (2 * i < bytes)
			at[i] = header.pieces[PACKETS_IP6_BYTES / 2 + i];
	if (bytes)
		at[0] = port;
	if (bytes == PACKETS_UDP_BYTES)
		at[3] = packets_fold(sum + port);
	else if (bytes == PACKETS_TCP_BYTES)
		at[8] = packets_fold(sum + port);
}

/* Zeros. Packet pointers are invalid afterwards. */
static __always_inline int write_payload(struct xdp_md *ctx, __u16 *at)
{
	__u32 written = 0, rest;

	/* Small ones without a helper's call. */
	for (__u32 i = 0; i < 3; i++)
		if (payload_bytes >= 2 * i + 2) {
			at[i] = 0;
			written = 2 * i + 2;
		}
	rest = payload_bytes - written;
	if (!rest)
		return XDP_REDIRECT;
	if (rest > sizeof(zeros) ||
	    bpf_xdp_store_bytes(ctx, header_bytes + written, (void *)zeros, rest))
		return XDP_ABORTED;
	return XDP_REDIRECT;
}

/* Write one frame. Returns XDP_REDIRECT, or the verdict for a buffer that is no frame. */
static __always_inline int make_frame(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	__u32 bytes = header_bytes + payload_bytes, index, sum;
	struct packets_state *state = find_state();
	const struct packets_target *target;
	int action;

	if (bytes < PACKETS_IP6_BYTES || bytes > PACKETS_MOST_BYTES)
		return XDP_ABORTED;
	action = begin_frame(ctx, state, bytes, &index);
	if (action != XDP_REDIRECT)
		return action;
	target = bpf_map_lookup_elem(&targets, &index);
	if (!target)
		return XDP_ABORTED;
	/* The last of these words reaches into the destination. */
	for (__u32 i = 0; i <= PACKETS_DST / 8; i++)
		((__u64 *)data)[i] = header.words[i];
	*(__u64 *)(data + PACKETS_DST) = target->addr[0];
	*(__u64 *)(data + PACKETS_DST + 8) = target->addr[1];
	sum = target->sum;
	if (random_hosts)
		sum += write_host(data);
	write_l4(data + PACKETS_IP6_BYTES,
		 bpf_htons(PACKETS_PORT_FIRST + (state->made & run.port_mask)), sum);
	state->made++;
	return write_payload(ctx, data + header_bytes);
}

/* Into the program under test, as if the frame had arrived at the test run's device. */
SEC("xdp")
int packets_into(struct xdp_md *ctx)
{
	int action = make_frame(ctx);

	if (action == XDP_REDIRECT)
		bpf_tail_call(ctx, &into, 0);
	return action == XDP_DROP ? XDP_DROP : XDP_ABORTED;
}

/* Out of a device. */
SEC("xdp")
int packets_send(struct xdp_md *ctx)
{
	int action = make_frame(ctx);

	return action == XDP_REDIRECT ? bpf_redirect(egress, 0) : action;
}

/* Given frames, out of a device. */
SEC("xdp")
int packets_given(struct xdp_md *ctx)
{
	struct packets_state *state = find_state();
	void *frame;
	__u32 index;
	int action;

	if (!payload_bytes || payload_bytes > PACKETS_GIVEN_BYTES)
		return XDP_ABORTED;
	action = begin_frame(ctx, state, payload_bytes, &index);
	if (action != XDP_REDIRECT)
		return action;
	frame = bpf_map_lookup_elem(&given, &index);
	if (!frame || bpf_xdp_store_bytes(ctx, 0, frame, payload_bytes))
		return XDP_ABORTED;
	state->made++;
	return bpf_redirect(egress, 0);
}

/* --- frames that do not leave --------------------------------------------------------------- */

struct net_device {
	int ifindex;
} __attribute__((preserve_access_index));

/*
 * Count refused frames of this generator. The tracepoints see forwarded frames, too; only live
 * frames come from the loopback device. Another network namespace may have a device of the same
 * index, so the current process must be the one that runs the program.
 */
static __always_inline int count_refused(const struct net_device *from, __u32 ifindex, int n)
{
	struct packets_state *state = find_state();
	struct bpf_pidns_info info = { 0 };

	if (state && from->ifindex == LOOPBACK && ifindex == egress && n > 0 &&
	    !bpf_get_ns_current_pid_tgid(pid_ns_dev, pid_ns_ino, &info, sizeof(info)) &&
	    info.tgid == tgid)
		state->refused += n;
	return 0;
}

#pragma clang diagnostic ignored "-Wunused-parameter"

/* The driver's ring is full. */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(packets_sent, const struct net_device *from, const struct net_device *to, int sent,
	     int drops)
{
	return count_refused(from, to->ifindex, drops);
}

/* The driver takes no redirected frames. */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(packets_refused, const struct net_device *from, const void *prog, const void *to,
	     int error, int map_type, __u32 map_id, __u32 ifindex)
{
	return count_refused(from, ifindex, 1);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
