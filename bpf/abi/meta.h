/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State of the whole datapath (sl_meta), and what each CPU keeps for itself (sl_cpu). */
#ifndef BPF_ABI_META_H
#define BPF_ABI_META_H

#include <linux/types.h>

/* Raised by every change of a layout in this folder; user space refuses pinned maps of another one.
 */
#define SIXLANE_ABI 24u

/* Prefix of the BTF tag of the program that names its compiler. */
#define SIXLANE_COMPILER_TAG "sixlane_compiler:"

#define SIXLANE_MAX_DIFFERENCES 16u /* kinds that the audit counts */

/* --- sl_meta: ARRAY[1], mmapable ------------------------------------------------------ */

#define SIXLANE_META_READY (1u << 0)	/* maps were complete once: the datapath may forward */
#define SIXLANE_META_PASS_ALL (1u << 1) /* operator's switch: pass every packet */
#define SIXLANE_META_RULES (1u << 2)	/* rules being read, or beyond us: punt every packet */
#define SIXLANE_META_IN_SYNC (1u << 3)	/* maps equal the kernel's tables as far as it told us */
/* A prefix is missing in a table: where it has nothing, no other table may be asked instead. */
#define SIXLANE_META_GAPS (1u << 4)
/* Answer packets over the MTU of a route or device in XDP, too, not only over an exception's. */
#define SIXLANE_META_ANSWER (1u << 5)
#define SIXLANE_META_FLOW_LABEL                                          \
	(1u << 6) /* net.ipv6.auto_flowlabels: answers have a flow label \
		   */

/* The guard has read everything once: without this bit every packet passes. */
#define SIXLANE_META_GUARDED (1u << 7)
/* Of ports with SIXLANE_PORT_GUARD: fragments may be put together before they are forwarded … */
#define SIXLANE_META_FRAGMENTS (1u << 8)
/* … packets may be under a policy in sl_policies, or under one whatever their addresses. */
#define SIXLANE_META_IPSEC (1u << 9)
#define SIXLANE_META_IPSEC_ALL (1u << 10)
/* … ICMPv6 errors under one of the packets that they are about. */
#define SIXLANE_META_IPSEC_ICMP6 (1u << 11)
/* Exceptions of the kernel are only counted: the program sets nothing in sl_fresh. */
#define SIXLANE_META_OBSERVE (1u << 13)
/*
 * Look at sl_punted and sl_fresh whatever the route. Set by the program after it has set something
 * in sl_fresh, and by the daemon; cleared by the daemon alone. The program stores the whole byte,
 * so all of it belongs to this flag.
 */
#define SIXLANE_META_CHECK_PUNTED_BYTE 3u
#define SIXLANE_META_CHECK_PUNTED (1u << (8 * SIXLANE_META_CHECK_PUNTED_BYTE))

/* A list of rules: published by one store, so that it is changed as a whole. */
union sixlane_rules {
	__u64 word;
	struct {
		__u32 first; /* index in sl_rules */
		__u32 n;
	};
};

/* net.ipv6.fib_multipath_hash_policy and _fields (FIB_MULTIPATH_HASH_FIELD_*, policy 3). */
#define SIXLANE_HASH_L3 0u
#define SIXLANE_HASH_L4 1u
#define SIXLANE_HASH_INNER 2u
#define SIXLANE_HASH_FIELDS 3u
union sixlane_hash_policy {
	__u64 word;
	struct {
		__u32 policy; /* SIXLANE_HASH_* */
		__u32 fields;
	};
};

