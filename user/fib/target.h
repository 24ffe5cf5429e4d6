/* SPDX-License-Identifier: GPL-2.0-only */
/* What a prefix leads to: the result of resolve/, and the input of fib_set(). Plain values. */
#ifndef USER_FIB_TARGET_H
#define USER_FIB_TARGET_H

#include <stddef.h>

#include "../rib/prefix.h"

enum fib_kind {
	FIB_ONE,	  /* hops[0] */
	FIB_HASHED,	  /* one of hops, by hash and weight */
	FIB_EQUAL_METRIC, /* hops[0], unless one is by the ingress port: SIXLANE_NH_EQUAL_METRIC */
	FIB_OBJECT,	  /* what object means, now and later: fib_set_object() */
	FIB_SOURCES,	  /* one of sources, by the source address */
};

struct fib_hop {
	union sixlane_addr gateway; /* if has_gateway */
	uint32_t ifindex;	    /* egress device; 0: the hop discards (DROP_BLACKHOLE) */
	uint32_t weight;	    /* of FIB_HASHED, 1 to 65536 */
	bool has_gateway;	    /* false: on-link */
};

struct fib_target {
	enum sixlane_verdict verdict; /* SIXLANE_FORWARD: see kind; else the rest is 0 */
	enum fib_kind kind;
	uint32_t mtu;	 /* the route's, in bytes, locked or not (ip6_finish_output); 0: none */
	bool mtu_locked; /* ip6_forward takes it instead of the device's */
	bool own_source; /* SIXLANE_NEXT_HOP_NO_ANSWER; ignored with several hops of no object */
	uint64_t expires_ns; /* CLOCK_MONOTONIC; 0: never */
	uint32_t object;     /* id */
	size_t n_hops;
	const struct fib_hop *hops;
	size_t n_sources;
	const struct fib_source *sources;
};

/*
 * The target of packets whose longest matching source prefix is src. Exactly one source of a target
 * has ::/0. dst_len is the length of the route's own destination prefix, which may be shorter than
 * the prefix that is set. target.kind is not FIB_SOURCES.
 */
struct fib_source {
	struct prefix src;
	uint8_t dst_len;
	struct fib_target target;
};

/* What a next-hop object means. */
struct fib_object {
	enum sixlane_verdict verdict; /* SIXLANE_FORWARD: by hops */
	size_t n_hops;		      /* one: as FIB_ONE, several: as FIB_HASHED */
	const struct fib_hop *hops;
	/* Of a resilient group: which hop each bucket belongs to. */
	size_t n_buckets; /* at most 65535; 0: by hash and weight */
	const uint16_t *buckets;
};

#endif
