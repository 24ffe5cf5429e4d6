// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The generator. It runs in the live-frames mode of BPF_PROG_TEST_RUN, which recycles frames
 * without clearing them, so each frame is written whole. While no frame is due, the program drops
 * the buffer, which the kernel then offers again.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "packets.h"

#define LOOPBACK 1
#define L4 PACKETS_IP6_BYTES

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct packets_target);
} targets SEC(".maps");

/* The program under test. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} into SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct packets_state);
} states SEC(".maps");

/* Frames of packets_given. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct packets_given);
} given SEC(".maps");

/* Set before the object is loaded. */
const volatile union {
	__u8 bytes[80];
	__u16 pieces[40];
	__u32 quarters[20];
	__u64 words[10];
} header;					  /* the template */
const volatile __u32 header_bytes, payload_bytes; /* packets_given: the frame, and 0 */
const volatile __u32 target_mask;		  /* targets of a CPU - 1, or given frames - 1 */
const volatile __u32 egress;			  /* ifindex to send from */
const volatile __u8 random_hosts;		  /* in place of the source's, which is 0 */
/* The process that runs the program: its number in its PID namespace, and that namespace. */
const volatile __u32 tgid;
const volatile __u64 pid_ns_dev, pid_ns_ino;
const volatile __u8 zeros[PACKETS_MOST_BYTES];

struct packets_run run;

/* --- when ----------------------------------------------------------------------------------- */

static __always_inline struct packets_state *find_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&states, &zero);
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
 * Called at a lane's first and last frame, at every 256th, and at every frame of a paced lane. A
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

/* Whether a frame is due. */
static __always_inline bool begin_frame(struct packets_state *state)
{
	return state->made < state->until || look_around(state);
}

/* --- frames --------------------------------------------------------------------------------- */

static __always_inline void write_ip6(void *data, const struct packets_target *target)
{
	__u64 *words = data;

	words[0] = header.words[0];
	words[1] = header.words[1];
	words[2] = header.words[2];
	words[3] = header.words[3];
	*(__u32 *)(data + 32) = header.quarters[8];
	*(__u16 *)(data + 36) = header.pieces[18];
	*(__u64 *)(data + PACKETS_DST) = target->addr[0];
	*(__u64 *)(data + PACKETS_DST + 8) = target->addr[1];
}

/* Another host of the source's network. Returns what the checksum has to cover of it. */
static __always_inline __u32 write_host(void *data)
{
	__u32 high = bpf_get_prandom_u32(), low = bpf_get_prandom_u32();

	*(__u64 *)(data + PACKETS_SRC_HOST) = (__u64)high << 32 | low;
	return (high >> 16) + (high & 0xffff) + (low >> 16) + (low & 0xffff);
}

/* The verifier knows header_bytes, and removes the branches that are not taken. */
static __always_inline void write_l4(void *data, __u16 port, __u32 sum)
{
	__u32 bytes = header_bytes - L4;
	__u16 *at = data + L4;

	for (__u32 i = 1; i < PACKETS_TCP_BYTES / 2; i++)
		if (2 * i < bytes)
			at[i] = header.pieces[L4 / 2 + i];
	if (bytes)
		at[0] = port;
	if (bytes == PACKETS_UDP_BYTES)
		at[3] = packets_fold(sum + port);
	else if (bytes == PACKETS_TCP_BYTES)
		at[8] = packets_fold(sum + port);
}

/* The stamp; in a payload that is shorter, its zeros. */
static __always_inline void write_stamp(void *at, const __u16 *stamp)
{
	if (payload_bytes >= 2)
		((__u16 *)at)[0] = stamp[0];
	if (payload_bytes >= 4)
		((__u16 *)at)[1] = stamp[1];
	if (payload_bytes >= PACKETS_STAMP_BYTES)
		((__u16 *)at)[2] = stamp[2];
}

