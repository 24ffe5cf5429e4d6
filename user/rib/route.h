/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A route as one netlink message has it. Filled by netlink/parse_route.c, applied by rib.c. Knows
 * neither netlink nor maps. Integers are in host order, addresses in network order.
 */
#ifndef RIB_ROUTE_H
#define RIB_ROUTE_H

#include "prefix.h"

/* A message with more hops marks the route truncated, so that it is punted. */
#define ROUTE_MAX_HOPS 256

struct route_hop {
	union sixlane_addr gateway; /* zero if !has_gateway */
	uint32_t ifindex;
	uint16_t weight; /* rtnh_hops + 1 */
	bool has_gateway;
};

/* One RTM_NEWROUTE or RTM_DELROUTE of AF_INET6. hops points into the parser's storage. */
struct route {
	struct prefix dst;
	struct prefix src; /* len 0: not source-specific */
	uint32_t table;	   /* RTA_TABLE, else rtm_table */
	uint32_t metric;
	uint32_t next_hop_id; /* RTA_NH_ID; 0: none */
	uint32_t mtu;	      /* RTAX_MTU in bytes; 0: none */
	uint32_t lifetime_ms; /* time left when the message was generated; valid if expires */
	uint64_t expires_ns;  /* latest end, CLOCK_MONOTONIC; the caller of the parser sets it */
	uint8_t type;	      /* RTN_* */
	uint8_t protocol;     /* RTPROT_* */
	uint8_t preference;   /* RTA_PREF as fib6 scores it: 1 low, 2 medium or none, 3 high */
	bool mtu_locked;      /* RTAX_LOCK includes RTAX_MTU */
	bool own_source;      /* the kernel's own packets differ from others on the same device:
				 RTA_PREFSRC, RTAX_HOPLIMIT, or an MTU below 1280 */
	bool encap;	      /* RTA_ENCAP or RTA_VIA (a gateway not of IPv6), on route or hop */
	bool unknown;	      /* has an attribute that the parser does not know, on route or hop */
	bool expires;	      /* has a finite lifetime */
	bool cloned;	      /* RTM_F_CLONED: an exception, not a route */
	bool truncated;	      /* more than ROUTE_MAX_HOPS hops */
	bool unlike; /* hops differ in more than gateway, device and weight; only the kernel's
			own table shows that, never a message */
	uint16_t unknown_attr; /* 1 + type of the unknown attribute, for the log; 0: none */
	uint16_t n_hops;       /* 0 for routes that name no device */
	const struct route_hop *hops;
};

#endif
