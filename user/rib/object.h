/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel says, as plain values: prefixes, routes, links, neighbours, rules. Filled by
 * netlink/parse_*.c, kept by rib/, read by resolve/ and fib/. Knows neither netlink nor maps.
 *
 * Addresses are in network order; every integer is in host order.
 */
#ifndef RIB_OBJECT_H
#define RIB_OBJECT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

/*
 * unknown_attr, in any of these: 1 + the type of an attribute that the parser does not know, for
 * the log; 0: none. What such an object does to packets is the kernel's.
 */

/* The unspecified address, which stands for none. */
static inline bool addr_is_zero(const union sixlane_addr *addr)
{
	return !(addr->halves[0] | addr->halves[1]);
}

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
	uint32_t lifetime_ms; /* left when the kernel said so; counts only if expires */
	uint64_t expires_ns;  /* CLOCK_MONOTONIC, at the latest; the parser, which knows no time,
				 leaves  0, and the caller fills it in if expires */
	uint8_t type;	      /* RTN_* */
	uint8_t protocol;     /* RTPROT_* */
	uint8_t preference; /* RTA_PREF as the kernel scores it: 1 low, 2 medium (and none), 3 high
			     */
	bool mtu_locked;    /* RTAX_LOCK says so of RTAX_MTU */
	bool own_source;    /* what the kernel itself sends by it is not as what else leaves by the
			       device: RTA_PREFSRC, RTAX_HOPLIMIT, an MTU too small to send */
	bool encap;	/* RTA_ENCAP or a gateway not of IPv6 (RTA_VIA), on the route or a hop */
	bool unknown;	/* an attribute that the parser does not know, on the route or a hop */
	bool expires;	/* has a finite lifetime */
	bool cloned;	/* RTM_F_CLONED: an exception, not a route */
	bool truncated; /* more than ROUTE_MAX_HOPS hops */
	bool unlike; /* its hops differ in more than gateway, device and weight: no message tells */
	uint16_t unknown_attr;
	uint16_t n_hops; /* 0 for routes that name no device */
	const struct route_hop *hops;
};

#define LOOPBACK_IFINDEX 1u /* in every namespace */

/* --- next-hop objects (`ip nexthop`) ------------------------------------------------------- */

#define NEXT_HOP_MAX_MEMBERS 256

enum next_hop_kind {
	NEXT_HOP_ONE,	    /* hop: by device, with or without a gateway */
	NEXT_HOP_BLACKHOLE, /* discards */
	NEXT_HOP_GROUP,	    /* members by weight (hash threshold) */
	NEXT_HOP_RESILIENT, /* members by bucket */
	NEXT_HOP_OTHER, /* an encapsulation, an IPv4 gateway, fdb, more than NEXT_HOP_MAX_MEMBERS,
			   an attribute that is not known */
};

struct next_hop_member {
	uint32_t id;	 /* of another object */
	uint32_t weight; /* 1 to 65536 */
};

/* One RTM_NEWNEXTHOP. members points into the parser's own storage. */
struct next_hop {
	uint32_t id;
	enum next_hop_kind kind;
	bool is_group; /* if of NEXT_HOP_OTHER, its members are not told here */
	struct route_hop hop;
	uint32_t n_buckets; /* of a resilient group */
	uint32_t n_members;
	const struct next_hop_member *members;
	uint16_t unknown_attr;
};

/* One RTM_NEWNEXTHOPBUCKET: a bucket of a resilient group belongs to a member. */
struct next_hop_bucket {
	uint32_t group; /* id */
	uint32_t index;
	uint32_t member; /* id; 0: not known */
	uint16_t unknown_attr;
};

/* --- devices ------------------------------------------------------------------------------- */

enum xdp_mode {
	XDP_MODE_NONE,
	XDP_MODE_NATIVE,
	XDP_MODE_GENERIC,
	XDP_MODE_OFFLOAD,
	XDP_MODE_MULTI,
	XDP_MODE_UNKNOWN /* what runs is not known: neither served nor sent to */
};

