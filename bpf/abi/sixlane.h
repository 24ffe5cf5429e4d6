/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the XDP program and user space share of the maps: limits, and the layout of each. Knows
 * neither libbpf nor libc, only fixed-width types, so that clang -target bpf, gcc and clang read
 * the same bytes.
 *
 * Byte order: addresses, MACs and the table in a route key are in network order
 * (the trie compares bits from the left); all other integers are in host order.
 */
#ifndef BPF_ABI_SIXLANE_H
#define BPF_ABI_SIXLANE_H

#include "fib.h"
#include "verdicts.h"

/* Raised by every change of a layout below; user space refuses pinned maps of another one. */
#define SIXLANE_ABI 24u

/* What a BTF tag of the program begins with that names its compiler. */
#define SIXLANE_COMPILER_TAG "sixlane_compiler:"

#define SIXLANE_MAX_ROUTES 4194304u /* never preallocated: costs nothing until used */
#define SIXLANE_MAX_NEXT_HOPS 65536u
#define SIXLANE_MAX_NEIGHBOURS 131072u
#define SIXLANE_MAX_NH_BUCKETS 262144u
#define SIXLANE_MAX_SOURCES 262144u /* never preallocated */
#define SIXLANE_MAX_PORTS 1024u
#define SIXLANE_MAX_VLANS 4096u
#define SIXLANE_MAX_SLAVES 16u /* of a bond below VLAN devices; what leaves by more is punted */
#define SIXLANE_MAX_EQUAL_METRIC 16u   /* members of SIXLANE_NH_EQUAL_METRIC; more are punted */
#define SIXLANE_MAX_RULES 64u	       /* a list; longer ones punt */
#define SIXLANE_MAX_EXCEPTIONS 262144u /* never preallocated; of these at most … */
#define SIXLANE_MAX_KERNEL_EXCEPTIONS 131072u	/* … the kernel's … */
#define SIXLANE_MAX_OPERATOR_EXCEPTIONS 131072u /* … and the operator's */
#define SIXLANE_MAX_POLICIES 65536u		/* entries of sl_policies, never preallocated */
#define SIXLANE_MAX_DIFFERENCES 16u		/* kinds that the audit counts */

union sixlane_addr {
	__u8 bytes[16];
	__be32 words[4];
	__be64 halves[2];
};

/*
 * A MAC and 16 bits of flags in one naturally aligned word, so that it is published by
 * one store and no reader ever sees half of it. bytes[0..5] is the MAC in wire order.
 */
union sixlane_mac {
	__u64 word;
	struct {
		__u8 bytes[6];
		__u16 flags;
	};
};
#define SIXLANE_MAC_VALID 1u /* in flags: the MAC may be used */

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

/* --- sl_routes: LPM_TRIE, key sixlane_route_key, value __u32 --------------------------- */

struct sixlane_route_key {
	__u32 prefix_len; /* SIXLANE_TABLE_BITS + length of the prefix, in bits */
	__be32 table;	  /* RTA_TABLE */
	union sixlane_addr addr;
};
_Static_assert(sizeof(struct sixlane_route_key) == 24, "layout is ABI");

#define SIXLANE_TABLE_BITS 32u
/*
 * RT_TABLE_MAIN, with the local table laid over it while the rules ask local first: one lookup
 * then does for both. Every other table, local too, stands in the trie as it is.
 */
#define SIXLANE_TABLE_MAIN 254u

/*
 * A trie value: bits 0-19 the next hop's id (never 0), bits 20-27 the length of the
 * prefix, so that one lookup also tells what matched, bits 28-31 marks (SIXLANE_ROUTE_*).
 */
#define SIXLANE_ROUTE_ID_MASK 0xfffffu
#define SIXLANE_ROUTE_LEN_SHIFT 20
#define SIXLANE_ROUTE_LEN_MASK 0xffu
#define SIXLANE_ROUTE_FLAGS_SHIFT 28
/* Some destination under this prefix is in sl_punted. Too often does no harm. */
#define SIXLANE_ROUTE_EXCEPTIONS (1u << 28)

