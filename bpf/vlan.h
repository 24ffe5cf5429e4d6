/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The VLAN device that a tagged frame came in by (vlan_do_receive()). Untagged frames cost one
 * comparison. A VLAN device is a port like any other: from here on it is the ingress port.
 */
#ifndef SIXLANE_VLAN_H
#define SIXLANE_VLAN_H

#include <bpf/bpf_endian.h>
#include <linux/if_ether.h>

#include "packet.h"
#include "port.h"
#include "trace.h"

#define VLAN_VID_MASK bpf_htons(0x0fff)

/* Offset of the first tag, or of the ethertype. */
#define VLAN_AT (2 * ETH_ALEN)

/* eth_type_vlan() */
static __always_inline int vlan_is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/*
 * The port of the VLAN device for this tag on the current port. *taken: there is such a device. If
 * it is down, the port is NULL, and the kernel frees the frame, whatever the VID.
 */
static __always_inline const struct sixlane_port *
vlan_port(const struct packet *pkt, union sixlane_tag tag, __u32 *slot, int *taken)
{
	const struct sixlane_vlan_key key = { .lower = pkt->ingress, .tag = tag };
	const __u32 *index = bpf_map_lookup_elem(&sl_vlans, &key);
	const struct sixlane_port *port;

	*taken = index != NULL;
	if (!index)
		return NULL;
	*slot = READ_ONCE(*index);
	port = bpf_map_lookup_elem(&sl_ports, slot);
	if (!port || READ_ONCE(port->lower) != key.lower || READ_ONCE(port->tag.word) != tag.word)
		return NULL;
	return READ_ONCE(port->flags) & SIXLANE_PORT_UP ? port : NULL;
}

/* Goes from the port to the VLAN device of the tag at this offset. *more: there was a tag. */
static __always_inline enum sixlane_verdict vlan_enter(struct packet *pkt, __u32 at, int *more)
{
	void *data = packet_data(pkt->ctx);
	const union sixlane_tag *tag = data + VLAN_AT + at;
	const struct sixlane_port *port;
	union sixlane_tag own;
	__u32 slot = 0;
	int taken;

	*more = 0;
	if ((void *)(tag + 1) > packet_end(pkt->ctx) || !vlan_is_tag(tag->tpid))
		return SIXLANE_FORWARD;
	*more = 1;
	pkt->tag_bytes = at + sizeof(*tag);
	/* A VLAN device also receives frames for the MAC of its lower device. */
	pkt->addressed |= port_has_mac(pkt->port, data);
	own.tpid = tag->tpid;
	own.tci = tag->tci & VLAN_VID_MASK;
	port = vlan_port(pkt, own, &slot, &taken);
	TRACE(TAG, port || !(own.tci || taken) ? SIXLANE_FORWARD : SIXLANE_PASS_VLAN_UNKNOWN, tag,
	      .tag = own, .slot = port ? slot : 0, .taken = taken);
	if (port) {
		port_set(pkt, port, slot, READ_ONCE(port->ifindex));
		return SIXLANE_FORWARD;
	}
	/* VID 0 is a priority tag, and no VLAN. */
	return own.tci || taken ? SIXLANE_PASS_VLAN_UNKNOWN : SIXLANE_FORWARD;
}

/* All tags, the outer one first. */
static __always_inline enum sixlane_verdict vlan_enter_all(struct packet *pkt)
{
	const struct packet_eth *eth;
	enum sixlane_verdict verdict;
	int more;

	verdict = vlan_enter(pkt, 0, &more);
	if (verdict != SIXLANE_FORWARD || !more)
		return verdict;
	verdict = vlan_enter(pkt, sizeof(union sixlane_tag), &more);
	if (verdict != SIXLANE_FORWARD || !more)
		return verdict;
	eth = packet_data(pkt->ctx) + 2 * sizeof(union sixlane_tag);
	if ((void *)(eth + 1) <= packet_end(pkt->ctx) && vlan_is_tag(eth->type))
		return SIXLANE_PUNT_VLAN_DEPTH;
	return SIXLANE_FORWARD;
}

/* What was found in the tags, as one word. */
union vlan_found {
	__u64 word;
	struct {
		__u32 slot; /* of the port so far */
		__u8 tag_bytes, addressed;
		__u16 verdict;
	};
};

/* Returns the word of a union vlan_found. Not inlined: see multipath_hash_rare(). */
__attribute__((noinline)) __u64 vlan_read(struct xdp_md *ctx, __u32 slot)
{
	const struct sixlane_port *port = bpf_map_lookup_elem(&sl_ports, &slot);
	union vlan_found found = { .slot = slot };
	struct packet pkt = { .ctx = ctx };

	if (!port)
		return found.word;
	port_set(&pkt, port, slot, READ_ONCE(port->ifindex));
	found.verdict = vlan_enter_all(&pkt);
	found.slot = pkt.slot;
	found.tag_bytes = (__u8)pkt.tag_bytes;
	found.addressed = (__u8)pkt.addressed;
	return found.word;
}

static __always_inline enum sixlane_verdict vlan_set_port(struct packet *pkt,
							  union vlan_found found)
{
	const struct sixlane_port *port;
	__u32 slot = found.slot;

	pkt->tag_bytes = found.tag_bytes;
	pkt->addressed = found.addressed;
	port = bpf_map_lookup_elem(&sl_ports, &slot);
	if (!port)
		return SIXLANE_PASS_VLAN_UNKNOWN;
	port_set(pkt, port, slot, READ_ONCE(port->ifindex));
	return found.verdict ? packet_decide(pkt, found.verdict) : SIXLANE_FORWARD;
}

/*
 * Of an untagged frame sets untagged, eth and ip6. Of a tagged one sets tag_bytes, addressed, and
 * the fields of the ingress port to those of the VLAN device.
 */
static __always_inline enum sixlane_verdict vlan_find_port(struct packet *pkt)
{
	union vlan_found found;

	pkt->untagged = packet_point(pkt, 0) && pkt->eth->type == bpf_htons(ETH_P_IPV6);
	if (likely(pkt->untagged) || !pkt->port)
		return SIXLANE_FORWARD;
	found.word = vlan_read(pkt->ctx, pkt->slot);
	return vlan_set_port(pkt, found);
}

/* Bytes of VLAN tags of frames that leave by the egress port. */
static __always_inline __u32 vlan_egress_bytes(const struct packet *pkt)
{
	if (!(pkt->egress_flags & SIXLANE_PORT_TAGGED))
		return 0;
	return READ_ONCE(pkt->egress_port->tags[1].word) ? 2 * sizeof(union sixlane_tag)
							 : sizeof(union sixlane_tag);
}

#endif
