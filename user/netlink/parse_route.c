// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTM_NEWROUTE and RTM_DELROUTE of AF_INET6. Everything that rt6_fill_node() (net/ipv6/route.c) can
 * say is in struct route, or makes the route unknown, so that it is punted.
 *
 * The tables contain exactly what kernels up to 7.3 send for IPv6 routes. Everything else is
 * unknown, also attributes of IPv4 and of requests (RTA_FLOWLABEL).
 */
#include "parse.h"

#include <linux/icmpv6.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "parse_attr.h"

/* RTA_DEL_REASON of Linux 7.3: why a route is deleted. It says nothing of the route. */
enum { ROUTE_DEL_REASON = 32 };

/* For a route, and for each hop in its RTA_MULTIPATH. */
static const struct attr_spec route_attrs[] = {
	[RTA_DST] = ATTR_ADDR,	       [RTA_SRC] = ATTR_ADDR,
	[RTA_OIF] = ATTR_U32,	       [RTA_GATEWAY] = ATTR_ADDR,
	[RTA_PRIORITY] = ATTR_U32,     [RTA_METRICS] = ATTR_NEST,
	[RTA_MULTIPATH] = ATTR_ANY,    [RTA_CACHEINFO] = ATTR_MIN(sizeof(struct rta_cacheinfo)),
	[RTA_TABLE] = ATTR_U32,	       [RTA_VIA] = ATTR_MIN(sizeof(struct rtvia)),
	[RTA_ENCAP_TYPE] = ATTR_U16,   [RTA_ENCAP] = ATTR_ANY,
	[RTA_EXPIRES] = ATTR_U32,      [RTA_NH_ID] = ATTR_U32,
	[RTA_PREF] = ATTR_U8,	       [RTA_PREFSRC] = ATTR_ADDR,
	[RTA_IIF] = ATTR_U32,	       [RTA_PAD] = ATTR_ANY,
	[ROUTE_DEL_REASON] = ATTR_ANY,
};
#define N_ROUTE_ATTRS ARRAY_SIZE(route_attrs)

#define USER_TICK_MS 10 /* USER_HZ is 100 */

/* The metrics that only TCP uses may have any size. */
static const struct attr_spec metric_attrs[] = {
	[RTAX_LOCK... RTAX_MTU] = ATTR_U32, [RTAX_WINDOW... RTAX_REORDERING] = ATTR_ANY,
	[RTAX_HOPLIMIT] = ATTR_U32,	    [RTAX_INITCWND] = ATTR_ANY,
	[RTAX_FEATURES] = ATTR_U32,	    [RTAX_RTO_MIN... RTAX_FASTOPEN_NO_COOKIE] = ATTR_ANY,
};

/*
 * Also RTA_VIA, a gateway that is not an IPv6 address. The kernel sends none for IPv6 routes today,
 * but such a route must not look on-link.
 */
static bool has_encap(const struct nlattr **at)
{
	return at[RTA_ENCAP] || at[RTA_VIA] ||
	       attr_u16(at[RTA_ENCAP_TYPE], LWTUNNEL_ENCAP_NONE) != LWTUNNEL_ENCAP_NONE;
}

static void hop_fill(const struct nlattr **at, uint32_t ifindex, uint16_t weight,
		     struct route_hop *hop)
{
	memset(hop, 0, sizeof(*hop));
	hop->ifindex = ifindex;
	hop->weight = weight;
	if (at[RTA_GATEWAY]) {
		hop->has_gateway = true;
		attr_copy(&hop->gateway, at[RTA_GATEWAY], sizeof(hop->gateway));
	}
}

/* The next struct rtnexthop of RTA_MULTIPATH: 1 and *hop, 0 at the end, or -EBADMSG. */
static int hop_next(struct attr_iterator *iterator, const struct rtnexthop **hop)
{
	const struct rtnexthop *rtnh = (const void *)iterator->next;
	size_t step;

	if (iterator->left == 0)
		return 0;
	if (iterator->left < sizeof(*rtnh) || rtnh->rtnh_len < sizeof(*rtnh) ||
	    rtnh->rtnh_len > iterator->left)
		return -EBADMSG;
	*hop = rtnh;
	step = RTNH_ALIGN(rtnh->rtnh_len);
	iterator->next = (const void *)((const char *)rtnh + step);
	iterator->left = step < iterator->left ? iterator->left - step : 0;
	return 1;
}

static int multipath_parse(const struct nlattr *attr, struct route *route, struct route_hop *hops)
{
	struct attr_iterator iterator = attr_iterate(attr);
	const struct nlattr *at[N_ROUTE_ATTRS];
	const struct rtnexthop *rtnh;
	int r;

	while ((r = hop_next(&iterator, &rtnh)) > 0) {
		r = attr_walk(rtnh + 1, rtnh->rtnh_len - sizeof(*rtnh), SPECS(route_attrs), at,
			      &route->unknown_attr);
		if (r < 0)
			return r;
		if (at[ROUTE_DEL_REASON])
			route->unknown_attr = attr_unknown(ROUTE_DEL_REASON);
		route->encap |= has_encap(at);
		if (route->n_hops < ROUTE_MAX_HOPS)
			hop_fill(at, (uint32_t)rtnh->rtnh_ifindex, rtnh->rtnh_hops + 1,
				 &hops[route->n_hops++]);
		else
			route->truncated = true;
	}
	return r;
}

struct metrics {
	uint32_t mtu, hop_limit; /* 0: none */
	bool mtu_locked;
};

