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

#define SIXLANE_META_READY (1u << 0)	/* the maps have been complete: the datapath may forward */
#define SIXLANE_META_PASS_ALL (1u << 1) /* operator's switch: pass every packet */
#define SIXLANE_META_RULES (1u << 2) /* rules are being read, or unsupported: punt every packet */
#define SIXLANE_META_IN_SYNC \
	(1u << 3) /* the maps equal the kernel's tables, as far as it has notified */
/* A table lacks a prefix: if a lookup there finds nothing, do not go on to another table. */
#define SIXLANE_META_GAPS (1u << 4)
/* XDP answers packets over the MTU of a route or device, not only over that of an exception. */
#define SIXLANE_META_ANSWER (1u << 5)
#define SIXLANE_META_FLOW_LABEL                                          \
	(1u << 6) /* net.ipv6.auto_flowlabels: answers have a flow label \
		   */

/* The guard has read everything once: without this bit every packet passes. */
#define SIXLANE_META_GUARDED (1u << 7)
/* For ports with SIXLANE_PORT_GUARD: netfilter may defragment packets … */
#define SIXLANE_META_FRAGMENTS (1u << 8)
/* … an IPsec policy may cover packets: those in sl_policies, or any … */
#define SIXLANE_META_IPSEC (1u << 9)
#define SIXLANE_META_IPSEC_ALL (1u << 10)
/* … or ICMPv6 errors, by the packet that they are about. */
#define SIXLANE_META_IPSEC_ICMP6 (1u << 11)
/* Only count exceptions of the kernel; do not fill sl_fresh. */
#define SIXLANE_META_OBSERVE (1u << 13)
/*
 * Check sl_punted and sl_fresh for all packets, whatever the route. The program sets it after it
 * has stored to sl_fresh; the daemon sets and clears it. The program stores the whole byte, so the
 * byte has no other flag.
 */
#define SIXLANE_META_CHECK_PUNTED_BYTE 3u
#define SIXLANE_META_CHECK_PUNTED (1u << (8 * SIXLANE_META_CHECK_PUNTED_BYTE))

/* A list of rules, published by one store. */
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
	__u64 hash_seed;    /* random: observers of packets cannot predict members */
	__u64 answer_ns;    /* rate limit of answers: ns an answer and CPU; 0: none */
	__u64 answer_burst; /* answers at once */
	__u32 fresh;	    /* the half of sl_fresh that the program fills: 0 or 1 */
	__u32 reserved;
	/* From here on for the CLI; the datapath does not read it. */
	__u64 generation; /* full synchronisations completed */
	__u64 routes;	  /* entries of sl_routes */
	__u64 next_hops;
	__u64 neighbours;     /* entries of sl_neigh_index */
	__u64 routes_missing; /* prefixes that did not fit, whose covering prefixes are punted */
	__u64 overruns;	      /* notifications lost (ENOBUFS), or dumps interrupted */
	__u64 sync_ns;	      /* duration of the last full synchronisation */
	__u64 synced_at;      /* its end, seconds since the epoch */
	__u64 malformed;      /* netlink messages that were refused */
	__u64 max_routes;     /* limit of the configuration, at most SIXLANE_MAX_ROUTES */
	__u64 sources;	      /* entries of sl_src_routes */
	__u64 buckets;	      /* used ones of sl_nh_buckets */
	__u64 exceptions;     /* entries of sl_exceptions */
	__u64 exceptions_overflow; /* destinations that did not fit and are punted */
	__u64 max_exceptions;	   /* limit of the configuration, for those of the kernel */
	/* sl_operator: number of the last change by the CLI, and of the last one carried out. */
	__u64 operator_changes, operator_done;
	__u64 exception_passes; /* complete passes over the exceptions of the kernel */
	/* The compiled FIB: bytes, durations in ns, seconds since the epoch; see compiled_stats. */
	__u64 fib_chunk_bytes, fib_used_bytes, fib_free_bytes, fib_nodes;
	__u64 fib_builds, fib_failures, fib_replans, fib_build_ns, fib_built_at;
	/* Requests of the CLI to verify the compiled FIB, and those carried out. */
	__u64 fib_verify_wanted, fib_verify_done;
	__u64 fib_verify_checked, fib_verify_wrong; /* addresses, of the last request */
	__u64 fib_memory;			    /* SIXLANE_FIB_IN_*; 0: no daemon yet */
	__u64 bypassed; /* bit n: the guard ignores enum guard_cause n (user/guard) */
	/* The audit: whether by the kernel reader (1) or dumps (0), complete passes, duration of
	 * the last one, and corrections by enum rib_difference (user/rib). */
	__u64 audit_reader, audit_passes, audit_pass_ns;
	__u64 audit_corrected[SIXLANE_MAX_DIFFERENCES];
	/* The parity check: flows compared with the kernel's choice, and those that differed;
	 * prefixes punted for it now, and in all since the daemon started. */
	__u64 parity_checked, parity_differed;
	__u64 parity_punted, parity_punts;
	__u64 punted; /* destinations in sl_punted without an entry in sl_exceptions */
	__u64 reserved1[7];
};
_Static_assert(sizeof(struct sixlane_meta) == 568, "layout is ABI");
_Static_assert(__builtin_offsetof(struct sixlane_meta, generation) <= 64,
	       "what packets read is one line");
_Static_assert(__builtin_offsetof(struct sixlane_meta, flags) == 4, "one word with abi");

/* --- sl_cpu: PERCPU_ARRAY[1] ---------------------------------------------------------- */

/* State of one CPU. */
struct sixlane_cpu {
	__u64 filled_ns;	/* rate limit of answers: see bpf/bucket.h; CLOCK_MONOTONIC */
	__u64 icmp_events_lost; /* sl_icmp_events or sl_fresh was full */
	__u64 tick;		/* jiffies when the clock was read last … */
	__u64 tick_ns;		/* … and what it returned: CLOCK_MONOTONIC_COARSE */
};
_Static_assert(sizeof(struct sixlane_cpu) == 32, "layout is ABI");

#endif
