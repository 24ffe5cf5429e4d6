// SPDX-License-Identifier: GPL-2.0-only
/*
 * What XDP would pass by, as far as it depends on the packet (bpf/guard.h).
 */
#include <netinet/in.h>

#include "../lib/util.h"
#include "walk.h"

/* bpf/guard.h has their names. */
static bool is_tunnel(uint16_t port)
{
	static const uint16_t ports[] = { 1701, 2152, 4754, 4789, 4790, 6080, 6081, 6635, 8472 };

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		if (ports[i] == port)
			return true;
	return false;
}

/* Of a packet whose own checksum is complete. */
static bool checksum_may_be_open(const struct walk_query *query)
{
	if (query->proto == IPPROTO_UDP)
		return is_tunnel(query->dport);
	return query->proto != IPPROTO_TCP && query->proto != IPPROTO_ICMPV6 &&
	       query->proto != IPPROTO_ESP && query->proto != IPPROTO_NONE;
}

static bool may_be_fragment(uint8_t proto)
{
	return proto == IPPROTO_FRAGMENT || proto == IPPROTO_ROUTING || proto == IPPROTO_AH ||
	       proto == IPPROTO_DSTOPTS;
}

enum sixlane_verdict walk_check_guard(const struct maps *maps, const struct walk_query *query,
				      const struct walk *walk, const struct walk_hop *hop)
{
	const uint32_t flags = walk_load(&maps->meta->flags);

	if (!walk->in_slot)
		return SIXLANE_FORWARD;
	if (walk->in.flags & SIXLANE_PORT_OPEN_CHECKSUMS && query->has_flow &&
	    checksum_may_be_open(query))
		return SIXLANE_PASS_CHECKSUM;
	if (!(walk->in.flags & SIXLANE_PORT_GUARD))
		return SIXLANE_FORWARD;
	if (flags & SIXLANE_META_IPSEC_ALL ||
	    (flags & SIXLANE_META_IPSEC_ICMP6 && query->has_flow &&
	     (query->proto == IPPROTO_ICMPV6 || may_be_fragment(query->proto))) ||
	    (flags & SIXLANE_META_IPSEC && query->has_src &&
	     maps_has_policy(maps, &query->src, &query->dst)))
		return SIXLANE_PASS_IPSEC;
	if (flags & SIXLANE_META_FRAGMENTS && query->has_flow && may_be_fragment(query->proto))
		return SIXLANE_PASS_FIREWALL;
	return maps_pair_is_free(maps, walk->in_slot, hop->port) ? SIXLANE_FORWARD
								 : SIXLANE_PASS_FIREWALL;
}