static int metrics_parse(const struct nlattr *nest, struct metrics *out, uint16_t *unknown)
{
	const struct nlattr *at[ARRAY_SIZE(metric_attrs)];
	uint16_t unknown_metric = 0;
	int r = attr_walk_whole_nest(nest, SPECS(metric_attrs), at, &unknown_metric);

	if (r < 0)
		return r;
	if (attr_u32(at[RTAX_FEATURES], 0) & ~(uint32_t)PARSE_HARMLESS_FEATURES)
		unknown_metric = attr_unknown(RTAX_FEATURES);
	if (unknown_metric && !*unknown)
		*unknown = attr_unknown(RTA_METRICS);
	out->mtu = attr_u32(at[RTAX_MTU], 0);
	out->mtu_locked = attr_u32(at[RTAX_LOCK], 0) & 1u << RTAX_MTU;
	out->hop_limit = attr_u32(at[RTAX_HOPLIMIT], 0);
	return 0;
}

/*
 * Every route has an RTA_CACHEINFO. Its rta_expires is 0 if the route does not expire, and negative
 * if it has expired and is not collected yet. No kernel sends RTA_EXPIRES today.
 */
static uint32_t lifetime_parse(const struct nlattr **at, bool *expires)
{
	struct rta_cacheinfo info = { 0 };
	int32_t ticks;

	if (at[RTA_CACHEINFO])
		attr_copy(&info, at[RTA_CACHEINFO], sizeof(info));
	ticks = (int32_t)info.rta_expires;
	*expires = ticks != 0 || attr_u32(at[RTA_EXPIRES], 0) != 0;
	if (ticks > (int32_t)(UINT32_MAX / USER_TICK_MS))
		return UINT32_MAX; /* too short, which is safe */
	return ticks > 0 ? (uint32_t)ticks * USER_TICK_MS : 0;
}

/* IPV6_DECODE_PREF() of net/ipv6/route.c; the kernel stores none but these. */
static uint8_t preference_of(const struct nlattr **at)
{
	switch (attr_u8(at[RTA_PREF], ICMPV6_ROUTER_PREF_MEDIUM)) {
	case ICMPV6_ROUTER_PREF_LOW:
		return 1;
	case ICMPV6_ROUTER_PREF_HIGH:
		return 3;
	default:
		return 2;
	}
}

static int hops_parse(const struct nlattr **at, struct route *route, struct route_hop *hops)
{
	route->hops = hops;
	if (at[RTA_MULTIPATH])
		return multipath_parse(at[RTA_MULTIPATH], route, hops);
	if (at[RTA_OIF]) {
		hop_fill(at, attr_u32(at[RTA_OIF], 0), 1, &hops[0]);
		route->n_hops = 1;
	}
	return 0;
}

static int attributes_walk(const struct nlmsghdr *nlh, const struct nlattr **at, uint16_t *unknown)
{
	return attr_walk_inet6(nlh, RTM_NEWROUTE, sizeof(struct rtmsg), SPECS(route_attrs), at,
			       unknown);
}

int parse_route(const struct nlmsghdr *nlh, struct route *out,
		struct route_hop hops[ROUTE_MAX_HOPS])
{
	const struct nlattr *at[N_ROUTE_ATTRS];
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	struct metrics metrics;
	struct route route = { 0 };
	int r = attributes_walk(nlh, at, &route.unknown_attr);

	if (r < 0)
		return r;
	if (attr_prefix(at[RTA_DST], rtm->rtm_dst_len, &route.dst) < 0 ||
	    attr_prefix(at[RTA_SRC], rtm->rtm_src_len, &route.src) < 0 ||
	    metrics_parse(at[RTA_METRICS], &metrics, &route.unknown_attr) < 0)
		return -EBADMSG;
	route.table = attr_u32(at[RTA_TABLE], rtm->rtm_table);
	route.metric = attr_u32(at[RTA_PRIORITY], 0);
	route.next_hop_id = attr_u32(at[RTA_NH_ID], 0);
	route.type = rtm->rtm_type;
	route.protocol = rtm->rtm_protocol;
	route.encap = has_encap(at);
	route.mtu = metrics.mtu;
	route.mtu_locked = metrics.mtu_locked;
	route.own_source = at[RTA_PREFSRC] || metrics.hop_limit ||
			   (metrics.mtu && metrics.mtu < PARSE_MIN_MTU_BYTES);
	route.preference = preference_of(at);
	route.cloned = rtm->rtm_flags & RTM_F_CLONED;
	route.lifetime_ms = lifetime_parse(at, &route.expires);
	r = hops_parse(at, &route, hops);
	if (r < 0)
		return r;
	if (at[ROUTE_DEL_REASON] && nlh->nlmsg_type != RTM_DELROUTE)
		route.unknown_attr = attr_unknown(ROUTE_DEL_REASON);
	route.unknown = route.unknown_attr != 0;
	*out = route;
	return 0;
}

static int multipath_flags(const struct nlattr *attr, uint8_t flags[ROUTE_MAX_HOPS])
{
	struct attr_iterator iterator = attr_iterate(attr);
	const struct rtnexthop *rtnh;
	int n = 0;

	while (n < ROUTE_MAX_HOPS && hop_next(&iterator, &rtnh) > 0)
		flags[n++] = rtnh->rtnh_flags;
	return n;
}

int parse_route_flags(const struct nlmsghdr *nlh, uint8_t flags[ROUTE_MAX_HOPS])
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *at[N_ROUTE_ATTRS];
	int r = attributes_walk(nlh, at, NULL);

	if (r < 0)
		return r;
	if (at[RTA_MULTIPATH])
		return multipath_flags(at[RTA_MULTIPATH], flags);
	flags[0] = (uint8_t)rtm->rtm_flags;
	return at[RTA_OIF] ? 1 : 0;
}
