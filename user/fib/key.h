/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A target as canonical bytes: two targets that mean the same are the same bytes, so that next
 * hops can be found by what they mean. Hops of a hashed set stand in one order, whatever the order
 * that they were told in, so that a flow keeps its member. Pure. Private to fib/.
 */
#ifndef USER_FIB_KEY_H
#define USER_FIB_KEY_H

#include "target.h"

struct fib_key_hop {
	union sixlane_addr gateway; /* zero without */
	uint32_t ifindex;	    /* 0: discards, and all else is zero */
	uint32_t has_gateway;
	uint32_t zero;
	uint32_t weight; /* 0 where it does not count. Last: what is before it tells hops apart */
};

/* What follows: n struct fib_key_hop, or n times a struct fib_key_source and its target's key. */
struct fib_key {
	uint32_t bytes; /* of all this, with what follows */
	uint32_t kind;	/* enum fib_kind; FIB_ONE: at most one hop, and no expiry */
	uint32_t verdict;
	uint32_t mtu;
	uint64_t expires_ns;
	uint32_t object;
	uint32_t n;
	uint32_t mtu_locked;
	uint32_t own_source;
};

struct fib_key_source {
	union sixlane_addr addr;
	uint32_t len, dst_len;
};

_Static_assert(sizeof(struct fib_key_hop) == 32 && sizeof(struct fib_key) == 40 &&
		       sizeof(struct fib_key_source) == 24,
	       "keys are compared as bytes: no padding");

/* The key of a member of a group, or of any target without kind. */
struct fib_leaf_key {
	struct fib_key key;
	struct fib_key_hop hop;
};

struct fib_key_buffer {
	uint8_t *bytes;
	size_t used, size;
};

/* In the buffer, until the next call with it. NULL: no memory. */
const struct fib_key *fib_key_make(struct fib_key_buffer *buffer, const struct fib_target *target);
void fib_key_buffer_free(struct fib_key_buffer *buffer);

struct fib_key_hop fib_key_hop(const struct fib_hop *hop);
/* They are the same, whatever their weights. */
bool fib_key_hop_is(const struct fib_key_hop *a, const struct fib_key_hop *b);
/* A hop alone, as members of groups are: without its weight. */
void fib_key_of_hop(struct fib_leaf_key *out, const struct fib_key_hop *hop);
void fib_key_of_verdict(struct fib_leaf_key *out, uint32_t verdict);
void fib_key_of_object(struct fib_leaf_key *out, uint32_t object, uint64_t expires_ns);
/* 0: none. */
void fib_key_set_mtu(struct fib_key *key, uint32_t mtu, bool locked);

static inline const struct fib_key_hop *fib_key_hops(const struct fib_key *key)
{
	return (const struct fib_key_hop *)(key + 1);
}

/* Sources, one after the other: source to its target, and from there to the next source. */
static inline const struct fib_key_source *fib_key_first_source(const struct fib_key *key)
{
	return (const struct fib_key_source *)(key + 1);
}

static inline const struct fib_key *fib_key_of_source(const struct fib_key_source *source)
{
	return (const struct fib_key *)(source + 1);
}

static inline const struct fib_key_source *fib_key_next_source(const struct fib_key_source *source)
{
	const struct fib_key *key = fib_key_of_source(source);

	return (const struct fib_key_source *)((const uint8_t *)key + key->bytes);
}

#endif
