/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exceptions of destinations (Path MTU, next hop), and the ICMPv6 messages that announce them. */
#ifndef BPF_ABI_EXCEPTION_H
#define BPF_ABI_EXCEPTION_H

#include "addr.h"

#define SIXLANE_MAX_EXCEPTIONS 262144u		/* never preallocated; of these at most … */
#define SIXLANE_MAX_KERNEL_EXCEPTIONS 131072u	/* … the kernel's … */
#define SIXLANE_MAX_OPERATOR_EXCEPTIONS 131072u /* … and the operator's */

/*
 * Every destination with an exception is in sl_punted. If it is also in sl_exceptions, XDP applies
 * that ("exact"); if not, its packets are passed ("punt"). Destinations in sl_fresh are passed,
 * too, until the daemon has read their exceptions. The key is the destination alone, whatever the
 * table.
 */

/* --- sl_exceptions: PERCPU_HASH, key sixlane_addr, value sixlane_exception --------------- */

#define SIXLANE_EXCEPTION_MTU (1u << 0)
#define SIXLANE_EXCEPTION_NEXT_HOP (1u << 1)
/* As of a route with `mtu lock`: checked by ip6_forward(), otherwise by ip6_finish_output(). */
#define SIXLANE_EXCEPTION_LOCKED (1u << 2)
#define SIXLANE_EXCEPTION_OBSERVE (1u << 3) /* counted and not applied */
/* Its origin. */
#define SIXLANE_EXCEPTION_KERNEL (1u << 4)
#define SIXLANE_EXCEPTION_OPERATOR (1u << 5)
#define SIXLANE_EXCEPTION_CHANGING (1u << 6) /* half written: pass */
#define SIXLANE_EXCEPTION_VERSION_SHIFT 16
#define SIXLANE_EXCEPTION_VERSION (0xffffu << SIXLANE_EXCEPTION_VERSION_SHIFT)

/*
 * An exception of one destination from its route. Each CPU has a copy. The copies differ only in
 * the last three fields, which the datapath writes: a hit dirties no cache line of another CPU.
 *
 * While a packet reads a value, the kernel may copy a new one over it word by word, or give its
 * memory to another destination. So a packet reads flags and mtu (one word) first and again at the
 * end. It is passed if they have changed, if check does not match its key, or if _CHANGING is set.
 * The version in flags changes with every change of more than one word.
 */
struct sixlane_exception {
	__u32 flags;	/* SIXLANE_EXCEPTION_* */
	__u32 mtu;	/* bytes, at least 1280, with _MTU */
	__u32 next_hop; /* id, with _NEXT_HOP */
	__u32 check;	/* sixlane_exception_check() of the key */
	__u32 table;	/* only for packets whose route is in this table */
	__u32 reserved;
	/* CLOCK_MONOTONIC; 0: never. An expired exception of the kernel passes its packets; one of
	 * the operator, or one that is only counted, is ignored. */
	__u64 expires_ns;
	__u64 added_ns; /* CLOCK_MONOTONIC; of an operator's: time of the command */
	__u64 hits;	/* packets that found it, applied or not */
	__u64 bytes;	/* of these, with the Ethernet header */
	__u64 used_ns;	/* time of the last one, CLOCK_MONOTONIC_COARSE */
};
_Static_assert(sizeof(struct sixlane_exception) == 64, "layout is ABI");
_Static_assert(__builtin_offsetof(struct sixlane_exception, flags) == 0, "one word with mtu");

