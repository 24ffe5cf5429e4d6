/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the engine's programs have in common: maps, and what a frame begins with. */
#ifndef BENCH_ENGINE_XDP_BPF_H
#define BENCH_ENGINE_XDP_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h> /* needs the types of the above */

#define MAP(name, kind, flags, entries, key_type, value_type) \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_##kind);            \
		__uint(map_flags, flags);                     \
		__uint(max_entries, entries);                 \
		__type(key, key_type);                        \
		__type(value, value_type);                    \
	} name SEC(".maps")

/* Ethernet and IPv6. */
struct headers {
	__u16 dst_mac[3], src_mac[3];
	__be16 type;
	__u8 version, reserved[3];
	__be16 payload_bytes;
	__u8 next_header, hop_limit;
	__u8 src[16], dst[16];
	__be16 src_port, dst_port; /* where there are such */
} __attribute__((packed, aligned(2)));
#define HEADERS_BYTES 54 /* without ports */

static __always_inline bool is_short(const struct xdp_md *ctx, __u32 bytes)
{
	return (void *)(long)ctx->data + bytes > (void *)(long)ctx->data_end;
}

#endif