struct sixlane_meta {
	__u32 abi; /* SIXLANE_ABI; 0 in maps that no daemon has seen yet */
	union {
		__u32 flags; /* SIXLANE_META_* */
		__u8 flag_bytes[4];
	};
	union sixlane_rules rules; /* for ports with SIXLANE_PORT_RULES */
	union sixlane_hash_policy hash_policy;
	__u64 hash_seed; /* random: who sees the packets cannot tell their members */
	__u64 answer_ns; /* a CPU may answer one packet in so many ns in the long run; 0: any … */
	__u64 answer_burst; /* … and so many at once */
	__u32 fresh;	    /* which half of sl_fresh the program sets: 0 or 1 */
	__u32 reserved;
	/* Below: written by the daemon for the CLI only, never read by the datapath. */
	__u64 generation; /* full synchronisations completed */
	__u64 routes;	  /* entries of sl_routes */
	__u64 next_hops;
	__u64 neighbours;     /* entries of sl_neigh_index */
	__u64 routes_missing; /* prefixes that found no room and whose covers are punted */
	__u64 overruns;	      /* times the kernel dropped notifications (ENOBUFS) or cut a dump */
	__u64 sync_ns;	      /* duration of the last full synchronisation */
	__u64 synced_at;      /* its end, seconds since the epoch */
	__u64 malformed;      /* netlink messages that were refused */
	__u64 max_routes;     /* the daemon's own bound, at most SIXLANE_MAX_ROUTES */
	__u64 sources;	      /* entries of sl_src_routes */
	__u64 buckets;	      /* of sl_nh_buckets that belong to groups */
	__u64 exceptions;     /* entries of sl_exceptions */
	__u64 exceptions_overflow; /* destinations that found no room and are punted now */
	__u64 max_exceptions;	   /* the daemon's own bound of the kernel's */
	/* sl_operator: the CLI counts its changes, the daemon says which it has carried out. */
	__u64 operator_changes, operator_done;
	__u64 exception_passes; /* over all exceptions of the kernel, to the end */
	/* The compiled FIB: bytes, durations in ns, seconds since the epoch; see compiled_stats. */
	__u64 fib_chunk_bytes, fib_used_bytes, fib_free_bytes, fib_nodes;
	__u64 fib_builds, fib_failures, fib_replans, fib_build_ns, fib_built_at;
	/* The CLI counts its wishes for the daemon to compare it with its own table. */
	__u64 fib_verify_wanted, fib_verify_done;
	__u64 fib_verify_checked, fib_verify_wrong; /* addresses, of the last time */
	__u64 fib_memory;			    /* SIXLANE_FIB_IN_*; 0: no daemon yet */
	__u64 bypassed; /* bit n: enum guard_cause n of user/guard holds nothing back */
	/* The audit: 1: of the kernel's own tables, 0: by dumps; passes over all tables, how long
	 * the last one took, and what was corrected, by enum rib_difference of user/rib. */
	__u64 audit_reader, audit_passes, audit_pass_ns;
	__u64 audit_corrected[SIXLANE_MAX_DIFFERENCES];
	/* The parity check: flows that were compared with the kernel's answer, and those of them
	 * that differed; prefixes that are punted for it now, and how often one was since the
	 * daemon started. */
	__u64 parity_checked, parity_differed;
	__u64 parity_punted, parity_punts;
	__u64 punted; /* destinations that are in sl_punted and are not exact */
	__u64 reserved1[7];
};
_Static_assert(sizeof(struct sixlane_meta) == 568, "layout is ABI");
_Static_assert(__builtin_offsetof(struct sixlane_meta, generation) <= 64,
	       "what packets read is one line");
_Static_assert(__builtin_offsetof(struct sixlane_meta, flags) == 4, "one word with abi");

/* --- sl_cpu: PERCPU_ARRAY[1] ---------------------------------------------------------- */

/* What a CPU keeps for itself, whatever the packet. */
struct sixlane_cpu {
	__u64 filled_ns; /* CLOCK_MONOTONIC at which its bucket of answers would have been empty */
	__u64 icmp_events_lost; /* sl_icmp_events was full, or sl_fresh was */
	__u64 tick;		/* jiffies at which it was last asked what time it is … */
	__u64 tick_ns;		/* … and what it was: CLOCK_MONOTONIC_COARSE */
};
_Static_assert(sizeof(struct sixlane_cpu) == 32, "layout is ABI");

#endif
