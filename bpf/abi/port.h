/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices (sl_port_index, sl_ports) and VLANs (sl_vlans). */
#ifndef BPF_ABI_PORT_H
#define BPF_ABI_PORT_H

#include "addr.h"

#define SIXLANE_MAX_PORTS 1024u
#define SIXLANE_MAX_VLANS 4096u
#define SIXLANE_MAX_SLAVES \
	16u /* of a bond below VLAN devices; with more of them packets are punted */

/* --- sl_port_index: HASH, key __u32 ifindex, value __u32 index in sl_ports ------------- */

/* --- sl_ports: ARRAY, mmapable; slot 0 is never used, its counters are "unknown port" -- */

#define SIXLANE_PORT_INGRESS (1u << 0)	  /* served: its packets may be forwarded */
#define SIXLANE_PORT_PASS (1u << 1)	  /* operator's switch: pass every packet of this port */
#define SIXLANE_PORT_UPPER (1u << 2)	  /* has a master or an upper device that takes frames */
#define SIXLANE_PORT_IPV6 (1u << 3)	  /* IPv6 is enabled on the device */
#define SIXLANE_PORT_FORWARDING (1u << 4) /* all.forwarding, or force_forwarding here */
#define SIXLANE_PORT_UP (1u << 5)	  /* IFF_UP and carrier, also of lower devices */
#define SIXLANE_PORT_XMIT (1u << 6)	  /* tx_ifindex accepts frames redirected from native XDP */
#define SIXLANE_PORT_XMIT_FRAGS (1u << 7) /* … also frames in several buffers */
#define SIXLANE_PORT_GENERIC (1u << 8)	  /* its own program runs in generic (skb) mode */
#define SIXLANE_PORT_PROXY_NDP (1u << 9)  /* all.proxy_ndp */
#define SIXLANE_PORT_RULES (1u << 10)	  /* rules beyond local and main: walk them */
#define SIXLANE_PORT_VRF (1u << 11)	  /* belongs to a VRF: table and iif are those of the VRF */
#define SIXLANE_PORT_SLAVE (1u << 12)	  /* active slave: its packets come in by lower */
#define SIXLANE_PORT_BACKUP (1u << 13)	  /* inactive slave of a bond */
#define SIXLANE_PORT_TAGGED (1u << 14)	  /* VLAN device, with lower, tag and tags */
#define SIXLANE_PORT_SKIP (1u << 15)	  /* skip multipath members by this port … */
#define SIXLANE_PORT_SKIP_OBJECT (1u << 16) /* … if they belong to a next-hop object */
/* Types of devices that accept no redirected frames. None of these: plain Ethernet. */
#define SIXLANE_PORT_BRIDGE (1u << 17)
#define SIXLANE_PORT_MACVLAN (1u << 18)
#define SIXLANE_PORT_TUNNEL (1u << 19)
#define SIXLANE_PORT_UNSUPPORTED (1u << 20) /* any other */
#define SIXLANE_PORT_SLAVES (1u << 21)	    /* VLAN device on a bond: redirect to one of slaves */
/* source is the address that the kernel uses for ICMPv6 errors by this port. */
#define SIXLANE_PORT_SOURCE (1u << 22)
/* For the CLI: the port waits for a lower MTU, which its program needs. */
#define SIXLANE_PORT_ATTACH_PENDING (1u << 23)
/* The guard: netfilter or tc may affect all packets that come in, or leave, by this port. */
#define SIXLANE_PORT_IN_FIREWALL (1u << 24)
#define SIXLANE_PORT_IN_TC (1u << 25)
#define SIXLANE_PORT_OUT_FIREWALL (1u << 26)
#define SIXLANE_PORT_OUT_TC (1u << 27)
/* … or some that come in: check sl_guard, sl_policies and SIXLANE_META_FRAGMENTS. */
#define SIXLANE_PORT_GUARD (1u << 28)
/* Packets may have incomplete checksums: veth, tap, virtio. */
#define SIXLANE_PORT_OPEN_CHECKSUMS (1u << 29)
/*
 * With _GUARD: a packet that the guard holds back may belong to a flow of a flowtable, which is
 * forwarded past the rules. Others pass, also those that XDP would drop or answer.
 */
