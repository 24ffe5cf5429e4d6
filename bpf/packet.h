/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One packet on its walk: what each step has found out, for the steps after it. The whole
 * struct lives in registers and on the stack, since every step is inlined. Holds no rules.
 *
 * Invariant: eth and ip6 point to 54 bytes inside the frame from parse_packet() on, until the
 * tail is moved.
 */
#ifndef SIXLANE_PACKET_H
#define SIXLANE_PACKET_H

#include "maps.h"

/*
 * Own header structs, since those of <linux/> are packed or made of bytes, which makes clang
 * load and store one byte at a time. With the frame at NET_IP_ALIGN every access is aligned,
 * also on architectures where the verifier insists on it.
 */
struct packet_eth {
	__be16 dst[3];
	__be16 src[3];
	__be16 type;
};
_Static_assert(sizeof(struct packet_eth) == 14, "Ethernet II header");

struct packet_ip6 {
	__u8 version_class; /* version in the upper four bits */
	__u8 class_flow[3];
	__be16 payload_len;
	__u8 next_header;
	__u8 hop_limit;
	union sixlane_addr src;
	union sixlane_addr dst;
};
_Static_assert(sizeof(struct packet_ip6) == 40, "RFC 8200 section 3");

/* A MAC word as the 16-bit pieces that frames are read and written by. */
union packet_mac {
	__u64 word;
	__be16 pieces[4];
};

struct packet {
	struct xdp_md *ctx;
	__u32 bytes;	/* of the frame as it came in */
	__u32 ip_bytes; /* of the IPv6 packet in it: header and payload, no padding */
	struct packet_eth *eth;
	struct packet_ip6 *ip6;

	__u32 slot;    /* of the ingress port; 0: unknown */
	__u32 ingress; /* ifindex */
	__u32 ingress_flags;
	const struct sixlane_port *port; /* NULL: unknown */

	const struct sixlane_next_hop *next_hop;
	const struct sixlane_port *egress_port;
	__u32 egress; /* ifindex */
	union packet_mac dst_mac;
};

/* Point eth and ip6 at the frame as it is now. False: it is shorter than both headers. */
static __always_inline int packet_point(struct packet *pkt)
{
	void *data = (void *)(long)pkt->ctx->data;
	void *end = (void *)(long)pkt->ctx->data_end;

	pkt->eth = data;
	pkt->ip6 = data + sizeof(struct packet_eth);
	return (void *)(pkt->ip6 + 1) <= end;
}

#endif
