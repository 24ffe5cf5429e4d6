// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The packet generator and its sink. The generator runs in the live-frames mode of
 * BPF_PROG_TEST_RUN. That mode recycles frames with what the last trip wrote into them (a
 * frame that was forwarded keeps its new MACs), so every frame is written whole, each time.
 *
 * Several CPUs at once make frames until each has made its count while the others did so as well;
 * what a test run has left to do then is dropped.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../latency.bpf.h"
#include "flood.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flood_target);
} targets SEC(".maps");

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
	__type(value, struct flood_sink);
} sunk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flood_state);
} states SEC(".maps");

const volatile struct flood_config config;
struct flood_run run;

/* --- sending ---------------------------------------------------------------------------------- */

static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	/* 0 says that there is none, which UDP over IPv6 must have (RFC 8200, 8.1) */
	return sum == 0xffff ? 0xffff : ~sum;
}

static __always_inline void write_headers(void *data, const struct flood_target *target)
{
	__u64 *words = data;

	words[0] = config.header.words[0];
	words[1] = config.header.words[1];
	words[2] = config.header.words[2];
	words[3] = config.header.words[3];
	*(__u32 *)(data + 32) = config.header.quarters[8];
	*(__u16 *)(data + 36) = config.header.pieces[18];
	*(__u64 *)(data + FLOOD_DST_OFFSET) = target->addr[0];
	*(__u64 *)(data + FLOOD_DST_OFFSET + 8) = target->addr[1];
}

static __always_inline void write_udp(void *data, __u16 port, __u32 sum)
{
	*(__u16 *)(data + FLOOD_SRC_PORT_OFFSET) = port;
	*(__u16 *)(data + FLOOD_DST_PORT_OFFSET) = config.header.pieces[FLOOD_DST_PORT_OFFSET / 2];
	*(__u16 *)(data + FLOOD_UDP_LEN_OFFSET) = config.header.pieces[FLOOD_UDP_LEN_OFFSET / 2];
	*(__u16 *)(data + FLOOD_CHECKSUM_OFFSET) = fold(sum + port);
}

/* The stamp, or as much of it as there is room for if it is none. */
static __always_inline void write_stamp(void *at, const __u16 *stamp)
{
	if (config.payload_bytes >= 2)
		((__u16 *)at)[0] = stamp[0];
	if (config.payload_bytes >= 4)
		((__u16 *)at)[1] = stamp[1];
	if (config.payload_bytes >= FLOOD_STAMP_BYTES)
		((__u16 *)at)[2] = stamp[2];
}

/* What is behind the stamp. data is none of the packet's afterwards. */
static __always_inline int write_rest(struct xdp_md *ctx)
{
	__u32 written = config.payload_bytes < FLOOD_STAMP_BYTES ? config.payload_bytes & ~1u
								 : FLOOD_STAMP_BYTES;
	__u32 rest = config.payload_bytes - written;

	if (!rest)
		return 0;
	if (rest > sizeof(config.payload))
		return -1;
	return bpf_xdp_store_bytes(ctx, config.header_bytes + written, (void *)config.payload,
				   rest);
}

/* Now and then: whether all CPUs are at work, and when. */
static __always_inline void look_around(struct flood_state *state, __u64 number)
{
	__u64 now = bpf_ktime_get_ns();

	if (!number)
		__sync_fetch_and_add(&run.started, 1);
	if (!state->first_ns) {
		if (*(volatile __u32 *)&run.started < run.cpus)
			return;
		state->first_ns = now;
		state->first_sent = number;
	} else if (!state->done) {
		state->stamp_ns = now;
		state->stamp_sent = number;
		if (number - state->first_sent >= run.count) {
			state->done = 1;
			__sync_fetch_and_add(&run.done, 1);
		}
	}
	state->over = *(volatile __u32 *)&run.done >= run.cpus;
}

static __always_inline struct flood_state *find_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&states, &zero);
}

/* One frame, whole, and the count of it; or what the program has to return instead. */
static __always_inline int make_frame(struct xdp_md *ctx, int stamped)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 bytes = config.header_bytes + config.payload_bytes, slot;
	struct flood_state *state = find_state();
	const struct flood_target *target;
	__u16 stamp[3] = { 0 }, port;
	__u64 number, now;

	if (!state || bytes < FLOOD_IP6_BYTES || bytes > FLOOD_FRAME_BYTES_MAX ||
	    data + bytes > end)
		return XDP_ABORTED;
	if (state->over)
		return XDP_DROP;
	number = state->sent;
	slot = state->first_target + (number & config.target_mask);
	target = bpf_map_lookup_elem(&targets, &slot);
	if (!target)
		return XDP_ABORTED;
	if (stamped) {
		now = bpf_ktime_get_ns();
		stamp[0] = now;
		stamp[1] = now >> 16;
		stamp[2] = now >> 32;
	}
	write_headers(data, target);
	port = bpf_htons(FLOOD_SRC_PORT_FIRST + (number & run.port_mask));
	if (config.header_bytes == FLOOD_HEADER_BYTES) {
		write_udp(data, port, target->sum + stamp[0] + stamp[1] + stamp[2]);
		write_stamp(data + FLOOD_HEADER_BYTES, stamp);
	} else {
		write_stamp(data + FLOOD_IP6_BYTES, stamp);
	}
	if (!(number % FLOOD_STAMP_EVERY))
		look_around(state, number);
	state->sent = number + 1;
	return write_rest(ctx) ? XDP_ABORTED : XDP_REDIRECT;
}

