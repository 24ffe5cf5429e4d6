/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exceptions of destinations (Path MTU, next hop), and the ICMPv6 messages that announce them. */
#ifndef BPF_ABI_EXCEPTION_H
#define BPF_ABI_EXCEPTION_H

#include "addr.h"

#define SIXLANE_MAX_EXCEPTIONS 262144u		/* never preallocated; of these at most … */
#define SIXLANE_MAX_KERNEL_EXCEPTIONS 131072u	/* … the kernel's … */
#define SIXLANE_MAX_OPERATOR_EXCEPTIONS 131072u /* … and the operator's */

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

#endif