static inline __u32 sixlane_route_value(__u32 next_hop, __u32 len)
{
	return (next_hop & SIXLANE_ROUTE_ID_MASK) | len << SIXLANE_ROUTE_LEN_SHIFT;
}

static inline __u32 sixlane_route_next_hop(__u32 value)
{
	return value & SIXLANE_ROUTE_ID_MASK;
}

static inline __u32 sixlane_route_len(__u32 value)
{
	return value >> SIXLANE_ROUTE_LEN_SHIFT & SIXLANE_ROUTE_LEN_MASK;
}

/* --- sl_src_routes: LPM_TRIE, key sixlane_route_key, value as in sl_routes ------------- */

/*
 * The routes of one destination by source prefix (SIXLANE_NH_SOURCES): table is the set's id,
 * addr the source. A set has an entry for ::/0, so that every packet finds its next-hop entry here.
 */

/* --- sl_next_hops: ARRAY, mmapable; index = next-hop id -------------------------------- */

/* What a route leads to, in one word, so that it changes by one store. */
union sixlane_nh_entry {
	__u64 word;
	struct {
		/*
		 * enum sixlane_verdict: SIXLANE_FORWARD by port and neighbour, any other is the
		 * next-hop entry of every packet that gets here (local, blackhole, punt …); or one
		 * of SIXLANE_KIND_*.
		 */
		__u16 type;
		union {
			__u16 port;	 /* egress: index in sl_ports */
			__u16 n_buckets; /* of a group */
		};
		union {
			__u32 neighbour; /* gateway: in sl_neighbours; 0: on-link, by destination */
			__u32 first_bucket; /* of a group: index in sl_nh_buckets */
			__u32 source_table; /* of sources: id in sl_src_routes */
		};
	};
};

#define SIXLANE_NH_GROUP 64u /* the packet's hash picks a member */
#define SIXLANE_NH_EQUAL_METRIC \
	65u		       /* the first member, but the one by the ingress port comes first */
#define SIXLANE_NH_SOURCES 66u /* look the source up, too */
_Static_assert(SIXLANE_NH_GROUP >= SIXLANE_MAX_VERDICTS, "kinds and verdicts share a number");

#define SIXLANE_NEXT_HOP_OBJECT (1u << 0) /* of next-hop objects, which go with their carrier */
#define SIXLANE_NEXT_HOP_LOCKED (1u << 1) /* mtu is locked: `mtu lock` */
/* What this router sends by it is unlike what the port says: `src`, `hoplimit`. No answers by it.
 */
#define SIXLANE_NEXT_HOP_NO_ANSWER (1u << 2)

/*
 * Written whole before a route or a group names it; while one does only next-hop entry may change,
 * by one store. Members of groups are next hops of kind FORWARD or of a verdict; their mtu and
 * expires_ns do not count, nor does expires_ns of a next hop that is no group (a route with an
 * expiry is a group of one: others pay nothing for it).
 */
struct sixlane_next_hop {
	union sixlane_nh_entry nh_entry;
	__u32 mtu;	  /* bytes, of a route with one; 0: the egress port's alone */
	__u32 flags;	  /* SIXLANE_NEXT_HOP_* */
	__u64 expires_ns; /* CLOCK_MONOTONIC; from then on packets pass; 0: never */
	__u64 reserved;
};
_Static_assert(sizeof(struct sixlane_next_hop) == 32, "layout is ABI");

/* --- sl_nh_buckets: ARRAY, mmapable; the members of groups ----------------------------- */

/*
 * A group's buckets stand side by side. A 32-bit hash times their number is the bucket (upper half)
 * and a fraction (lower half): below bound it is the one member, else the other (Walker's alias
 * method: any weights, one load). A bucket of a resilient group has one member twice.
 */
