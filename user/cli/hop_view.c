// SPDX-License-Identifier: GPL-2.0-only
/* See hop_view.h. */
#include "hop_view.h"

void hop_view_set_limit(struct hop_view *hop, uint32_t limit)
{
	hop->limit = limit;
	hop->mtu = hop->egress.mtu;
	if (limit && limit < hop->mtu)
		hop->mtu = limit;
}

union sixlane_nh_entry hop_view_entry(const struct maps *maps, uint32_t id)
{
	union sixlane_nh_entry entry = { .type = SIXLANE_PUNT_ROUTE };

	if (id < SIXLANE_MAX_NEXT_HOPS)
		entry.word = __atomic_load_n(&maps->next_hops[id].nh_entry.word, __ATOMIC_ACQUIRE);
	return entry;
}

void hop_view_read_entry(const struct maps *maps, union sixlane_nh_entry entry,
			 struct hop_view *hop)
{
	*hop = (struct hop_view){ .verdict = SIXLANE_PUNT_ROUTE, .nh_entry = entry };
	if (entry.type != SIXLANE_FORWARD && !sixlane_is_final(entry.type))
		return;
	hop->verdict = entry.type;
	if (hop->verdict != SIXLANE_FORWARD)
		return;
	if (entry.port < SIXLANE_MAX_PORTS) {
		hop->port = entry.port;
		hop->egress = maps->ports[entry.port];
	}
	hop_view_set_limit(hop, 0);
	if (entry.neighbour && entry.neighbour < SIXLANE_MAX_NEIGHBOURS) {
		hop->has_gateway = true;
		hop->neigh = maps->neighbours[entry.neighbour];
		hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
	}
}

void hop_view_read(const struct maps *maps, uint32_t id, struct hop_view *hop)
{
	hop_view_read_entry(maps, hop_view_entry(maps, id), hop);
	hop->id = id;
}

void hop_view_set_on_link(const struct maps *maps, const union sixlane_addr *dst,
			  struct hop_view *hop)
{
	uint32_t slot = maps_neigh_slot(maps, hop->egress.ifindex, dst);

	if (!slot)
		return;
	hop->neigh = maps->neighbours[slot];
	hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
}

static enum sixlane_verdict check_device(const struct packet_filter *packets, uint32_t flags)
{
	if (flags & SIXLANE_PORT_BRIDGE)
		return SIXLANE_PUNT_BRIDGE;
	if (flags & SIXLANE_PORT_MACVLAN)
		return SIXLANE_PUNT_MACVLAN;
	if (flags & SIXLANE_PORT_TUNNEL)
		return SIXLANE_PUNT_TUNNEL;
	return flags & SIXLANE_PORT_UNSUPPORTED ||
			       (!packets->generic && !(flags & SIXLANE_PORT_XMIT))
		       ? SIXLANE_PASS_EGRESS_DEVICE
		       : SIXLANE_FORWARD;
}

static enum sixlane_verdict check_egress(const struct packet_filter *packets,
					 const struct sixlane_port *egress)
{
	const uint32_t alive = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6;

	if (packets->in && packets->in->ifindex == egress->ifindex)
		return SIXLANE_PASS_SAME_PORT;
	if (!egress->ifindex || (egress->flags & alive) != alive)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (egress->flags & SIXLANE_PORT_OUT_HELD)
		return egress->flags & SIXLANE_PORT_OUT_FIREWALL ? SIXLANE_PASS_FIREWALL
								 : SIXLANE_PASS_TC;
	return check_device(packets, egress->flags);
}

/* For packets of any protocol. */
static enum sixlane_verdict check_guard(const struct maps *maps,
					const struct packet_filter *packets, uint32_t out_slot)
{
	static const union sixlane_addr none;
	const uint32_t flags = __atomic_load_n(&maps->meta->flags, __ATOMIC_ACQUIRE);

	if (!packets->in || !(packets->in->flags & SIXLANE_PORT_GUARD))
		return SIXLANE_FORWARD;
	if (flags & SIXLANE_META_IPSEC_ALL ||
	    (flags & SIXLANE_META_IPSEC &&
	     maps_has_policy(maps, packets->src ?: &none, packets->dst)))
		return SIXLANE_PASS_IPSEC;
	return maps_pair_is_free(maps, packets->in_slot, out_slot) ? SIXLANE_FORWARD
								   : SIXLANE_PASS_FIREWALL;
}

void hop_view_check(const struct maps *maps, const struct packet_filter *packets,
		    struct hop_view *hop)
{
	if (hop->verdict != SIXLANE_FORWARD)
		return;
	if (!hop->has_gateway)
		hop_view_set_on_link(maps, packets->dst, hop);
	if (packets->in && !(packets->in->flags & SIXLANE_PORT_FORWARDING))
		hop->verdict = SIXLANE_PASS_NO_FORWARDING;
	else
		hop->verdict = check_egress(packets, &hop->egress)
				       ?: check_guard(maps, packets, hop->port);
	if (!hop->verdict && !hop->has_mac)
		hop->verdict = SIXLANE_PASS_UNRESOLVED;
	/* a bond without a slave in use */
	if (!hop->verdict && hop->egress.flags & SIXLANE_PORT_SLAVES && !hop->egress.n_slaves)
		hop->verdict = SIXLANE_PASS_EGRESS_DOWN;
}
