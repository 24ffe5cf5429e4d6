// SPDX-License-Identifier: GPL-2.0-only
/* One stored route, see rib_route.h. Pure, and stateless. */
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "rib_route.h"

_Static_assert(sizeof(struct rib_route) <= 64, "a full table has hundreds of thousands");

struct rib_route *rib_route_new(const struct route *route, const struct route_hop *hops,
				uint16_t n_hops)
{
	struct rib_route *copy = malloc(sizeof(*copy) + n_hops * sizeof(copy->hops[0]));

	if (!copy)
		return NULL;
	*copy = (struct rib_route){
		.src = route->src,
		.expires_ns = route->expires ? route->expires_ns : 0,
		.metric = route->metric,
		.next_hop_id = route->next_hop_id,
		.mtu = route->mtu,
		.mtu_locked = route->mtu_locked,
		.own_source = route->own_source,
		.n_hops = n_hops,
		.type = route->type,
		.protocol = route->protocol,
		.preference = route->preference & 3,
		.encap = route->encap,
		.unknown = route->unknown,
		.expires = route->expires,
		.truncated = route->truncated,
		.set = rib_route_is_set(route),
		.unlike = route->unlike,
	};
	if (n_hops)
		memcpy(copy->hops, hops, n_hops * sizeof(copy->hops[0]));
	return copy;
}

struct route rib_route_view(const struct rib_route *stored, uint32_t table,
			    const struct prefix *dst)
{
	return (struct route){
		.dst = *dst,
		.src = stored->src,
		.expires_ns = stored->expires_ns,
		.table = table,
		.metric = stored->metric,
		.next_hop_id = stored->next_hop_id,
		.mtu = stored->mtu,
		.mtu_locked = stored->mtu_locked,
		.own_source = stored->own_source,
		.type = stored->type,
		.protocol = stored->protocol,
		.preference = stored->preference,
		.encap = stored->encap,
		.unknown = stored->unknown,
		.expires = stored->expires,
		.truncated = stored->truncated,
		.unlike = stored->unlike,
		.n_hops = stored->n_hops,
		.hops = stored->hops,
	};
}

bool rib_route_is_by_discard(const struct rib_route *route)
{
	return route->next_hop_id && route->type == RTN_BLACKHOLE && route->n_hops &&
	       route->hops[0].ifindex == LOOPBACK_IFINDEX;
}

bool rib_route_is_trace(const struct rib_route *route)
{
	return route->stale && !route->n_hops;
}

bool rib_route_is_transient(const struct rib_route *route)
{
	return route->expires || route->protocol == RTPROT_RA;
}

bool rib_route_is_unsteady(const struct rib_route *route)
{
	return route->mtu || rib_route_is_transient(route);
}

uint64_t rib_route_cached_value(const struct rib_route *route)
{
	uint8_t type = rib_route_is_by_discard(route) ? RTN_UNICAST : route->type;

	return (uint64_t)route->mtu_locked << 40 | (uint64_t)type << 32 | route->mtu;
}

bool rib_route_is_set(const struct route *route)
{
	if (route->next_hop_id || !route->n_hops)
		return false;
	if (route->n_hops > 1 || route->truncated)
		return true;
	return route->hops[0].has_gateway && route->protocol != RTPROT_RA;
}

bool rib_route_same_key(const struct rib_route *a, const struct route *b)
{
	return a->metric == b->metric && prefix_equal(&a->src, &b->src);
}

bool rib_hop_equal(const struct route_hop *a, const struct route_hop *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       a->gateway.halves[0] == b->gateway.halves[0] &&
	       a->gateway.halves[1] == b->gateway.halves[1];
}

int rib_hop_find(const struct route_hop *hops, uint16_t n, const struct route_hop *hop)
{
	for (int i = 0; i < n; i++) {
		if (rib_hop_equal(&hops[i], hop))
			return i;
	}
	return -1;
}

bool rib_route_same(const struct rib_route *a, const struct route *b)
{
	if (!rib_route_same_key(a, b) || a->next_hop_id != b->next_hop_id)
		return false;
	/* In compatibility mode messages have the object's hops, too, which may have changed. */
	if (a->next_hop_id)
		return true;
	if (a->encap != b->encap || a->n_hops != b->n_hops)
		return false;
	return !a->n_hops || rib_hop_equal(&a->hops[0], &b->hops[0]);
}

/* Both may be announcements of the same lifetime. */
static bool same_lifetime(const struct rib_route *a, const struct route *b)
{
	uint64_t apart = a->expires_ns > b->expires_ns ? a->expires_ns - b->expires_ns
						       : b->expires_ns - a->expires_ns;

	if (!a->expires || !b->expires)
		return a->expires == b->expires;
	return apart < RIB_LIFETIME_SLACK_NS;
}

bool rib_route_same_attributes(const struct rib_route *a, const struct route *b)
{
	return a->mtu == b->mtu && a->mtu_locked == b->mtu_locked &&
	       a->own_source == b->own_source && a->type == b->type && a->protocol == b->protocol &&
	       a->preference == (b->preference & 3) && a->encap == b->encap &&
	       a->unknown == b->unknown && same_lifetime(a, b) && a->truncated == b->truncated &&
	       a->next_hop_id == b->next_hop_id;
}

bool rib_route_same_hops(const struct rib_route *a, const struct route *b)
{
	bool taken[ROUTE_MAX_HOPS];

	if (a->n_hops != b->n_hops || a->n_hops > ROUTE_MAX_HOPS)
		return false;
	memset(taken, 0, a->n_hops);
	for (uint16_t i = 0; i < a->n_hops; i++) {
		uint16_t j = 0;

		while (j < b->n_hops && (taken[j] || !rib_hop_equal(&a->hops[i], &b->hops[j]) ||
					 a->hops[i].weight != b->hops[j].weight))
			j++;
		if (j == b->n_hops)
			return false;
		taken[j] = true;
	}
	return true;
}

/* An earlier end replaces the stored one, or repeated messages could shorten it unnoticed. */
bool rib_route_equal(const struct rib_route *a, const struct route *b)
{
	if (a->expires && b->expires && b->expires_ns < a->expires_ns)
		return false;
	return rib_route_same_key(a, b) && rib_route_same_attributes(a, b) &&
	       rib_route_same_hops(a, b);
}
