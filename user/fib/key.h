/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The key of a next hop: a target as canonical bytes. Two targets that mean the same have equal
 * keys. Hops of a hashed group are sorted, so that a flow keeps its member whatever the order in
 * which the kernel lists them. Pure.
 */
#ifndef USER_FIB_KEY_H
#define USER_FIB_KEY_H

#include "target.h"

struct fib_key_hop {
	union sixlane_addr gateway; /* zero without */
	uint32_t ifindex;	    /* 0: discards, and all others are zero */
	uint32_t has_gateway;
	uint32_t zero;
	uint32_t weight; /* 0 where it is meaningless. Last: the fields before it identify a hop */
};

/* Followed by n struct fib_key_hop, or by n times a struct fib_key_source and its target's key. */
struct fib_key {
	uint32_t bytes; /* of all this, with what follows. First: see struct fib_hash */
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

/* The key of a leaf (a verdict or a single hop), or of any key without more than one hop. */
struct fib_leaf_key {
	struct fib_key key;
	struct fib_key_hop hop;
};

struct fib_key_buffer {
	uint8_t *bytes;
	size_t used, size;
};

/* Valid until the next call with this buffer. NULL: no memory. */
const struct fib_key *fib_key_make(struct fib_key_buffer *buffer, const struct fib_target *target);
void fib_key_buffer_free(struct fib_key_buffer *buffer);

struct fib_key_hop fib_key_hop(const struct fib_hop *hop);
/* Whether they are equal, regardless of weights. */
bool fib_key_hop_is(const struct fib_key_hop *a, const struct fib_key_hop *b);
/* The key of a hop alone, without its weight. */
void fib_key_of_hop(struct fib_leaf_key *out, const struct fib_key_hop *hop);
void fib_key_of_verdict(struct fib_leaf_key *out, uint32_t verdict);
void fib_key_of_object(struct fib_leaf_key *out, uint32_t object, uint64_t expires_ns);
/* 0: none. */
void fib_key_set_mtu(struct fib_key *key, uint32_t mtu, bool locked);

static inline const struct fib_key_hop *fib_key_hops(const struct fib_key *key)
{
	return (const struct fib_key_hop *)(key + 1);
}

/* Iterate: from a source to the key of its target, and from there to the next source. */
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