/* Zeros behind the stamp. Packet pointers are invalid afterwards. */
static __always_inline bool write_rest(struct xdp_md *ctx)
{
	__u32 written =
		payload_bytes < PACKETS_STAMP_BYTES ? payload_bytes & ~1u : PACKETS_STAMP_BYTES;
	__u32 rest = payload_bytes - written;

	if (!rest || rest > sizeof(zeros))
		return !rest;
	return !bpf_xdp_store_bytes(ctx, header_bytes + written, (void *)zeros, rest);
}

/* Write one frame. Returns XDP_REDIRECT, or the verdict for a buffer that is no frame. */
static __always_inline int make_frame(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 bytes = header_bytes + payload_bytes, slot;
	struct packets_state *state = find_state();
	const struct packets_target *target;
	__u16 stamp[3] = { 0 }, port;
	__u32 sum;
	__u64 now;

	if (!state || bytes < PACKETS_IP6_BYTES || bytes > PACKETS_MOST_BYTES || data + bytes > end)
		return XDP_ABORTED;
	if (!begin_frame(state))
		return XDP_DROP;
	slot = state->first_target + (state->made & target_mask);
	target = bpf_map_lookup_elem(&targets, &slot);
	if (!target)
		return XDP_ABORTED;
	if (run.stamped && payload_bytes >= PACKETS_STAMP_BYTES) {
		now = bpf_ktime_get_ns();
		stamp[0] = now;
		stamp[1] = now >> 16;
		stamp[2] = now >> 32;
	}
	write_ip6(data, target);
	sum = target->sum + stamp[0] + stamp[1] + stamp[2];
	if (random_hosts)
		sum += write_host(data);
	port = bpf_htons(PACKETS_PORT_FIRST + (state->made & run.port_mask));
	write_l4(data, port, sum);
	write_stamp(data + header_bytes, stamp);
	state->made++;
	return write_rest(ctx) ? XDP_REDIRECT : XDP_ABORTED;
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
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct packets_state *state = find_state();
	const struct packets_given *frame;
	__u32 slot;

	if (!state || !header_bytes || header_bytes > PACKETS_GIVEN_BYTES ||
	    data + header_bytes > end)
		return XDP_ABORTED;
	if (!begin_frame(state))
		return XDP_DROP;
	slot = state->first_target + (state->made & target_mask);
	frame = bpf_map_lookup_elem(&given, &slot);
	if (!frame || bpf_xdp_store_bytes(ctx, 0, (void *)frame, header_bytes))
		return XDP_ABORTED;
	state->made++;
	return bpf_redirect(egress, 0);
}

/* --- devices -------------------------------------------------------------------------------- */

struct net_device {
	int ifindex;
} __attribute__((preserve_access_index));

/* Live frames leave while the process that runs the program is current. Other processes may send
 * from a device of the same index in another network namespace. */
static __always_inline bool is_own_process(void)
{
	struct bpf_pidns_info info = { 0 };

	return !bpf_get_ns_current_pid_tgid(pid_ns_dev, pid_ns_ino, &info, sizeof(info)) &&
	       info.tgid == tgid;
}

/* Frames that were made, but did not leave. Forwarded frames pass here, too; only live frames come
 * from the loopback device. */
static __always_inline void count_refused(const struct net_device *from, __u32 ifindex, int n)
{
	struct packets_state *state = find_state();

	if (state && from->ifindex == LOOPBACK && ifindex == egress && n > 0 && is_own_process())
		state->refused += n;
}

/* The driver's ring is full. */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(packets_sent, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int error)
{
	(void)ctx;
	(void)sent;
	(void)error;
	count_refused(from, to->ifindex, drops);
	return 0;
}

/* The driver takes no redirected frames. */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(packets_refused, const struct net_device *from, const void *prog, const void *to,
	     int error, int map_type, __u32 map_id, __u32 ifindex)
{
	(void)ctx;
	(void)prog;
	(void)to;
	(void)error;
	(void)map_type;
	(void)map_id;
	count_refused(from, ifindex, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