#define SIXLANE_PORT_FLOWS (1u << 30)
#define SIXLANE_PORT_IN_HELD (SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_IN_TC)
#define SIXLANE_PORT_OUT_HELD (SIXLANE_PORT_OUT_FIREWALL | SIXLANE_PORT_OUT_TC)
#define SIXLANE_PORT_NO_XMIT                                                \
	(SIXLANE_PORT_BRIDGE | SIXLANE_PORT_MACVLAN | SIXLANE_PORT_TUNNEL | \
	 SIXLANE_PORT_UNSUPPORTED)

/*
 * The slot that the datapath tries before it looks the device up in sl_port_index, which costs as
 * much as half of all other steps. A port should be there if the slot is free and not 0.
 */
static inline __u32 sixlane_port_home(__u32 ifindex)
{
	return ifindex % SIXLANE_MAX_PORTS;
}

/* A VLAN tag as in a frame. 0: none. */
union sixlane_tag {
	__u32 word;
	struct {
		__be16 tpid; /* ETH_P_8021Q, ETH_P_8021AD */
		__be16 tci;  /* the VID; priority and DEI are 0 */
	};
};

/* xmit_hash_policy of a bond; BOND_XMIT_POLICY_* of linux/if_bonding.h */
#define SIXLANE_SLAVES_BY_L2 0u	 /* MACs and slaves_type */
#define SIXLANE_SLAVES_BY_L34 1u /* addresses and ports */
#define SIXLANE_SLAVES_BY_L23 2u /* MACs, slaves_type and addresses */

struct sixlane_port {
	__u32 ifindex; /* 0: free */
	__u32 flags;   /* SIXLANE_PORT_* */
	__u32 mtu;     /* net.ipv6.conf.DEV.mtu, at most that of tx_ifindex; bytes, at least 1280 */
	__u32 table;   /* of the route lookup for its packets: main, or the table of its VRF */
	union sixlane_mac mac;
	__u32 iif;	  /* ifindex that rules match: the VRF's, or its own */
	__u32 lower;	  /* ifindex: the lower device of a VLAN device, or the bond of a slave */
	__u32 tx_ifindex; /* ifindex that frames are redirected to: the lowest device of a VLAN
			     device */
	union sixlane_tag tag;	   /* of a VLAN device */
	union sixlane_tag tags[2]; /* of frames to tx_ifindex, the outer one first */
	__u16 slaves_by;	   /* SIXLANE_SLAVES_BY_* */
	__u16 slaves_type;	   /* ethertype in the hash, host order */
	__u32 n_slaves;
	__u32 reserved[2];
	__u32 slaves[SIXLANE_MAX_SLAVES]; /* ifindex of active slaves, in the order of the bond */
	/*
	 * Source address of answers; without _SOURCE the kernel may choose another one. Read
	 * halves[0] first; 0: there is none. If it is not 0, halves[1] belongs to it.
	 */
	union sixlane_addr source;
	__u32 hop_limit; /* of answers, net.ipv6.conf.DEV.hop_limit; 0: unknown, there is no source
			  */
	__u32 reserved1[11];
};
_Static_assert(sizeof(struct sixlane_port) == 192, "layout is ABI");

/* --- sl_vlans: HASH, key sixlane_vlan_key, value __u32 index in sl_ports --------------- */

/* The datapath also compares lower and tag of the port found: see struct sixlane_neigh. */
struct sixlane_vlan_key {
	__u32 lower; /* ifindex of the device that receives the tagged frame */
	union sixlane_tag tag;
};
_Static_assert(sizeof(struct sixlane_vlan_key) == 8, "layout is ABI");

#endif