union sixlane_nh_bucket {
	__u64 word;
	struct {
		__u32 bound;
		__u16 below, above; /* next-hop ids */
	};
};
_Static_assert(SIXLANE_MAX_NEXT_HOPS <= 65536u, "a cell names next hops by 16 bits");

/*
 * A destination that has something is in sl_punted. It is exact if it is in sl_exceptions, too, and
 * otherwise punt; so is for the time being what is in sl_fresh. What a destination has does not
 * depend on the table, but see the value's.
 */

/* --- sl_exceptions: PERCPU_HASH, key sixlane_addr, value sixlane_exception --------------- */

#define SIXLANE_EXCEPTION_MTU (1u << 0)
#define SIXLANE_EXCEPTION_NEXT_HOP (1u << 1)
/* As of a route with `mtu lock`: asked by ip6_forward(), else by ip6_finish_output(). */
#define SIXLANE_EXCEPTION_LOCKED (1u << 2)
#define SIXLANE_EXCEPTION_OBSERVE (1u << 3) /* counted and not applied */
/* Who said it. */
#define SIXLANE_EXCEPTION_KERNEL (1u << 4)
#define SIXLANE_EXCEPTION_OPERATOR (1u << 5)
#define SIXLANE_EXCEPTION_CHANGING (1u << 6) /* half written: its packets are the kernel's */
#define SIXLANE_EXCEPTION_VERSION_SHIFT 16
#define SIXLANE_EXCEPTION_VERSION (0xffffu << SIXLANE_EXCEPTION_VERSION_SHIFT)

/*
 * What holds for one destination instead of what its route says. A value per CPU, the same for all
 * CPUs but for the last three, which the datapath writes: a hit dirties no line of another CPU.
 *
 * The kernel copies a new value over the old one word by word, and gives the memory of one that
 * goes to the next one that comes, while packets read it. So a packet reads flags and mtu (one
 * word) first and once more at the end: if they are not the same any more, or check is not that of
 * its key, or _CHANGING is set, it is the kernel's. The version changes with every change of more
 * than one word, and is another one when an entry comes again.
 */
struct sixlane_exception {
	__u32 flags;	/* SIXLANE_EXCEPTION_* */
	__u32 mtu;	/* bytes, at least 1280, with _MTU */
	__u32 next_hop; /* id, with _NEXT_HOP */
	__u32 check;	/* sixlane_exception_check() of the key */
	__u32 table;	/* in which the packet's route is to be found, else it does not hold */
	__u32 reserved;
	/* CLOCK_MONOTONIC; 0: never. From then on the kernel's is punt, and the operator's, or one
	 * that is only counted, is as if it were not there. */
	__u64 expires_ns;
	__u64 added_ns; /* CLOCK_MONOTONIC; an operator's: when it was asked for */
	__u64 hits;	/* packets that found it, applied or not */
	__u64 bytes;	/* of these, from the Ethernet header on */
	__u64 used_ns;	/* of the last one, CLOCK_MONOTONIC_COARSE */
};
_Static_assert(sizeof(struct sixlane_exception) == 64, "layout is ABI");
_Static_assert(__builtin_offsetof(struct sixlane_exception, flags) == 0, "one word with mtu");

/* Of addresses that differ in a few bits, wherever these stand, both halves of it differ. */
static inline __u64 sixlane_exception_sum(const union sixlane_addr *dst)
{
	const __u64 odd = 0x9e3779b97f4a7c15ull;
	__u64 sum = dst->halves[0];

	/* addresses differ most in their last bytes, which may be the highest of these numbers */
	sum = (sum ^ sum >> 32) * odd ^ dst->halves[1];
	sum = (sum ^ sum >> 32) * odd;
	return sum ^ sum >> 32;
}

static inline __u32 sixlane_exception_check(const union sixlane_addr *dst)
{
	return (__u32)(sixlane_exception_sum(dst) >> 32);
}

/* --- sl_punted: ARRAY of __u64, mmapable --------------------------------------------------- */