/* Out of a device, towards whatever is at its other end. */
SEC("xdp")
int flood_send(struct xdp_md *ctx)
{
	int action = make_frame(ctx, 0);

	return action == XDP_REDIRECT ? bpf_redirect(config.ifindex, 0) : action;
}

/* The same of a frame about a number. */
SEC("xdp")
int flood_about(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct flood_state *state = find_state();
	__u32 bytes = config.about.frame_bytes, number;

	if (!state || bytes > FLOOD_ABOUT_BYTES || data + bytes > end)
		return XDP_ABORTED;
	number = state->sent & config.target_mask;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < bytes / 2; i++)
		((__u16 *)data)[i] = config.about.frame.pieces[i];
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < FLOOD_ABOUT_PLACES; i++) {
		__u32 at = config.about.places[i];

		if (i >= config.about.n_places)
			break;
		if (at + 8 > bytes)
			return XDP_ABORTED;
		*(__u32 *)(data + at) = bpf_htonl(number);
		*(__u32 *)(data + at + 4) = ~bpf_htonl(number);
	}
	if (!(state->sent % FLOOD_STAMP_EVERY))
		look_around(state, state->sent);
	state->sent++;
	return bpf_redirect(config.ifindex, 0);
}

/* Into the program under test, as if the frame had come in by the test run's device. */
SEC("xdp")
int flood_into(struct xdp_md *ctx)
{
	int action = make_frame(ctx, 0);

	if (action == XDP_REDIRECT)
		bpf_tail_call(ctx, &into, 0);
	return action == XDP_DROP ? XDP_DROP : XDP_ABORTED;
}

/* The same with the time of sending in each frame. */
SEC("xdp")
int flood_into_stamped(struct xdp_md *ctx)
{
	int action = make_frame(ctx, 1);

	if (action == XDP_REDIRECT)
		bpf_tail_call(ctx, &into, 0);
	return action == XDP_DROP ? XDP_DROP : XDP_ABORTED;
}

/* --- the far end ------------------------------------------------------------------------------ */

static __always_inline void count_latency(const void *at)
{
	const __u16 *stamp = at;
	__u64 sent_ns = stamp[0] | (__u64)stamp[1] << 16 | (__u64)stamp[2] << 32;

	if (sent_ns)
		latency_add((bpf_ktime_get_ns() - sent_ns) & FLOOD_STAMP_MASK);
}

/* Whether it is of the flood, and where its stamp is; NULL: it has none. */
static __always_inline int is_flood(const void *data, const void *end, const void **stamp)
{
	const __u8 *bytes = data;

	*stamp = 0;
	if (data + FLOOD_FRAME_BYTES_MIN > end || *(__u16 *)(data + 12) != bpf_htons(0x86dd))
		return 0;
	if (bytes[20] == FLOOD_NO_NEXT_HEADER) {
		*stamp = data + FLOOD_IP6_BYTES;
		return 1;
	}
	if (bytes[20] != FLOOD_UDP || data + FLOOD_HEADER_BYTES > end ||
	    *(__u16 *)(data + FLOOD_DST_PORT_OFFSET) != bpf_htons(FLOOD_DST_PORT))
		return 0;
	if (data + FLOOD_UDP_BYTES_MIN <= end)
		*stamp = data + FLOOD_HEADER_BYTES;
	return 1;
}

/* The flood is counted and dropped, everything else is the host's. */
SEC("xdp")
int flood_sink(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct flood_sink *sink;
	const void *stamp;
	__u32 zero = 0;

	if (!is_flood(data, end, &stamp))
		return XDP_PASS;
	sink = bpf_map_lookup_elem(&sunk, &zero);
	if (!sink)
		return XDP_PASS;
	if (stamp)
		count_latency(stamp);
	sink->packets++;
	sink->bytes += end - data;
	if (((__u8 *)data)[21] != FLOOD_HOP_LIMIT - 1)
		sink->wrong++;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