/* What a bond goes by when it chooses the slave for a frame. */
enum bond_choice {
	BOND_CHOICE_UNKNOWN, /* of a redirected frame not what it goes by for the kernel's own */
	BOND_CHOICE_STATE,   /* its own state, whatever the frame */
	BOND_CHOICE_L2,	     /* a hash: xmit_hash_policy layer2, … */
	BOND_CHOICE_L23,
	BOND_CHOICE_L34,
	BOND_CHOICE_ENCAP23 /* … over headers inside tunnels, too */
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
	bool keeps_tunnel; /* "external": rules see by which tunnel id a packet came in */
	char master_kind[16];	      /* IFLA_INFO_SLAVE_KIND: what master is, "bond" … */
	bool slave_active;	      /* of a bond's slave: IFLA_BOND_SLAVE_STATE is active */
	bool slave_link;	      /* … IFLA_BOND_SLAVE_MII_STATUS is up */
	enum bond_choice bond_choice; /* kind "bond" */
	uint32_t vrf_table;	      /* kind "vrf": IFLA_VRF_TABLE */
	uint16_t vlan_protocol;	      /* kind "vlan": ETH_P_8021Q or ETH_P_8021AD */
	uint16_t vlan_id;
	bool vlan_maps_priority; /* has an egress-qos-map: tags tell more than the VID */
	bool vlan_reorders;	 /* reorder_hdr on: frames to lower have the tag beside them */
	uint16_t unknown_attr;	 /* IFLA_XDP_*: the others of a device say nothing of packets */
};

/* What IPv6 says of a device, from IFLA_INET6_CONF. */
struct link_ipv6 {
	uint32_t ifindex;
	uint32_t mtu6;	       /* net.ipv6.conf.DEV.mtu, bytes */
	bool disabled;	       /* disable_ipv6 */
	bool ignore_linkdown;  /* ignore_routes_with_linkdown */
	bool force_forwarding; /* 6.17 and newer, else false */
	bool own_addrs_only;   /* use_oif_addrs_only: no other's is the source of what leaves */
	uint8_t hop_limit; /* net.ipv6.conf.DEV.hop_limit, 1 to 255; 0: the kernel did not say */
};

/* An address of a device. */
struct address {
	union sixlane_addr addr;
	union sixlane_addr peer; /* zero: none */
	struct prefix prefix;	 /* of addr */
	uint32_t ifindex;
	uint32_t flags; /* IFA_F_*: what decides on a source, the kernel announces by these */
	bool expires;	/* has a finite lifetime */
	uint16_t unknown_attr;
};

/*
 * RTM_NEWNETCONF: what changed for the whole namespace ("all") or for a device. A change of
 * force_forwarding comes with no value at all (Linux 6.17 to 7.2): none of has_* is set then.
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
	bool has_mac;	/* NDA_LLADDR of 6 bytes, and no attribute that is not known */
	uint8_t mac[6];
	uint32_t flags_ext; /* NTF_EXT_*, NDA_FLAGS_EXT */
	uint16_t unknown_attr;
};

struct port_range {
	uint16_t low, high;
};

/* One RTM_NEWRULE of AF_INET6. */
struct rule {
	uint32_t priority;
	uint32_t table;
	uint32_t target;	/* FRA_GOTO: priority of the rule to go on at */
	int32_t suppress_len;	/* FRA_SUPPRESS_PREFIXLEN, -1: none */
	struct prefix src, dst; /* len 0: any */
	char iif[IFNAMSIZ];	/* "": any */
	struct port_range sport, dport;
	uint8_t action;		     /* FR_ACT_* */
	uint8_t tclass, tclass_mask; /* traffic class; mask 0: any */
	uint8_t ip_proto;
	bool has_ip_proto, has_sport, has_dport;
	bool invert; /* FIB_RULE_INVERT */
	bool l3mdev;
	bool never;   /* a selector holds for no forwarded packet: oif, tun_id, uids without root */
	bool unknown; /* a selector or suppressor that a packet on the wire does not show: fwmark,
			 suppress_ifgroup, flow label, and whatever this parser does not know */
	uint16_t unknown_attr;
};

#endif
