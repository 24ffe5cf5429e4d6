/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of the daemon (kernel_reader.c) to the BPF program that reads the kernel's tries
 * (kernel_reader.bpf.c), and the records that it returns.
 */
#ifndef USER_DAEMON_KERNEL_READER_ABI_H
#define USER_DAEMON_KERNEL_READER_ABI_H

#include <linux/types.h>
#include <stdbool.h>

#include "../../bpf/abi/sixlane.h"

#define KERNEL_READER_RECORDS 16384u
#define KERNEL_READER_OBJECTS 0u /* not a table of any kernel: the next-hop objects */

enum kernel_record_kind {
	KERNEL_RECORD_ROUTE,	 /* one fib6_info: a route, or one hop of a multipath route */
	KERNEL_RECORD_EXCEPTION, /* one rt6_exception, of the route or object before it */
	KERNEL_RECORD_OBJECT,	 /* one next-hop object, or group */
};

/* Addresses are in network order, integers in host order. */
struct kernel_record {
	__u8 dst[16], src[16]; /* host bits 0; of an object: its id */
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

/* Which exceptions follow the record of their route or object. */
struct kernel_choice {
	enum kernel_exceptions {
		KERNEL_EXCEPTIONS_NONE,
		KERNEL_EXCEPTIONS_ALL,
		KERNEL_EXCEPTIONS_ONE, /* of one destination address */
	} exceptions;
	__u32 hop; /* KERNEL_READ_AT: only those of the n-th route, from 1; 0: of all */
	union sixlane_addr dst; /* of KERNEL_EXCEPTIONS_ONE */
};

enum kernel_reading {
	KERNEL_READ_TABLE,  /* the destinations of a table */
	KERNEL_READ_BEHIND, /* those after dst */
	KERNEL_READ_AT,	    /* exactly one destination */
};

struct kernel_reader_question {
	struct kernel_choice choice;
	union sixlane_addr dst; /* of KERNEL_READ_BEHIND and _AT */
	__u32 dst_len;
	enum kernel_reading reading;
	__u32 table;
	__u32 budget; /* after so many records no destination begins */
};

/* Result of a call. */
struct kernel_view {
	/* Valid until the next call. A destination is in one view as a whole: first its plain
	 * routes in the kernel's order, then those with a source. */
	const struct kernel_record *records;
	__u64 now_ns;  /* CLOCK_MONOTONIC of the call */
	__u64 jiffies; /* the kernel's clock at that time */
	__u32 n;       /* records */
	bool end;      /* nothing follows */
	bool cut;      /* the last destination has more routes, or exceptions, than fit */
};

/*
 * The program's global data begin with this. The daemon maps them, and the map of records, whose
 * address it puts into the view.
 */
struct kernel_reader_call {
	struct kernel_reader_question question;
	struct kernel_view view;
};

#endif
