/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which slave of a bond takes a frame that leaves by a VLAN device. The kernel keeps the tag beside
 * its own frames until the bond has hashed what is behind it; of a frame redirected to the
 * bond it would hash the tag (bond_xmit_hash_xdp()). So the slave is chosen here.
 */
#ifndef SIXLANE_BOND_H
#define SIXLANE_BOND_H

#include <bpf/bpf_endian.h>
#include <linux/icmpv6.h>

#include "bond_hash.h"
#include "flow.h"

struct bond_flow {
	__u32 addrs; /* bond_fold() */
	union bond_upper upper;
};

/* A header that ends so many bytes behind the first. False: XDP cannot reach its ports. */
static __always_inline int bond_read_header(const struct packet *pkt, const struct packet_ip6 *ip6,
					    __u32 offset, __u32 by, struct bond_flow *out)
{
	struct flow_ports ports;

	out->addrs = bond_fold(&ip6->src, &ip6->dst);
	if (by != SIXLANE_SLAVES_BY_L34)
		return 1;
	if (!flow_get_ports_at(pkt, ip6->next_header, offset, &ports))
		return 0;
	out->upper.ports.src = ports.src;
	out->upper.ports.dst = ports.dst;
	return 1;
}

/* An error goes the way of the packet that it is about. */
static __always_inline int bond_read_icmp(const struct packet *pkt, __u32 by, struct bond_flow *out)
{
	const struct icmp6hdr *icmp = (const void *)(pkt->ip6 + 1);
	const struct packet_ip6 *inner;

	if (pkt->ip_bytes < sizeof(*pkt->ip6) + sizeof(*icmp) ||
	    (void *)(icmp + 1) > packet_end(pkt->ctx))
		return 0;
	if (bond_icmp_is_error(icmp->icmp6_type)) {
		inner = flow_inner(pkt, sizeof(*icmp));
		return inner &&
		       bond_read_header(pkt, inner, sizeof(*icmp) + sizeof(*inner), by, out);
	}
	out->addrs = bond_fold(&pkt->ip6->src, &pkt->ip6->dst);
	if (bond_icmp_has_id(icmp->icmp6_type)) {
		out->upper.icmp.type = icmp->icmp6_type;
		out->upper.icmp.code = icmp->icmp6_code;
		out->upper.icmp.id = bpf_ntohs(icmp->icmp6_identifier) ?: 1;
	}
	return 1;
}

/* bond_flow_dissect(). False: over headers that XDP does not reach. */
static __always_inline int bond_read_flow(const struct packet *pkt, __u32 by, struct bond_flow *out)
{
	switch (pkt->ip6->next_header) {
	case IPPROTO_ICMP: /* for which the kernel has a look of its own inside IPv6, too */
		return 0;
	case IPPROTO_ICMPV6:
		return bond_read_icmp(pkt, by, out);
	default:
		return bond_read_header(pkt, pkt->ip6, 0, by, out);
	}
}

/* The place that a frame's hash falls upon. While the daemon writes a new list, a frame may go by a
 * slave of the old one, as it would have a moment before; a place that is empty is nobody's. */
static __always_inline __u32 bond_slave_at(const struct sixlane_port *port, __u32 hash)
{
	__u32 n = READ_ONCE(port->n_slaves);
	__u32 i = n ? hash % n : SIXLANE_MAX_SLAVES;

	if (i >= SIXLANE_MAX_SLAVES)
		return 0;
	return READ_ONCE(port->slaves[bound_index(i, SIXLANE_MAX_SLAVES)]);
}

/*
 * A function of its own: see group_hash_rare(). slot: of the egress port. dst: the MAC's last byte.
 * The slave's ifindex, or, in the upper half, a verdict.
 */
__attribute__((noinline)) __u64 bond_find_slave(struct xdp_md *ctx, __u32 tag_bytes, __u32 ip_bytes,
						__u32 slot, __u32 dst)
{
	struct packet pkt = { .ctx = ctx, .ip_bytes = ip_bytes };
	const struct sixlane_port *port = bpf_map_lookup_elem(&sl_ports, &slot);
	struct bond_flow flow = { 0 };
	union sixlane_mac src;
	__u32 by, macs, slave;

	if (!port || !packet_point(&pkt, tag_bytes))
		return (__u64)SIXLANE_PASS_EGRESS_DOWN << 32;
	by = READ_ONCE(port->slaves_by);
	if (by != SIXLANE_SLAVES_BY_L2 && !bond_read_flow(&pkt, by, &flow))
		return (__u64)SIXLANE_PUNT_HASH << 32;
	src.word = READ_ONCE(port->mac.word);
	macs = bond_hash_macs(dst, src.bytes[5], READ_ONCE(port->slaves_type));
	slave = bond_slave_at(port, bond_hash(by, macs, flow.addrs, flow.upper));
	return slave ?: (__u64)SIXLANE_PASS_EGRESS_DOWN << 32;
}

/* Sets xmit to the slave. */
static __always_inline enum sixlane_verdict bond_choose_slave(struct packet *pkt)
{
	const union sixlane_mac dst = { .word = pkt->dst_mac.word };
	__u64 slave;

	if (likely(!(pkt->egress_flags & SIXLANE_PORT_SLAVES)))
		return SIXLANE_FORWARD;
	slave = bond_find_slave(pkt->ctx, pkt->tag_bytes, pkt->ip_bytes, pkt->nh_entry.port,
				dst.bytes[5]);
	pkt->tx_ifindex = (__u32)slave;
	return pkt->tx_ifindex ? SIXLANE_FORWARD : packet_decide(pkt, slave >> 32);
}

#endif
