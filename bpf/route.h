/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Destination to next hop, by the longest prefix of the ingress port's table. The trie is the
 * only index today; whatever is added beside it must give the same answer. Knows nothing of
 * what a next hop is.
 */
#ifndef SIXLANE_ROUTE_H
#define SIXLANE_ROUTE_H

#include <bpf/bpf_endian.h>

#include "packet.h"

#define ROUTE_KEY_BITS (SIXLANE_TABLE_BITS + 8u * (__u32)sizeof(union sixlane_addr))

/*
 * Sets next_hop. A value that names no next hop cannot come from a daemon of this ABI; the
 * kernel's own lookup is the way out.
 */
static __always_inline enum sixlane_verdict route_lookup(struct packet *pkt)
{
	struct sixlane_route_key key = {
		.prefix_len = ROUTE_KEY_BITS,
		.table = bpf_htonl(READ_ONCE(pkt->port->table)),
	};
	const __u32 *value;
	__u32 id;

	key.addr.halves[0] = pkt->ip6->dst.halves[0];
	key.addr.halves[1] = pkt->ip6->dst.halves[1];
	value = bpf_map_lookup_elem(&sl_routes, &key);
	if (!value)
		return SIXLANE_PASS_NO_ROUTE;
	id = sixlane_route_next_hop(READ_ONCE(*value));
	pkt->next_hop = bpf_map_lookup_elem(&sl_next_hops, &id);
	return pkt->next_hop ? SIXLANE_FORWARD : SIXLANE_PUNT_ROUTE;
}

#endif