/*
 * A destination whose bits are all set is looked up in sl_exceptions if its route is marked, or if
 * SIXLANE_META_CHECK_PUNTED is set, and punted without an entry there. The daemon sets the bits
 * before the mark, and for an operator's entry, of which the kernel knows nothing, when that is
 * there. They go with a change of the whole filter, which leaves those of all entries: an entry
 * that goes leaves a destination that is punt.
 *
 * The first bit is of a page that stays in a CPU's first cache: while few destinations have
 * something, others pay for it alone. The other two are of many, and tell them apart when that page
 * is full.
 */
#define SIXLANE_PUNTED_NUMBERS 3u
#define SIXLANE_PUNTED_FEW (1u << 15) /* 4 KiB: of 2,048 destinations 6 % are set */
/* 512 KiB: of others 65,536 destinations punt one in 1,000, too, and 100,000 one in 500. */
#define SIXLANE_PUNTED_MANY (1u << 22)
#define SIXLANE_PUNTED_BITS (SIXLANE_PUNTED_FEW + SIXLANE_PUNTED_MANY)
#define SIXLANE_PUNTED_WORDS (SIXLANE_PUNTED_BITS / 64)

/*
 * sum: sixlane_exception_sum() of the destination. number: below SIXLANE_PUNTED_NUMBERS. Each
 * number goes by other bits of the sum, or some choices of destinations would punt many others.
 */
static inline __u32 sixlane_punted_bit(__u64 sum, __u32 number)
{
	if (!number)
		return (__u32)(sum >> 49);
	return SIXLANE_PUNTED_FEW +
	       ((__u32)(number == 1 ? sum >> 27 : sum) & (SIXLANE_PUNTED_MANY - 1));
}

/* --- sl_fresh: ARRAY of __u64, mmapable ----------------------------------------------------- */

/*
 * Destinations that an ICMPv6 message to this machine was about, which the daemon has not read yet:
 * with SIXLANE_META_CHECK_PUNTED they are punted. A destination has as many slots as it has bits in
 * sl_punted, and for the same reason. A slot has a byte of either half, one beside the other. The
 * program stores 1 to the slots of a destination, in the half that sl_meta names; the daemon clears
 * the other half. Bytes, since to set a bit takes an atomic operation that not every kernel has on
 * arm64.
 *
 * The last word is two __u32: how many destinations are in each half. A half that has
 * SIXLANE_FRESH_MOST takes no more: of all other addresses it punts at most one in 1,000.
 */
#define SIXLANE_FRESH_NUMBERS 3u
#define SIXLANE_FRESH_FEW (1u << 12)  /* 8 KiB */
#define SIXLANE_FRESH_MANY (1u << 18) /* 512 KiB */
#define SIXLANE_FRESH_HALVES 2u
#define SIXLANE_FRESH_BYTES ((SIXLANE_FRESH_FEW + SIXLANE_FRESH_MANY) * SIXLANE_FRESH_HALVES)
#define SIXLANE_FRESH_COUNTS (SIXLANE_FRESH_BYTES / 8) /* index of the last word */
#define SIXLANE_FRESH_WORDS (SIXLANE_FRESH_COUNTS + 1)
#define SIXLANE_FRESH_MOST 4096u

/* The byte in half 0 of a destination's slot; that in half 1 is next to it. As above. */
static inline __u32 sixlane_fresh_byte(__u64 sum, __u32 number)
{
	if (!number)
		return (__u32)(sum >> 52) * SIXLANE_FRESH_HALVES;
	return (SIXLANE_FRESH_FEW +
		((__u32)(number == 1 ? sum >> 34 : sum) & (SIXLANE_FRESH_MANY - 1))) *
	       SIXLANE_FRESH_HALVES;
}

/* --- sl_operator: HASH, key sixlane_addr, value sixlane_operator ------------------------- */

