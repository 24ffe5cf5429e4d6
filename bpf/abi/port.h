/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices (sl_port_index, sl_ports) and VLANs (sl_vlans). */
#ifndef BPF_ABI_PORT_H
#define BPF_ABI_PORT_H

#include "addr.h"

#define SIXLANE_MAX_PORTS 1024u
#define SIXLANE_MAX_VLANS 4096u
#define SIXLANE_MAX_SLAVES 16u /* of a bond below VLAN devices; what leaves by more is punted */

/* --- sl_port_index: HASH, key __u32 ifindex, value __u32 index in sl_ports ------------- */

/* --- sl_ports: ARRAY, mmapable; slot 0 is never used, its counters are "unknown port" -- */

#define SIXLANE_PORT_INGRESS (1u << 0)	    /* served: packets that come in here may be forwarded */
#define SIXLANE_PORT_PASS (1u << 1)	    /* operator's switch: pass every packet of this port */
#define SIXLANE_PORT_UPPER (1u << 2)	    /* has a master or an upper device that takes frames */
#define SIXLANE_PORT_IPV6 (1u << 3)	    /* disable_ipv6 = 0 and the device has IPv6 */
#define SIXLANE_PORT_FORWARDING (1u << 4)   /* all.forwarding, or force_forwarding here */
#define SIXLANE_PORT_UP (1u << 5)	    /* IFF_UP and carrier, those of lower devices too */
#define SIXLANE_PORT_XMIT (1u << 6)	    /* xmit takes frames redirected from native XDP */
#define SIXLANE_PORT_XMIT_FRAGS (1u << 7)   /* … also of several buffers */
#define SIXLANE_PORT_GENERIC (1u << 8)	    /* its own program runs in generic (skb) mode */
#define SIXLANE_PORT_PROXY_NDP (1u << 9)    /* all.proxy_ndp */
#define SIXLANE_PORT_RULES (1u << 10)	    /* more than local and main is asked: walk the rules */
#define SIXLANE_PORT_VRF (1u << 11)	    /* belongs to a VRF: table and iif are its */
#define SIXLANE_PORT_SLAVE (1u << 12)	    /* active slave: what comes in here came in by lower */
#define SIXLANE_PORT_BACKUP (1u << 13)	    /* slave that its bond does not listen to */
#define SIXLANE_PORT_TAGGED (1u << 14)	    /* VLAN device: lower, tag and tags are set */
#define SIXLANE_PORT_SKIP (1u << 15)	    /* multipath members by it are skipped … */
#define SIXLANE_PORT_SKIP_OBJECT (1u << 16) /* … those of next-hop objects are */
/* What an egress is that takes no redirected frames; none of these: it is Ethernet as it is. */
#define SIXLANE_PORT_BRIDGE (1u << 17)
#define SIXLANE_PORT_MACVLAN (1u << 18)
#define SIXLANE_PORT_TUNNEL (1u << 19)
#define SIXLANE_PORT_STRANGE (1u << 20) /* anything else that frames cannot be handed to */
#define SIXLANE_PORT_SLAVES (1u << 21)	/* VLAN device on a bond: frames go to one of slaves */
/* source is what the kernel would choose for an ICMPv6 error that leaves by this port. */
#define SIXLANE_PORT_SOURCE (1u << 22)
/* Told to people alone: its program is to come once its MTU is lower. */
#define SIXLANE_PORT_WAITS (1u << 23)
/* Something that XDP comes before would touch all that comes in here, or all that leaves here. */
#define SIXLANE_PORT_IN_FIREWALL (1u << 24)
#define SIXLANE_PORT_IN_TC (1u << 25)
#define SIXLANE_PORT_OUT_FIREWALL (1u << 26)
#define SIXLANE_PORT_OUT_TC (1u << 27)
/* … or some of what comes in here: look at sl_guard, sl_policies and SIXLANE_META_FRAGMENTS. */
#define SIXLANE_PORT_GUARD (1u << 28)
/* Senders may have left checksums to the device: veth, tap, virtio. */
#define SIXLANE_PORT_OPEN_CHECKSUMS (1u << 29)
/*
 * With _GUARD: what comes in here and is held back may belong to a flow of a flowtable, which takes
 * it past the rules. All else passes, also what XDP would drop or answer.
 */
#define SIXLANE_PORT_FLOWS (1u << 30)
#define SIXLANE_PORT_IN_HELD (SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_IN_TC)
#define SIXLANE_PORT_OUT_HELD (SIXLANE_PORT_OUT_FIREWALL | SIXLANE_PORT_OUT_TC)
#define SIXLANE_PORT_NO_XMIT \
	(SIXLANE_PORT_BRIDGE | SIXLANE_PORT_MACVLAN | SIXLANE_PORT_TUNNEL | SIXLANE_PORT_STRANGE)

/*
 * The slot where the datapath looks for a device before it asks the hash, which costs it as much
 * as half of all else: best place a port there if that slot is free and not 0.
 */
static inline __u32 sixlane_port_home(__u32 ifindex)
{
	return ifindex % SIXLANE_MAX_PORTS;
}

/* A VLAN tag as it stands in a frame, behind the MACs. 0: none. */
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
	__u32 mtu;     /* net.ipv6.conf.DEV.mtu, bytes, at least 1280, and what xmit takes */
	__u32 table; /* where packets that come in here are looked up; of a VRF's port the VRF's */
	union sixlane_mac mac;
	__u32 iif;	  /* what rules see as the ingress: the VRF of a VRF's port, else ifindex */
	__u32 lower;	  /* ifindex: below a VLAN device, or the bond of a slave */
	__u32 tx_ifindex; /* ifindex that frames are redirected to: below all VLAN devices */
	union sixlane_tag tag;	   /* of a VLAN device: its own … */
	union sixlane_tag tags[2]; /* … and all that frames to xmit carry, the outer first */
	__u16 slaves_by;	   /* SIXLANE_SLAVES_BY_* */
	__u16 slaves_type;	   /* ethertype that the hash is over, host order */
	__u32 n_slaves;
	__u32 reserved[2];
	__u32 slaves[SIXLANE_MAX_SLAVES]; /* ifindex, those that the bond uses, in its order */
	/*
	 * Of answers; without _SOURCE the kernel may choose another one. Read halves[0] first:
	 * while it is 0 there is none, and once it is not halves[1] is its other half.
	 */
	union sixlane_addr source;
	__u32 hop_limit; /* net.ipv6.conf.DEV.hop_limit, of answers; 0: not known, no source */
	__u32 reserved1[11];
};
_Static_assert(sizeof(struct sixlane_port) == 192, "layout is ABI");

/* --- sl_vlans: HASH, key sixlane_vlan_key, value __u32 index in sl_ports --------------- */

/* The datapath checks lower and tag of the port that it finds: see struct sixlane_neigh. */
struct sixlane_vlan_key {
	__u32 lower; /* ifindex of the device that the tagged frame came in by */
	union sixlane_tag tag;
};
_Static_assert(sizeof(struct sixlane_vlan_key) == 8, "layout is ABI");

#endif
