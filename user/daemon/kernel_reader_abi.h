/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the daemon (kernel_reader.c) asks the BPF program that reads fib6's own trie
 * (kernel_reader.bpf.c), and what that answers.
 */
#ifndef USER_DAEMON_KERNEL_READER_ABI_H
#define USER_DAEMON_KERNEL_READER_ABI_H

#include <linux/types.h>
#include <stdbool.h>

#include "../../bpf/abi/sixlane.h"

#define KERNEL_READER_RECORDS 16384u
#define KERNEL_READER_OBJECTS 0u /* as a table, which no kernel has: the next-hop objects */

enum kernel_record_kind {
	KERNEL_RECORD_ROUTE,	 /* one fib6_info: a route, or one hop of a multipath route */
	KERNEL_RECORD_EXCEPTION, /* one rt6_exception, of the route or object before it */
	KERNEL_RECORD_OBJECT,	 /* one next-hop object, or group */
};

/* Addresses are in network order, integers in host order. */
struct kernel_record {
	__u8 dst[16], src[16]; /* host bits 0; of an object dst is its id, as a number */
	__u8 gateway[16];      /* 0: none */
	__u64 expires;	       /* jiffies; counts only with RTF_EXPIRES in flags */
	__u32 flags;	       /* RTF_* */
	__u32 metric;
	__u32 next_hop_id; /* 0: none. Else no gateway and ifindex */
	__u32 ifindex;
	__u32 mtu;	  /* RTAX_MTU, 0: none; of an exception its own */
	__u32 hop_limit;  /* RTAX_HOPLIMIT, 0: none */
	__u32 features;	  /* RTAX_FEATURES */
	__u16 n_siblings; /* fib6_nsiblings, at most 65535: not 0: a hop of a multipath route */
	__u16 weight;	  /* fib_nh_weight */
	__u8 kind;	  /* enum kernel_record_kind */
	__u8 dst_len, src_len;
	__u8 type;	 /* RTN_*, the route's own, whatever its object does */
	__u8 protocol;	 /* RTPROT_* */
	__u8 preference; /* IPV6_DECODE_PREF(): 1 low, 2 medium, 3 high */
	__u8 mtu_locked; /* RTAX_LOCK of RTAX_MTU */
	__u8 encap;	 /* it has an lwtunnel state, or a gateway that is not of IPv6 */
	__u8 prefsrc;	 /* RTA_PREFSRC is set */
	__u8 zero[3];
};
_Static_assert(sizeof(struct kernel_record) == 104, "both sides see the same");

/* Which exceptions follow the record of the route, or object, that they are of. */
struct kernel_choice {
	enum kernel_exceptions {
		KERNEL_EXCEPTIONS_NONE,
		KERNEL_EXCEPTIONS_ALL,
		KERNEL_EXCEPTIONS_ONE, /* of one destination address */
	} exceptions;
	__u32 hop; /* of KERNEL_READ_AT: those of the route of this number, from 1 on; 0: of all */
	union sixlane_addr dst; /* of KERNEL_EXCEPTIONS_ONE */
};

enum kernel_reading {
	KERNEL_READ_TABLE,  /* the destinations of a table … */
	KERNEL_READ_BEHIND, /* … behind this one */
	KERNEL_READ_AT,	    /* exactly one destination */
};

struct kernel_reader_question {
	struct kernel_choice choice;
	union sixlane_addr dst; /* of KERNEL_READ_BEHIND and _AT */
	__u32 dst_len;
	enum kernel_reading reading;
	__u32 table;
	__u32 budget; /* no destination begins behind so many records */
};

/* What a call has read. */
struct kernel_view {
	/* Borrowed, valid until the next call. All of a destination is in one view: first its plain
	 * routes, as the kernel has ordered them, then those of its sources. */
	const struct kernel_record *records;
	__u64 now_ns;  /* CLOCK_MONOTONIC of the call … */
	__u64 jiffies; /* … and the kernel's clock */
	__u32 n;       /* records */
	bool end;      /* nothing is left behind these */
	bool cut;      /* the last destination has more routes, or exceptions, than fit */
};

/*
 * The daemon maps the records, which are a map, and the program's global data, which begin with
 * this. It puts the address of the records into the view.
 */
struct kernel_reader_call {
	struct kernel_reader_question question;
	struct kernel_view view;
};

#endif