/*
 * What `sixlane exception add` asks for, whether or not a daemon runs. The CLI writes it and counts
 * operator_changes up, the daemon brings it into sl_exceptions. Never read by the datapath.
 */
struct sixlane_operator {
	__u32 mtu;		    /* bytes; 0: none */
	__u32 table;		    /* as in struct sixlane_exception */
	union sixlane_addr gateway; /* with a device */
	char device[16];	    /* its name; empty: the route's next hop stays */
	__u64 expires_ns;	    /* CLOCK_MONOTONIC; 0: never */
	__u64 added_ns;		    /* CLOCK_MONOTONIC; another one for each change */
};
_Static_assert(sizeof(struct sixlane_operator) == 56, "layout is ABI");

/* --- sl_icmp_events: RINGBUF of sixlane_icmp_event ---------------------------------------------
 */

#define SIXLANE_ICMP_EVENTS_BYTES 262144u

#define SIXLANE_ICMP6_TOO_BIG 2u /* ICMPv6 types */
#define SIXLANE_ICMP6_ROUTER_ADVERT 134u
#define SIXLANE_ICMP6_REDIRECT 137u

/*
 * An ICMPv6 message to this machine after which the kernel may have a new exception, or another
 * lifetime of a route.
 */
struct sixlane_icmp_event {
	union sixlane_addr dst; /* of the packet that the message is about; of an advertisement 0 */
	__u32 ifindex;		/* the message came in by */
	__u32 type;		/* SIXLANE_HINT_* */
};
_Static_assert(sizeof(struct sixlane_icmp_event) == 24, "layout is ABI");

/* --- sl_cpu: PERCPU_ARRAY[1] ---------------------------------------------------------- */

/* What a CPU keeps for itself, whatever the packet. */
struct sixlane_cpu {
	__u64 filled_ns; /* CLOCK_MONOTONIC at which its bucket of answers would have been empty */
	__u64 icmp_events_lost; /* sl_icmp_events was full, or sl_fresh was */
	__u64 tick;		/* jiffies at which it was last asked what time it is … */
	__u64 tick_ns;		/* … and what it was: CLOCK_MONOTONIC_COARSE */
};
_Static_assert(sizeof(struct sixlane_cpu) == 32, "layout is ABI");

/* --- sl_neigh_index: HASH, key sixlane_neigh_key, value __u32 index in sl_neighbours --- */

struct sixlane_neigh_key {
	union sixlane_addr addr;
	__u32 ifindex;
	__u32 zero;
};
_Static_assert(sizeof(struct sixlane_neigh_key) == 24, "layout is ABI");

/* --- sl_neighbours: ARRAY, mmapable; slot 0 is never used ------------------------------ */

/*
 * The key is repeated here and compared by readers that came by the hash, since the
 * kernel may reuse an element of a hash while a reader still holds it. A slot's key
 * changes only after a grace period in which nothing named the slot.
 */
struct sixlane_neigh {
	union sixlane_mac mac; /* 0 while unresolved */
	struct sixlane_neigh_key key;
	__u32 used; /* set to 1 by the datapath when 0, cleared by the daemon: "has traffic" */
	/* Set to 1 by the daemon: the packet that next sets used is to be told in sl_samples, and
	 * clears it. */
	__u32 sample;
};
_Static_assert(sizeof(struct sixlane_neigh) == 40, "layout is ABI");

/* --- sl_samples: RINGBUF of sixlane_sample ------------------------------------------------ */

#define SIXLANE_SAMPLES_BYTES 65536u /* a page, on every architecture */

/* A packet that was forwarded, and where to. None that an exception was applied to. */
struct sixlane_sample {
	union sixlane_addr dst, src;
	union sixlane_addr next_hop; /* the gateway, or on link the destination */
	__u32 ingress;		     /* ifindex of the port, that of a VLAN or bond … */
	__u32 iif;		     /* … and what rules see: the VRF of a VRF's port */
	__u32 table;		     /* in which the route was found */
	__u32 egress;		     /* ifindex of the route's device */
	__be16 src_port, dst_port;   /* 0 where the protocol has none */
	__u8 next_header;
	__u8 tclass;
	__u8 zero[2];
};
_Static_assert(sizeof(struct sixlane_sample) == 72, "layout is ABI");

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

