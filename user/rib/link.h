/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A network device as netlink messages have it. Filled by netlink/parse_link.c, applied by links.c.
 * Knows neither netlink nor maps.
 */
#ifndef RIB_LINK_H
#define RIB_LINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#define LOOPBACK_IFINDEX 1u /* in every namespace */

enum xdp_mode {
	XDP_MODE_NONE,
	XDP_MODE_NATIVE,
	XDP_MODE_GENERIC,
	XDP_MODE_OFFLOAD,
	XDP_MODE_MULTI,
	XDP_MODE_UNKNOWN /* an unknown attribute: the device is neither served nor sent to */
};

/* How a bond selects the slave for a frame. */
enum bond_choice {
	BOND_CHOICE_UNKNOWN, /* redirected frames may be hashed differently from the kernel's */
	BOND_CHOICE_STATE,   /* by its own state, whatever the frame */
	BOND_CHOICE_L2,	     /* by a hash: xmit_hash_policy layer2 */
	BOND_CHOICE_L23,     /* layer2+3 */
	BOND_CHOICE_L34,     /* layer3+4 */
	BOND_CHOICE_ENCAP23  /* by a hash that also parses headers inside tunnels */
};

/* From RTM_NEWLINK (AF_UNSPEC). */
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
	bool moved;	   /* in RTM_DELLINK: to another namespace, not deleted */
	bool takes_frames; /* macvlan or macvtap that receives frames sent to its lower device's MAC
			    */
	bool is_external;  /* "external": rules can match the tunnel id of its packets */
	char master_kind[16];	      /* IFLA_INFO_SLAVE_KIND, for example "bond" */
	bool slave_active;	      /* bond slave: IFLA_BOND_SLAVE_STATE is active */
	bool slave_link;	      /* bond slave: IFLA_BOND_SLAVE_MII_STATUS is up */
	enum bond_choice bond_choice; /* kind "bond" */
	uint32_t vrf_table;	      /* kind "vrf": IFLA_VRF_TABLE */
	uint16_t vlan_protocol;	      /* kind "vlan": ETH_P_8021Q or ETH_P_8021AD */
	uint16_t vlan_id;
	bool vlan_maps_priority; /* has an egress-qos-map: tags carry a priority */
	bool vlan_reorders;	 /* reorder_hdr on: the lower device gets the tag out of band */
	uint16_t unknown_attr;	 /* 1 + type of an unknown IFLA_XDP_*, for the log; 0: none */
};

/* IPv6 settings of a device, from IFLA_INET6_CONF. */
struct link_ipv6 {
	uint32_t ifindex;
	uint32_t mtu6;	       /* net.ipv6.conf.DEV.mtu, bytes */
	bool disabled;	       /* disable_ipv6 */
	bool ignore_linkdown;  /* ignore_routes_with_linkdown */
	bool force_forwarding; /* Linux 6.17 and newer, else false */
	bool own_addrs_only;   /* use_oif_addrs_only: sources are this device's addresses only */
	uint8_t hop_limit;     /* net.ipv6.conf.DEV.hop_limit, 1 to 255; 0: not announced */
};

/*
 * RTM_NEWNETCONF: what changed for the whole namespace ("all") or for a device. No has_* is set for
 * other settings, such as force_forwarding, which is announced without its value (Linux 6.17
 * to 7.2).
 */
struct netconf {
	int32_t ifindex; /* NETCONFA_IFINDEX_ALL (-1), _DEFAULT (-2) or a device */
	bool has_forwarding, forwarding;
	bool has_proxy_ndp, proxy_ndp;
};

#endif
