// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames out of a device, by the live-frames mode of BPF_PROG_TEST_RUN. That recycles frames with
 * what their last trip left in them, so each is written whole. A frame for which it is too early is
 * dropped here, and its memory used for the next try: so waiting costs nothing but this CPU.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "generator_flood.h"

#define SRC_OFFSET 22
#define DST_OFFSET 38
#define SRC_PORT_OFFSET FLOOD_IP6_BYTES
#define UDP_CHECKSUM_OFFSET (FLOOD_IP6_BYTES + 6)
#define TCP_CHECKSUM_OFFSET (FLOOD_IP6_BYTES + 16)
#define FIRST_PORT 1024u
#define LOOPBACK 1

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOOD_RANGES);
	__type(key, __u32);
	__type(value, struct flood_range);
} flood_ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flood_progress);
} flood_progress SEC(".maps");

const volatile struct flood_settings settings;

static __always_inline struct flood_progress *find_progress(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&flood_progress, &key);
}

/* xorshift64: of a state that is not 0. */
static __always_inline __u64 draw(struct flood_progress *progress)
{
	__u64 x = progress->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	progress->random = x;
	return x * 0x2545f4914f6cdd1d;
}

/* Of 16-bit words, 8 bytes at a time. */
static __always_inline __u64 sum_of(__u64 word)
{
	return (word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48);
}

static __always_inline __u16 fold(__u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff ? 0xffff : ~sum;
}

/* Whether it is time for a frame of this CPU. */
static __always_inline bool is_due(struct flood_progress *progress)
{
	__u64 now = bpf_ktime_get_ns();

	if ((progress->most && progress->frames - progress->refused >= progress->most) ||
	    (progress->length_ns && progress->first_ns &&
	     now - progress->first_ns >= progress->length_ns))
		return false;
	if (settings.delay_ns) {
		if (now < progress->next_ns)
			return false;
		progress->next_ns = (progress->next_ns ?: now) + settings.delay_ns;
	}
	if (!progress->first_ns)
		progress->first_ns = now;
	progress->last_ns = now;
	return true;
}

/* Addresses and ports. data: with room for all headers. */
static __always_inline bool write_flow(void *data, struct flood_progress *progress)
{
	__u32 which = draw(progress) % (settings.n_ranges ?: 1);
	const struct flood_range *range = bpf_map_lookup_elem(&flood_ranges, &which);
	__u64 *src = data + SRC_OFFSET, *dst = data + DST_OFFSET, sum = 0;
	__u16 port = FIRST_PORT;

	if (!range)
		return false;
	dst[0] = range->low[0] | (draw(progress) & range->high[0]);
	dst[1] = range->low[1] | (draw(progress) & range->high[1]);
	if (settings.random_src)
		src[1] = draw(progress);
	if (!settings.is_flow)
		port += draw(progress) % (65536 - FIRST_PORT);
	*(__u16 *)(data + SRC_PORT_OFFSET) = bpf_htons(port);
	/* What is behind the header is zero; lengths and the protocol are in the pseudo header. */
	sum = sum_of(src[0]) + sum_of(src[1]) + sum_of(dst[0]) + sum_of(dst[1]);
	sum += bpf_htons(settings.frame_bytes - FLOOD_IP6_BYTES);
	sum += bpf_htons(((__u8 *)data)[20]);
	sum += sum_of(*(__u64 *)(data + FLOOD_IP6_BYTES));
	if (settings.is_tcp) {
		sum += sum_of(*(__u64 *)(data + FLOOD_IP6_BYTES + 8));
		sum += sum_of(*(__u32 *)(data + FLOOD_IP6_BYTES + 16));
		*(__u16 *)(data + TCP_CHECKSUM_OFFSET) = fold(sum);
	} else {
		*(__u16 *)(data + UDP_CHECKSUM_OFFSET) = fold(sum);
	}
	return true;
}

static __always_inline bool write_rest(struct xdp_md *ctx)
{
	__u32 rest = settings.frame_bytes - settings.header_bytes;

	if (!rest || rest > sizeof(settings.payload))
		return !rest;
	return !bpf_xdp_store_bytes(ctx, settings.header_bytes, (void *)settings.payload, rest);
}

SEC("xdp")
int flood(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct flood_progress *progress = find_progress();
	__u32 bytes = settings.header_bytes;

	if (!progress || !is_due(progress))
		return XDP_DROP;
	if (bytes > FLOOD_HEADER_BYTES || data + bytes > end ||
	    bytes < FLOOD_IP6_BYTES + FLOOD_UDP_BYTES)
		return XDP_ABORTED;
	for (__u32 i = 0; i < FLOOD_IP6_BYTES + FLOOD_UDP_BYTES; i += 2)
		*(__u16 *)(data + i) = *(const volatile __u16 *)(settings.header + i);
	if (settings.is_tcp) {
		if (data + FLOOD_HEADER_BYTES > end)
			return XDP_ABORTED;
		for (__u32 i = FLOOD_IP6_BYTES + FLOOD_UDP_BYTES; i < FLOOD_HEADER_BYTES; i += 2)
			*(__u16 *)(data + i) = *(const volatile __u16 *)(settings.header + i);
	}
	if (!write_flow(data, progress) || !write_rest(ctx))
		return XDP_ABORTED;
	progress->frames++;
	return bpf_redirect(settings.ifindex, 0);
}

/* Many drivers send redirected frames only while they have a program of their own. */
SEC("xdp")
int flood_pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

struct net_device {
	int ifindex;
} __attribute__((preserve_access_index));

/* Live frames leave while the process that has them made is current; in other network namespaces
 * there are other devices of that number, and others who send. */
static __always_inline bool is_own_process(void)
{
	struct bpf_pidns_info info = { 0 };

	return !bpf_get_ns_current_pid_tgid(settings.pid_ns_dev, settings.pid_ns_ino, &info,
					    sizeof(info)) &&
	       info.tgid == settings.tgid;
}

/* Frames that were made, but did not leave. Of live frames only, which alone come from the loopback
 * device: others may be forwarded here. */
static __always_inline void count_refused(const struct net_device *from, __u32 ifindex, int n)
{
	struct flood_progress *progress = find_progress();

	if (progress && from->ifindex == LOOPBACK && ifindex == settings.ifindex && n > 0 &&
	    is_own_process())
		progress->refused += n;
}

/* A driver that has no room for them now. */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(flood_sent, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int error)
{
	(void)ctx;
	(void)sent;
	(void)error;
	count_refused(from, to->ifindex, drops);
	return 0;
}

/* One that takes none at all. */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(flood_refused, const struct net_device *from, const void *prog, const void *to,
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

char LICENSE[] SEC("license") = "GPL";
