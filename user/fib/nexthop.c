// SPDX-License-Identifier: GPL-2.0-only
/* See nexthop.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grace.h"
#include "neigh.h"
#include "nexthop.h"
#include "port.h"
#include "write.h"

struct fib_next_hop *fib_next_hop_alloc(size_t key_bytes)
{
	size_t bytes = offsetof(struct fib_next_hop, key) + key_bytes;
	struct fib_next_hop *next_hop;

	next_hop = calloc(1, bytes > sizeof(*next_hop) ? bytes : sizeof(*next_hop));
	if (next_hop) {
		fib_list_init(&next_hop->retry);
		fib_list_init(&next_hop->unused);
	}
	return next_hop;
}

void fib_next_hop_insert(struct fib *fib, struct fib_next_hop *next_hop)
{
	fib_hash_insert(&fib->next_hops, next_hop);
	next_hop->hashed = true;
}

struct fib_next_hop *fib_next_hop_new(struct fib *fib, const struct fib_key *key)
{
	struct fib_next_hop *next_hop = fib_next_hop_alloc(key->bytes);

	if (!next_hop)
		return NULL;
	memcpy(&next_hop->key, key, key->bytes);
	next_hop->valid = true;
	next_hop->refs = 1;
	fib_next_hop_insert(fib, next_hop);
	return next_hop;
}

static void set_id(struct fib *fib, struct fib_next_hop *next_hop, uint32_t id)
{
	next_hop->id = id;
	fib->by_id[id] = next_hop;
	fib->n_ids++;
}

struct fib_next_hop *fib_next_hop_adopt(struct fib *fib, uint32_t found)
{
	/* An id out of range is no next hop: packets pass, as they do at FIB_ID_FULL. */
	uint32_t id = found && found < SIXLANE_MAX_NEXT_HOPS ? found : FIB_ID_FULL;
	struct fib_next_hop *next_hop = fib->by_id[id];

	if (next_hop)
		return next_hop;
	next_hop = fib_next_hop_alloc(sizeof(struct fib_leaf_key));
	if (next_hop)
		set_id(fib, next_hop, id);
	return next_hop;
}

void fib_next_hop_set_pending(struct fib *fib, struct fib_next_hop *next_hop, bool pending)
{
	fib->n_pending -= next_hop->pending;
	next_hop->pending = pending;
	fib->n_pending += pending;
}

static void write_all(struct fib *fib, struct fib_next_hop *next_hop,
		      union sixlane_nh_entry nh_entry)
{
	const struct fib_key *key = &next_hop->key;

	next_hop->content = (struct sixlane_next_hop){
		.nh_entry = nh_entry,
		.mtu = key->mtu,
		.flags = (key->kind == FIB_OBJECT ? SIXLANE_NEXT_HOP_OBJECT : 0) |
			 (key->mtu_locked ? SIXLANE_NEXT_HOP_LOCKED : 0) |
			 (key->own_source ? SIXLANE_NEXT_HOP_NO_ANSWER : 0),
		.expires_ns = key->expires_ns,
		.reserved = key->object, /* for the daemon that adopts the maps */
	};
	fib_write_store(fib, FIB_MAP_NEXT_HOPS, next_hop->id, &next_hop->content);
}

bool fib_next_hop_publish(struct fib *fib, struct fib_next_hop *next_hop, bool complete,
			  union sixlane_nh_entry nh_entry)
{
	uint32_t id = next_hop->id;

	fib_list_unlink(&next_hop->retry);
	if (!id && (complete || next_hop->key.kind != FIB_ONE))
		id = fib_take_id(fib, &fib->next_hop_pool);
	if (id && !next_hop->id) {
		set_id(fib, next_hop, id);
		write_all(fib, next_hop, nh_entry);
	} else if (complete && id) {
		fib_next_hop_set_entry(fib, next_hop, nh_entry);
	}
	fib_next_hop_set_pending(fib, next_hop, id && !complete);
	if (!id || !complete)
		fib_list_append(&fib->retry, &next_hop->retry);
	return id != 0;
}