/* Hash of an address. Addresses that differ in any few bits differ in both halves of it. */
static inline __u64 sixlane_exception_sum(const union sixlane_addr *dst)
{
	const __u64 odd = 0x9e3779b97f4a7c15ull;
	__u64 sum = dst->halves[0];

	/* addresses differ most in their last bytes, which may be the highest ones here */
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
 * A Bloom filter of destinations. It is checked if the route has SIXLANE_ROUTE_EXCEPTIONS or if
 * SIXLANE_META_CHECK_PUNTED is set. If all bits of a destination are set, it is looked up in
 * sl_exceptions, and punted if it is not there.
 *
 * The daemon sets the bits before the route's flag; for an exception of the operator, after its
 * entry. Single bits are never cleared: the daemon replaces the filter as a whole. So a destination
 * whose entry is deleted is punted until then.
 *
 * The first bit is in a page that stays in the L1 cache: while few destinations have exceptions, it
 * is all that others cost. The other two bits tell many destinations apart.
 */
#define SIXLANE_PUNTED_NUMBERS 3u
#define SIXLANE_PUNTED_FEW (1u << 15) /* 4 KiB: 2,048 destinations set 6 % of the bits */
/* 512 KiB. False positives: 1 in 1,000 with 65,536 destinations, 1 in 500 with 100,000. */
#define SIXLANE_PUNTED_MANY (1u << 22)
#define SIXLANE_PUNTED_BITS (SIXLANE_PUNTED_FEW + SIXLANE_PUNTED_MANY)
#define SIXLANE_PUNTED_WORDS (SIXLANE_PUNTED_BITS / 64)

/*
 * One of a destination's bits. sum: its sixlane_exception_sum(). number: below
 * SIXLANE_PUNTED_NUMBERS. Each number uses other bits of the sum: with shared bits, crafted
 * destinations could punt many others.
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
 * Destinations of ICMPv6 messages that the daemon has not processed yet. With
 * SIXLANE_META_CHECK_PUNTED they are punted.
 *
 * A Bloom filter as sl_punted, but of bytes: to set a bit needs an atomic operation that some
 * kernels lack on arm64. It has two halves, whose bytes alternate. The program stores to the half
 * that sl_meta names, while the daemon clears the other one.
 *
 * The last word is two __u32, the number of destinations in each half. A half is full with
 * SIXLANE_FRESH_MOST; its false positives are then 1 in 1,000.
 */
#define SIXLANE_FRESH_NUMBERS 3u
#define SIXLANE_FRESH_FEW (1u << 12)  /* 8 KiB */
#define SIXLANE_FRESH_MANY (1u << 18) /* 512 KiB */
#define SIXLANE_FRESH_HALVES 2u
#define SIXLANE_FRESH_BYTES ((SIXLANE_FRESH_FEW + SIXLANE_FRESH_MANY) * SIXLANE_FRESH_HALVES)
#define SIXLANE_FRESH_COUNTS (SIXLANE_FRESH_BYTES / 8) /* index of the last word */
#define SIXLANE_FRESH_WORDS (SIXLANE_FRESH_COUNTS + 1)
#define SIXLANE_FRESH_MOST 4096u

/* A destination's byte in half 0; that in half 1 is the next one. Arguments as above. */
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
 * Exceptions of `sixlane exception add`. The CLI writes them and increments operator_changes of
 * sl_meta; the daemon, as soon as one runs, writes sl_exceptions. The datapath never reads them.
 */
struct sixlane_operator {
	__u32 mtu;		    /* bytes; 0: none */
	__u32 table;		    /* as in struct sixlane_exception */
	union sixlane_addr gateway; /* if there is a device */
	char device[16];	    /* name; empty: keep the route's next hop */
	__u64 expires_ns;	    /* CLOCK_MONOTONIC; 0: never */
	__u64 added_ns;		    /* CLOCK_MONOTONIC; different for each change */
};
_Static_assert(sizeof(struct sixlane_operator) == 56, "layout is ABI");

/* --- sl_icmp_events: RINGBUF of sixlane_icmp_event ------------------------------------------- */

#define SIXLANE_ICMP_EVENTS_BYTES 262144u

#define SIXLANE_ICMP6_TOO_BIG 2u /* ICMPv6 types */
#define SIXLANE_ICMP6_ROUTER_ADVERT 134u
#define SIXLANE_ICMP6_REDIRECT 137u

/* An ICMPv6 message to this machine that may have changed an exception or the lifetime of a route.
 */
struct sixlane_icmp_event {
	union sixlane_addr
		dst;   /* of the packet that the message is about; 0 for an advertisement */
	__u32 ifindex; /* of the ingress device */
	__u32 type;    /* SIXLANE_ICMP6_* */
};
_Static_assert(sizeof(struct sixlane_icmp_event) == 24, "layout is ABI");

#endif