/* --- sl_rules: ARRAY[2 lists], mmapable ------------------------------------------------- */

#define SIXLANE_RULE_INVERT (1u << 0)
#define SIXLANE_RULE_IIF (1u << 1)
#define SIXLANE_RULE_SOURCE (1u << 2)
#define SIXLANE_RULE_DESTINATION (1u << 3)
#define SIXLANE_RULE_TCLASS (1u << 4)
#define SIXLANE_RULE_PROTO (1u << 5)
#define SIXLANE_RULE_SPORT (1u << 6)
#define SIXLANE_RULE_DPORT (1u << 7)
#define SIXLANE_RULE_L3MDEV (1u << 8)	 /* ports of a VRF only; the table is the VRF's */
#define SIXLANE_RULE_UNKNOWN (1u << 9)	 /* and a selector that XDP cannot see: fwmark … */
#define SIXLANE_RULE_SUPPRESS (1u << 10) /* a route of at most suppress_len bits does not count */

#define SIXLANE_RULE_LOOKUP 0u	/* in table */
#define SIXLANE_RULE_VERDICT 1u /* next-hop entry: enum sixlane_verdict */
#define SIXLANE_RULE_GOTO 2u	/* the rule at index target of the list, behind this one */

/*
 * One rule of `ip -6 rule`, for forwarded packets: what never holds for them (oif, tun_id, a uid
 * range without root) was left out. It applies if all selectors that flags names hold, or,
 * inverted, if one of them does not.
 */
struct sixlane_rule {
	__u32 flags;  /* SIXLANE_RULE_* */
	__u32 action; /* SIXLANE_RULE_LOOKUP … */
	__u32 table;
	__u32 verdict;
	__u32 target;
	__u32 iif;
	__u32 suppress_len;
	__u8 proto;
	__u8 tclass, tclass_mask;
	__u8 zero;
	__u16 sport_low, sport_high;
	__u16 dport_low, dport_high;
	__u32 priority; /* as `ip -6 rule` shows it; for people */
	__u32 reserved;
	union sixlane_addr src, src_mask;
	union sixlane_addr dst, dst_mask;
	__u64 reserved1[2];
};
_Static_assert(sizeof(struct sixlane_rule) == 128, "layout is ABI");

/* --- sl_guard: ARRAY of __u64, mmapable --------------------------------------------------- */

/*
 * For a slot of an ingress port a row of bits, one for each slot of an egress port: set where no
 * firewall rule can touch a forwarded IPv6 packet of this pair. What is new is held back: the bits
 * of a slot are clear before it is given to a device.
 */
#define SIXLANE_GUARD_ROW (SIXLANE_MAX_PORTS / 64u)
#define SIXLANE_GUARD_WORDS (SIXLANE_MAX_PORTS * SIXLANE_GUARD_ROW)

static inline __u32 sixlane_guard_word(__u32 in_slot, __u32 out_slot)
{
	return in_slot * SIXLANE_GUARD_ROW + out_slot / 64;
}

/* --- sl_policies: LPM_TRIE, key sixlane_route_key, value __u32 ------------------------------ */

/*
 * IPsec policies by addresses. In table 0 destinations, whose value is the number of a table of
 * sources (never 0); a packet whose source is under an entry there is held back.
 */

/* --- sl_counters: PERCPU_ARRAY; index = slot in sl_ports of the ingress port ----------- */

struct sixlane_counter {
	__u64 packets;
	__u64 bytes; /* as they came in, from the Ethernet header on */
};

struct sixlane_counters {
	struct sixlane_counter verdicts[SIXLANE_MAX_VERDICTS];
};

#endif
