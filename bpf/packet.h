/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One packet on its walk: what each step has found out, for the steps after it. The whole
 * struct lives in registers and on the stack, since every step is inlined. Holds no rules.
 *
 * Invariant: eth and ip6 point to whole headers inside the frame from parse_frame() on, until the
 * head or the tail is moved.
 */
#ifndef SIXLANE_PACKET_H
#define SIXLANE_PACKET_H

#include "bound.h"
#include "maps.h"

/* Whether this is the xdp.frags flavour: sixlane.frags.bpf.c says so. */
#ifndef SIXLANE_FRAGS
#define SIXLANE_FRAGS 0
#endif

/*
 * Own header structs, since those of <linux/> are packed or made of bytes, which makes clang
 * load and store one byte at a time. With the frame at NET_IP_ALIGN every access to an untagged
 * one is aligned; tags move the addresses by four bytes, which takes an architecture that
 * loads them from there.
 */
struct packet_eth {
	__be16 dst[3];
	__be16 src[3];
	__be16 type;
};
#define PACKET_ETH_BYTES ((__u32)sizeof(struct packet_eth)) /* where the sum has 32 bits */
_Static_assert(sizeof(struct packet_eth) == 14, "Ethernet II header");

/* Bytes of VLAN tags: 0, 4 or 8. */
#define PACKET_TAGS_MASK (3 * (__u32)sizeof(union sixlane_tag))

struct packet_ip6 {
	union {
		__be32 flow; /* version, class and flow label */
		struct {
			__u8 version_class; /* version in the upper four bits */
			__u8 class_flow[3];
		};
	};
	__be16 payload_len;
	__u8 next_header;
	__u8 hop_limit;
	union sixlane_addr src;
	union sixlane_addr dst;
};
_Static_assert(sizeof(struct packet_ip6) == 40, "RFC 8200 section 3");

/*
 * A MAC word as the pieces that frames are read and written by: of an untagged one at NET_IP_ALIGN
 * the last 32 bits of the destination and the first of the source are aligned.
 */
union packet_mac {
	__u64 word;
	__be16 pieces[4];
	__be32 first;
	struct {
		__be16 before;
		__be32 last;
		__be16 flags;
	} __attribute__((packed));
};
_Static_assert(sizeof(union packet_mac) == 8, "a MAC and its flags");

/* Others read the same bytes by 16 bits. */
typedef __be32 __attribute__((may_alias)) packet_be32;

static __always_inline packet_be32 *packet_mac_last(__be16 mac[3])
{
	return (void *)&mac[1];
}

static __always_inline packet_be32 *packet_mac_first(__be16 mac[3])
{
	return (void *)&mac[0];
}

struct packet {
	struct xdp_md *ctx;
	__u32 bytes;	    /* of the frame as it came in */
	__u32 ip_bytes;	    /* of the IPv6 packet in it: header and payload, no padding */
	__u32 tag_bytes;    /* of VLAN tags before its ethertype */
	__u32 untagged;	    /* a whole IPv6 header stands right behind the Ethernet header */
	__u32 addressed;    /* the destination MAC is that of a device below the VLAN's */
	__u32 check_punted; /* SIXLANE_META_CHECK_PUNTED, or 0 */
	struct packet_eth *eth;
	struct packet_ip6 *ip6;

	__u32 slot;    /* of the ingress port; 0: unknown */
	__u32 ingress; /* ifindex */
	__u32 generic; /* the program runs in generic (skb) mode */
	__u32 ingress_flags;
	const struct sixlane_port *port; /* NULL: unknown */

	__u32 table;				 /* in which the route was found */
	__u32 route;				 /* value of the trie: SIXLANE_ROUTE_* */
	const struct sixlane_next_hop *next_hop; /* the route's */
	union sixlane_nh_entry nh_entry; /* the route's, then a member's, then an exception's */
	__u32 mtu;	 /* the route's or an exception's; 0: the egress port's alone */
	__u32 exception; /* SIXLANE_EXCEPTION_* of the one that was applied; 0: none */
	const struct sixlane_port *egress_port;
	__u32 egress_flags;
	__u32 tx_ifindex; /* ifindex to redirect to; no pointer, since Linux 6.1 loses sight of
			   * verdicts
			   */
	union packet_mac dst_mac;
	enum sixlane_verdict decided; /* see packet_decide() */
};

#define PACKET_DECIDED SIXLANE_N_VERDICTS

/*
 * End the walk by a verdict that is a number read from somewhere. The verifier of Linux 6.1 forgets
 * that such a number is not SIXLANE_FORWARD as soon as it has seen it, and would go on with the
 * walk: so a step that has one returns a constant instead.
 */
static __always_inline enum sixlane_verdict packet_decide(struct packet *pkt, __u32 verdict)
{
	pkt->decided = verdict;
	return PACKET_DECIDED;
}

/*
 * The frame's first byte and the one behind its last. In assembly, since clang knows the fields
 * for 32 bits wide and may copy them as such, after which the verifier takes them for numbers.
 */
static __always_inline void *packet_data(const struct xdp_md *ctx)
{
	void *data;

	asm volatile("%0 = *(u32 *)(%1 + %2)"
		     : "=r"(data)
		     : "r"(ctx), "i"(__builtin_offsetof(struct xdp_md, data)));
	return data;
}

static __always_inline void *packet_end(const struct xdp_md *ctx)
{
	void *end;

	asm volatile("%0 = *(u32 *)(%1 + %2)"
		     : "=r"(end)
		     : "r"(ctx), "i"(__builtin_offsetof(struct xdp_md, data_end)));
	return end;
}

/* As an offset that the verifier knows the bound of. */
static __always_inline __u64 packet_tags(__u32 tag_bytes)
{
	return __builtin_constant_p(tag_bytes) ? tag_bytes
					       : bound_mask(tag_bytes, PACKET_TAGS_MASK);
}

/*
 * Point eth and ip6 at the frame as it is now, with so many bytes of tags. False: it is shorter
 * than the headers.
 */
static __always_inline int packet_point(struct packet *pkt, __u32 tag_bytes)
{
	void *data = packet_data(pkt->ctx);

	pkt->eth = data;
	pkt->ip6 = data + sizeof(struct packet_eth) + packet_tags(tag_bytes);
	return (void *)(pkt->ip6 + 1) <= packet_end(pkt->ctx);
}

/*
 * The frame's length. With xdp.frags it may lie in several buffers, of which the first holds the
 * headers. The helper is of Linux 5.18, as that flavour is.
 */
static __always_inline __u32 packet_bytes(struct xdp_md *ctx)
{
	return SIXLANE_FRAGS ? (__u32)bpf_xdp_get_buff_len(ctx)
			     : (__u32)(packet_end(ctx) - packet_data(ctx));
}

static __always_inline int packet_has_frags(const struct packet *pkt)
{
	return SIXLANE_FRAGS && pkt->bytes > packet_end(pkt->ctx) - packet_data(pkt->ctx);
}

#endif
