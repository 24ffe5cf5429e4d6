// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The packet generator and its sink. The generator runs in the live-frames mode of
 * BPF_PROG_TEST_RUN. That mode recycles frames with what the last trip wrote into them (a
 * frame that was forwarded keeps its new MACs), so all headers are written for every packet; the
 * payload, which nobody touches, comes from the frame given to the test run. Of a frame that is
 * about a number nobody knows what is header, and all of it is written.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

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

const volatile struct flood_config config;
struct flood_state state;

static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline void write_frame(void *data, const struct flood_target *target, __u16 port)
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
	*(__u16 *)(data + FLOOD_SRC_PORT_OFFSET) = port;
	*(__u16 *)(data + FLOOD_DST_PORT_OFFSET) = config.header.pieces[FLOOD_DST_PORT_OFFSET / 2];
	*(__u16 *)(data + FLOOD_UDP_LEN_OFFSET) = config.header.pieces[FLOOD_UDP_LEN_OFFSET / 2];
	*(__u16 *)(data + FLOOD_CHECKSUM_OFFSET) = fold(target->sum + port);
}

static __always_inline void count_frame(__u64 number)
{
	if (!(number % FLOOD_STAMP_EVERY)) {
		state.stamp_ns = bpf_ktime_get_ns();
		state.stamp_sent = number;
		if (!number)
			state.first_ns = state.stamp_ns;
	}
	state.sent = number + 1;
}

/* One frame, whole, and the count of it. Not 0: the test run was given too short a frame. */
static __always_inline int make_frame(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct flood_target *target;
	__u64 number = state.sent;
	__u32 slot = number & config.target_mask;

	target = bpf_map_lookup_elem(&targets, &slot);
	if (!target || data + FLOOD_HEADER_BYTES > end)
		return -1;
	write_frame(data, target,
		    bpf_htons(FLOOD_SRC_PORT_FIRST + (number & (FLOOD_SRC_PORTS - 1))));
	count_frame(number);
	return 0;
}

/* Out of a device, towards whatever is at its other end. */
SEC("xdp")
int flood_send(struct xdp_md *ctx)
{
	if (make_frame(ctx))
		return XDP_ABORTED;
	return bpf_redirect(config.ifindex, 0);
}

/* The same of a frame about a number. */
SEC("xdp")
int flood_about(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 bytes = config.about.frame_bytes, number = state.sent & config.target_mask;

	if (bytes > FLOOD_ABOUT_BYTES || data + bytes > end)
		return XDP_ABORTED;
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
	count_frame(state.sent);
	return bpf_redirect(config.ifindex, 0);
}

/* Into the program under test, as if the frame had come in by the test run's device. */
SEC("xdp")
int flood_into(struct xdp_md *ctx)
{
	if (make_frame(ctx))
		return XDP_ABORTED;
	bpf_tail_call(ctx, &into, 0);
	return XDP_ABORTED;
}

/* At the far end: the flood is counted and dropped, everything else is the host's. */
SEC("xdp")
int flood_sink(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct flood_sink *sink;
	const __u8 *bytes = data;
	__u32 zero = 0;

	if (data + FLOOD_HEADER_BYTES > end)
		return XDP_PASS;
	if (*(__u16 *)(data + 12) != bpf_htons(0x86dd) || bytes[20] != 17 ||
	    *(__u16 *)(data + FLOOD_DST_PORT_OFFSET) != bpf_htons(FLOOD_DST_PORT))
		return XDP_PASS;
	sink = bpf_map_lookup_elem(&sunk, &zero);
	if (!sink)
		return XDP_PASS;
	sink->packets++;
	sink->bytes += end - data;
	if (bytes[21] != FLOOD_HOP_LIMIT - 1)
		sink->wrong++;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
