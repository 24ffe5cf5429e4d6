/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel says, as plain values: prefixes, routes, links, neighbours, rules. Filled by
 * netlink/parse.c, kept by rib/, read by fib/. Knows neither netlink nor maps.
 *
 * Addresses are in network order; every integer is in host order.
 */
#ifndef RIB_OBJECT_H
#define RIB_OBJECT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/sixlane.h"

struct prefix {
	union sixlane_addr addr; /* bits beyond len are zero */
	uint8_t len;		 /* 0 to 128 */
};

/* More hops than this in one message: the route is marked truncated (and so punted). */
#define ROUTE_MAX_HOPS 256

struct route_hop {
	union sixlane_addr gateway; /* zero if !has_gateway */
	uint32_t ifindex;
	uint16_t weight; /* rtnh_hops + 1 */
	bool has_gateway;
};

/* One RTM_NEWROUTE or RTM_DELROUTE of AF_INET6. hops points into the parser's own storage. */
struct route {
	struct prefix dst;
	struct prefix src; /* len 0: not source-specific */
	uint32_t table;	   /* RTA_TABLE, else rtm_table */
	uint32_t metric;
	uint32_t next_hop_id; /* RTA_NH_ID; 0: none */
	uint32_t mtu;	      /* RTAX_MTU in bytes; 0: none */
	uint8_t type;	      /* RTN_* */
	uint8_t protocol;     /* RTPROT_* */
	bool mtu_locked;
	bool encap;	 /* RTA_ENCAP, or a gateway not of IPv6 (RTA_VIA), on the route or a hop */
	bool expires;	 /* has a finite lifetime */
	bool cloned;	 /* RTM_F_CLONED: an exception, not a route */
	bool truncated;	 /* more than ROUTE_MAX_HOPS hops */
	uint16_t n_hops; /* 0 for routes that name no device */
	const struct route_hop *hops;
};

enum xdp_mode {
	XDP_MODE_NONE,
	XDP_MODE_NATIVE,
	XDP_MODE_GENERIC,
	XDP_MODE_OFFLOAD,
	XDP_MODE_MULTI
};

/* A network device, from RTM_NEWLINK (AF_UNSPEC). */
struct link {
	char name[IFNAMSIZ];
	char kind[16]; /* IFLA_INFO_KIND; "" for hardware */
	uint32_t ifindex;
	uint32_t flags;	      /* IFF_* */
	uint32_t mtu;	      /* the device's, bytes */
	uint32_t master;      /* ifindex, 0: none */
	uint32_t lower;	      /* IFLA_LINK when in this namespace, 0: none */
	uint32_t xdp_prog_id; /* of the mode that runs; 0: none */
	uint32_t n_rx_queues, n_tx_queues;
	uint16_t type;	/* ARPHRD_* */
	uint8_t mac[6]; /* zero unless type is ARPHRD_ETHER */
	enum xdp_mode xdp_mode;
	bool carrier;	   /* IFF_LOWER_UP */
	bool moved;	   /* in RTM_DELLINK: to another namespace, not gone */
	bool takes_frames; /* macvlan or macvtap that gets frames sent to its lower device's MAC */
};

/* What IPv6 says of a device, from IFLA_INET6_CONF. */
struct link_ipv6 {
	uint32_t ifindex;
	uint32_t mtu6;	       /* net.ipv6.conf.DEV.mtu, bytes */
	bool disabled;	       /* disable_ipv6 */
	bool ignore_linkdown;  /* ignore_routes_with_linkdown */
	bool force_forwarding; /* 6.17 and newer, else false */
};

/*
 * RTM_NEWNETCONF: what changed for the whole namespace ("all") or for a device. A change of
 * force_forwarding comes with no value at all (Linux 6.17, 6.18): none of has_* is set then.
 */
struct netconf {
	int32_t ifindex; /* NETCONFA_IFINDEX_ALL (-1), _DEFAULT (-2) or a device */
	bool has_forwarding, forwarding;
	bool has_proxy_ndp, proxy_ndp;
	bool has_ignore_linkdown, ignore_linkdown;
};

struct neigh {
	union sixlane_addr addr;
	uint32_t ifindex;
	uint16_t state; /* NUD_* */
	uint8_t flags;	/* NTF_* */
	bool extended;	/* NDA_FLAGS_EXT has any (NTF_EXT_MANAGED …), which NTF_USE would clear */
	bool has_mac;	/* NDA_LLADDR of 6 bytes */
	uint8_t mac[6];
};

struct rule {
	uint32_t priority;
	uint32_t table;
	uint8_t action; /* FR_ACT_* */
	bool l3mdev;
	bool selective; /* any selector, goto, suppressor or inversion: not "from all lookup T" */
};

#endif
