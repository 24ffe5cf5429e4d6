/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The facts that a step of the trace flavour decided by: a member a kind of step. */
#ifndef BPF_ABI_TRACE_FACTS_H
#define BPF_ABI_TRACE_FACTS_H

#include "sixlane.h"

/* Flags are those of the map's entry, MACs the words of union sixlane_mac. */
union sixlane_trace_facts {
	__u64 words[4];
	struct {
		__u64 words[4];
	} none;
	struct {
		__u32 abi, flags; /* of sl_meta */
	} meta;
	struct {
		__u32 slot; /* in sl_ports; 0: unknown */
		__u32 ifindex;
		__u32 flags; /* SIXLANE_PORT_* */
		__u32 table;
		__u32 iif;
		__u32 generic;	 /* the program runs in generic mode */
		__u32 hop_limit; /* of the packet; with FORWARDING */
	} port;
	struct {
		union sixlane_tag tag;
		__u32 slot;  /* of the VLAN device; 0: none that is up */
		__u32 taken; /* there is a device of this tag */
	} tag;
	struct {
		__u32 bytes, ip_bytes, tag_bytes;
	} frame;
	struct {
		__u64 dst;	 /* MAC of the frame */
		__u64 mac;	 /* of the port */
		__u32 addressed; /* to the MAC of a device below the VLAN's */
	} addressee;
	struct {
		__u32 next_header, hop_limit;
	} header;
	struct {
		union sixlane_rules list;
		__u32 iif;
		__u32 vrf_table;
		__u32 ports_known;
	} rules;
	struct {
		__u32 at; /* number in the list */
		__u32 outcome;
		__u32 selector; /* SIXLANE_RULE_*, of DIFFERS; _INVERT: all held */
		__u32 table;	/* 0: the rule asks none */
	} rule;
	struct {
		__u32 table; /* of SOURCE the set's id */
		__u32 value; /* 0: no route */
		union sixlane_nh_entry nh_entry;
	} route;
	struct {
		union sixlane_nh_entry nh_entry;
		__u64 expires_ns; /* 0: never */
		__u32 flags;	  /* SIXLANE_NEXT_HOP_* */
	} group;
	struct {
		__u64 hash; /* 0: over headers that XDP does not reach */
	} hash;
	struct {
		__u32 number; /* in the group */
		__u32 id;     /* of the member; 0: none */
	} bucket;
	struct {
		union sixlane_nh_entry nh_entry;
	} member;
	struct {
		__u32 outcome;
		__u32 flags; /* SIXLANE_EXCEPTION_* */
		__u32 mtu;
		__u32 next_hop;
		__u32 table; /* for whose routes it holds */
		__u64 expires_ns;
	} exception;
	struct {
		__u32 slot; /* 0: none */
		__u32 ifindex;
		__u32 flags; /* SIXLANE_PORT_* */
		__u32 tx_ifindex;
		__u32 mtu;
	} egress;
	struct {
		__u32 in_flags;	  /* SIXLANE_PORT_* of the ingress port */
		__u32 meta_flags; /* 0: not asked for */
	} guard;
	struct {
		__u64 value; /* of the word in sl_guard */
		__u32 word, bit;
	} pair;
	struct {
		__u32 ip_bytes;
		__u32 device_mtu;
		__u32 mtu;	 /* the route's or the exception's; 0: none */
		__u32 exception; /* SIXLANE_EXCEPTION_* of the one that was applied */
	} mtu;
	struct {
		__u32 mtu;
		__u32 way; /* enum sixlane_trace_way */
		__u64 dst_mac;
		union sixlane_addr source;
	} answer;
	struct {
		__u32 gateway; /* slot in sl_neighbours; 0: the destination itself */
		__u32 found;
		__u64 mac; /* its flags tell whether it may be used */
		union sixlane_addr addr;
	} neighbour;
	struct {
		__u32 ifindex; /* 0: none */
		__u32 by;      /* SIXLANE_SLAVES_BY_* */
		__u32 n_slaves;
	} slave;
	struct {
		__u64 dst_mac, src_mac;
		__u32 tx_ifindex;
	} rewrite;
	struct {
		__u32 slot; /* that the packet was counted for */
		__u32 bytes;
	} end;
};
_Static_assert(sizeof(union sixlane_trace_facts) == 32, "trace_write() takes four words");

#endif