/* --- leaves ----------------------------------------------------------------------------------- */

void fib_leaf_put_parts(struct fib *fib, struct fib_next_hop *leaf)
{
	if (leaf->neigh)
		fib_neigh_put(fib, leaf->neigh);
	if (leaf->port)
		fib_port_put(fib, leaf->port);
	leaf->neigh = NULL;
	leaf->port = NULL;
}

static bool get_port_and_neigh(struct fib *fib, struct fib_next_hop *leaf)
{
	const struct fib_key_hop *hop = fib_key_hops(&leaf->key);

	if (!leaf->key.n) /* a verdict */
		return true;
	leaf->port = fib_port_get(fib, hop->ifindex);
	if (leaf->port && hop->has_gateway)
		leaf->neigh = fib_neigh_get(fib, hop->ifindex, &hop->gateway);
	return leaf->port && (leaf->neigh || !hop->has_gateway);
}

void fib_leaf_fill(struct fib *fib, struct fib_next_hop *leaf)
{
	const bool complete = get_port_and_neigh(fib, leaf);
	const union sixlane_nh_entry nh_entry = {
		.type = (uint16_t)leaf->key.verdict,
		.port = leaf->port ? (uint16_t)leaf->port->slot : 0,
		.neighbour = leaf->neigh ? leaf->neigh->slot : 0,
	};

	if (!fib_next_hop_publish(fib, leaf, complete, nh_entry))
		fib_leaf_put_parts(fib, leaf);
}

struct fib_next_hop *fib_leaf_get(struct fib *fib, const struct fib_leaf_key *key)
{
	struct fib_next_hop *leaf = fib_hash_find(&fib->next_hops, &key->key);

	if (leaf)
		leaf->refs++;
	else
		leaf = fib_next_hop_new(fib, &key->key);
	if (leaf && !leaf->id)
		fib_leaf_fill(fib, leaf);
	if (!leaf || leaf->id)
		return leaf;
	fib_next_hop_unref(fib, leaf);
	return NULL;
}

/* --- references ------------------------------------------------------------------------------- */

void fib_next_hop_queue_if_unused(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->refs || next_hop->named)
		return;
	fib_list_unlink(&next_hop->unused);
	fib_list_append(&fib->unused, &next_hop->unused);
}

void fib_next_hop_unref(struct fib *fib, struct fib_next_hop *next_hop)
{
	next_hop->refs--;
	fib_next_hop_queue_if_unused(fib, next_hop);
}

void fib_next_hop_rename(struct fib *fib, uint32_t old, uint32_t new)
{
	if (new)
		fib->by_id[new]->named++;
	if (!old)
		return;
	fib->by_id[old]->named--;
	fib_next_hop_queue_if_unused(fib, fib->by_id[old]);
}

/* --- entries ---------------------------------------------------------------------------------- */

void fib_next_hop_set_entry(struct fib *fib, struct fib_next_hop *next_hop,
			    union sixlane_nh_entry nh_entry)
{
	if (next_hop->content.nh_entry.word == nh_entry.word)
		return;
	next_hop->content.nh_entry = nh_entry;
	if (!next_hop->stuck)
		fib_write_word(fib, FIB_MAP_NEXT_HOPS, next_hop->id, nh_entry.word);
}

void fib_next_hop_punt(struct fib *fib, uint32_t id)
{
	if (fib->by_id[id]->stuck++ == 0)
		fib_write_word(fib, FIB_MAP_NEXT_HOPS, id,
			       fib_verdict_entry(SIXLANE_PUNT_MAP_FULL).word);
}

void fib_next_hop_restore(struct fib *fib, uint32_t id)
{
	struct fib_next_hop *next_hop = fib->by_id[id];

	if (--next_hop->stuck == 0 && next_hop->valid)
		fib_write_word(fib, FIB_MAP_NEXT_HOPS, id, next_hop->content.nh_entry.word);
}
