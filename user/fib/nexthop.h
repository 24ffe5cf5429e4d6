/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next hops: the table of them by key and by id, their reference counts, and their entries in
 * sl_next_hops. Knows nothing of prefixes. nexthop.c makes the leaves, which are verdicts and
 * single hops; parts.c makes the others, and frees all.
 *
 * A next hop is referenced (refs) by prefixes, groups, source tables and exceptions, and named
 * (named) by entries of the tries. Without either it goes to fib->unused, for
 * fib_next_hop_free_unused().
 *
 * The key of a next hop is its target as canonical bytes: two targets that mean the same have equal
 * keys. Hops of a hashed group are sorted, so that a flow keeps its member whatever the order in
 * which the kernel lists them.
 *
 * Punted in place: a route names the next hop, should not, and cannot be changed. Until it can, the
 * entry is PUNT_MAP_FULL. That is one store, safe at any moment.
 */
#ifndef USER_FIB_NEXTHOP_H
#define USER_FIB_NEXTHOP_H

#include "desired.h"
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

/* Valid until the next call with this buffer. NULL: no memory. */
const struct fib_key *fib_key_make(struct fib_key_buffer *buffer, const struct fib_target *target);

struct fib_key_hop fib_key_hop(const struct fib_hop *hop);
/* The key of a hop alone, without its weight. */
struct fib_leaf_key fib_key_of_hop(const struct fib_key_hop *hop);
struct fib_leaf_key fib_key_of_verdict(uint32_t verdict);
struct fib_leaf_key fib_key_of_object(uint32_t object, uint64_t expires_ns);
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

struct fib_next_hop {
	struct fib_hash_node node;	 /* by key, if hashed */
	struct fib_list retry;		 /* in fib->retry */
	struct fib_list unused;		 /* in fib->unused */
	struct sixlane_next_hop content; /* as written, unless punted in place */
	/* The parts that the entry leads to: */
	struct fib_port *port;
	struct fib_neigh *neigh;
	struct fib_group *group;
	struct fib_source_table *sources;
	struct fib_object_state *object; /* its entry is that of this object */
	struct fib_next_hop *next_user;	 /* of the same object */
	uint32_t id;			 /* 0: none */
	uint32_t refs, named;
	uint32_t stuck; /* of named: entries that should not name it and could not be changed */
	bool hashed;
	bool pending;
	bool valid; /* false: adopted with contents that make no sense, so punted for good */
	struct fib_key key; /* last, with variable length; bytes 0: adopted, the key is not known */
};

/* A reference to the next hop with this key. NULL: there is none. */
struct fib_next_hop *fib_next_hop_find(struct fib *fib, const struct fib_key *key);
/* A new one without an id, with this key, hashed, and with one reference. NULL: no memory. */
struct fib_next_hop *fib_next_hop_new(struct fib *fib, const struct fib_key *key);
void fib_next_hop_insert(struct fib *fib, struct fib_next_hop *next_hop);
/* The next hop with an id found in the maps, allocated if there is none. NULL: no memory. */
struct fib_next_hop *fib_next_hop_adopt(struct fib *fib, uint32_t found);
/*
 * Take an id, write the entry, and queue a retry if something is missing. complete: the next hop
 * has all its parts. An incomplete leaf gets no id; the others do, so that their routes are written
 * only once. False: it has no id.
 */
bool fib_next_hop_publish(struct fib *fib, struct fib_next_hop *next_hop, bool complete,
			  union sixlane_nh_entry nh_entry);
void fib_next_hop_set_pending(struct fib *fib, struct fib_next_hop *next_hop, bool pending);

/* Get the port and the neighbour of a leaf, and publish it. */
void fib_leaf_fill(struct fib *fib, struct fib_next_hop *leaf);
/* A reference to the leaf with this key, which has an id. NULL: no memory or no room. */
struct fib_next_hop *fib_leaf_get(struct fib *fib, struct fib_leaf_key key);
/* Put the port and the neighbour, if any. */
void fib_leaf_put_parts(struct fib *fib, struct fib_next_hop *leaf);

/* Drop a reference. */
void fib_next_hop_unref(struct fib *fib, struct fib_next_hop *next_hop);
/* An entry of a trie that named the id old now names new; 0: none. */
void fib_next_hop_rename(struct fib *fib, uint32_t old, uint32_t new);
void fib_next_hop_queue_if_unused(struct fib *fib, struct fib_next_hop *next_hop);

/* Change the entry by one store, if it differs; it stays punted if it is punted in place. */
void fib_next_hop_set_entry(struct fib *fib, struct fib_next_hop *next_hop,
			    union sixlane_nh_entry nh_entry);
/* Punt in place, and undo that. Counted: each entry of a trie that cannot be changed calls once. */
void fib_next_hop_punt(struct fib *fib, uint32_t id);
void fib_next_hop_restore(struct fib *fib, uint32_t id);

/* --- parts.c: what next hops consist of, above leaves, groups, objects and source tables ------ */

/*
 * A reference to a new next hop with this key, which fib_next_hop_find() does not find. It may have
 * no id, or be pending. NULL: no memory.
 */
struct fib_next_hop *fib_next_hop_make(struct fib *fib, const struct fib_key *key);
/* Drop a reference, and free all that becomes unused. */
void fib_next_hop_put(struct fib *fib, struct fib_next_hop *next_hop);
/* Free the next hops in fib->unused, and those that become unused by that. */
void fib_next_hop_free_unused(struct fib *fib);
/* Try again to get what next hops lack. */
void fib_next_hop_retry(struct fib *fib);
/* For fib_free(): writes nothing. */
void fib_next_hop_free_all(struct fib *fib);

#endif
