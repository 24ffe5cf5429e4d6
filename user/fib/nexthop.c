// SPDX-License-Identifier: GPL-2.0-only
/*
 * See nexthop.h. In a key, fields that a verdict or a kind does not use are zero, a group of one
 * hop is that hop, and a target that the maps cannot express is a punt.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"

#include "fib.h"
#include "neigh.h"
#include "nexthop.h"
#include "port.h"

#define MAX_BUCKETS UINT16_MAX /* of a group: the width of its field in union sixlane_nh_entry */

/* Zeroed bytes at the end of the buffer. NULL: no memory. */
static void *append(struct fib_key_buffer *buffer, size_t bytes)
{
	size_t size = buffer->size ? buffer->size : 256;
	void *grown;

	while (size < buffer->used + bytes)
		size *= 2;
	if (size != buffer->size) {
		grown = realloc(buffer->bytes, size);
		if (!grown)
			return NULL;
		buffer->bytes = grown;
		buffer->size = size;
	}
	buffer->used += bytes;
	return memset(buffer->bytes + buffer->used - bytes, 0, bytes);
}

static struct fib_key *key_at(const struct fib_key_buffer *buffer, size_t at)
{
	return (struct fib_key *)(buffer->bytes + at);
}

struct fib_key_hop fib_key_hop(const struct fib_hop *hop)
{
	struct fib_key_hop out = { .ifindex = hop->ifindex, .weight = hop->weight };

	if (hop->ifindex && hop->has_gateway) {
		out.gateway = hop->gateway;
		out.has_gateway = 1;
	}
	return out;
}

/* --- hops ------------------------------------------------------------------------------------- */

static int compare_hops(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct fib_key_hop, weight));
}

/* Sort the hops and merge equal ones. Returns how many are left. */
static uint32_t merge_hops(struct fib_key_hop *hops, uint32_t n)
{
	uint32_t kept = 0;

	qsort(hops, n, sizeof(*hops), compare_hops);
	for (uint32_t i = 1; i < n; i++) {
		if (!compare_hops(&hops[kept], &hops[i]))
			hops[kept].weight += hops[i].weight;
		else
			hops[++kept] = hops[i];
	}
	return kept + 1;
}

/* Of a target that discards. Only a group can expire, and rules would take it for a route. */
static uint32_t verdict_of_discard(uint64_t expires_ns)
{
	return expires_ns ? SIXLANE_PUNT_EXPIRES : SIXLANE_DROP_BLACKHOLE;
}

/* A single hop that expires is a group, since only groups have an expiry. */
static void encode_one(struct fib_key *key, struct fib_key_hop *hop)
{
	if (!hop->ifindex) {
		*key = (struct fib_key){ .verdict = verdict_of_discard(key->expires_ns) };
		return;
	}
	key->n = 1;
	key->kind = key->expires_ns ? FIB_HASHED : FIB_ONE;
	hop->weight = key->expires_ns ? 1 : 0;
}

static int encode_hops(struct fib_key_buffer *buffer, size_t at, const struct fib_hop *hops,
		       uint32_t n)
{
	struct fib_key_hop *out = append(buffer, n * sizeof(*out));
	struct fib_key *key;

	if (!out)
		return -ENOMEM;
	key = key_at(buffer, at);
	for (uint32_t i = 0; i < n; i++) {
		out[i] = fib_key_hop(&hops[i]);
		if (key->kind == FIB_EQUAL_METRIC)
			out[i].weight = 0;
		else if (!out[i].weight)
			out[i].weight = 1;
	}
	key->n = key->kind == FIB_HASHED ? merge_hops(out, n) : n;
	if (key->n == 1)
		encode_one(key, out);
	/* With several hops the datapath asks the kernel for the source in any case. */
	if (key->kind != FIB_ONE)
		key->own_source = 0;
	buffer->used = at + sizeof(*key) + key->n * sizeof(*out);
	return 0;
}

/* --- sources ---------------------------------------------------------------------------------- */

static int encode(struct fib_key_buffer *buffer, const struct fib_target *target);

/* Shorter prefixes first: the order in which the entries of a table are deleted. */
static int compare_sources(const void *a, const void *b)
{
	const struct prefix *p = &(*(const struct fib_source *const *)a)->src;
	const struct prefix *q = &(*(const struct fib_source *const *)b)->src;

	if (p->len != q->len)
		return p->len < q->len ? -1 : 1;
	return memcmp(&p->addr, &q->addr, sizeof(p->addr));
}

static int encode_sources(struct fib_key_buffer *buffer, const struct fib_source *sources,
			  uint32_t n)
{
	_cleanup_free_ const struct fib_source **order = calloc(n, sizeof(*order));
	struct fib_key_source *out;
	int err = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < n; i++)
		order[i] = &sources[i];
	if (!err)
		qsort(order, n, sizeof(*order), compare_sources);
	for (uint32_t i = 0; !err && i < n; i++) {
		out = append(buffer, sizeof(*out));
		if (!out)
			return -ENOMEM;
		out->addr = order[i]->src.addr;
		out->len = order[i]->src.len;
		out->dst_len = order[i]->dst_len;
		err = encode(buffer, &order[i]->target);
	}
	return err;
}

/* --- targets ---------------------------------------------------------------------------------- */

/* The verdict of a target; FORWARD if the maps can express it. */
static uint32_t verdict_of(const struct fib_target *target)
{
	if (target->verdict == SIXLANE_DROP_BLACKHOLE)
		return verdict_of_discard(target->expires_ns);
	if (target->verdict != SIXLANE_FORWARD || target->kind == FIB_OBJECT)
		return target->verdict;
	if (target->kind == FIB_SOURCES)
		return target->n_sources && target->n_sources < SIXLANE_MAX_SOURCES
			       ? SIXLANE_FORWARD
			       : SIXLANE_PUNT_SOURCE_ROUTE;
	if (!target->n_hops || target->n_hops > MAX_BUCKETS)
		return SIXLANE_PUNT_MULTIPATH;
	if (target->kind == FIB_EQUAL_METRIC && target->n_hops > SIXLANE_MAX_EQUAL_METRIC)
		return SIXLANE_PUNT_EQUAL_METRIC;
	return SIXLANE_FORWARD;
}

/* Append the target's key. */
static int encode(struct fib_key_buffer *buffer, const struct fib_target *target)
{
	struct fib_key *key = append(buffer, sizeof(*key));
	size_t at;
	int err = 0;

	if (!key)
		return -ENOMEM;
	at = (size_t)((uint8_t *)key - buffer->bytes);
	key->verdict = verdict_of(target);
	if (key->verdict == SIXLANE_FORWARD) {
		key->kind = target->kind;
		if (target->kind != FIB_SOURCES) {
			fib_key_set_mtu(key, target->mtu, target->mtu_locked);
			key->own_source = target->own_source;
			key->expires_ns = target->expires_ns;
		}
		if (target->kind == FIB_OBJECT) {
			key->object = target->object;
		} else if (target->kind == FIB_SOURCES) {
			key->n = (uint32_t)target->n_sources;
			err = encode_sources(buffer, target->sources, key->n);
		} else {
			err = encode_hops(buffer, at, target->hops,
					  target->kind == FIB_ONE ? 1 : (uint32_t)target->n_hops);
		}
	}
	key_at(buffer, at)->bytes = (uint32_t)(buffer->used - at);
	return err;
}

const struct fib_key *fib_key_make(struct fib_key_buffer *buffer, const struct fib_target *target)
{
	buffer->used = 0;
	return encode(buffer, target) ? NULL : key_at(buffer, 0);
}

void fib_key_set_mtu(struct fib_key *key, uint32_t mtu, bool locked)
{
	key->mtu = mtu;
	key->mtu_locked = mtu && locked;
}

struct fib_leaf_key fib_key_of_verdict(uint32_t verdict)
{
	return (struct fib_leaf_key){ .key = { .bytes = sizeof(struct fib_key),
					       .verdict = verdict } };
}

struct fib_leaf_key fib_key_of_hop(const struct fib_key_hop *hop)
{
	struct fib_leaf_key out = {
		.key = { .bytes = sizeof(out), .kind = FIB_ONE, .n = 1 },
		.hop = *hop,
	};

	out.hop.weight = 0;
	return hop->ifindex ? out : fib_key_of_verdict(SIXLANE_DROP_BLACKHOLE);
}

struct fib_leaf_key fib_key_of_object(uint32_t object, uint64_t expires_ns)
{
	return (struct fib_leaf_key){ .key = { .bytes = sizeof(struct fib_key),
					       .kind = FIB_OBJECT,
					       .expires_ns = expires_ns,
					       .object = object } };
}

/* --- the table -------------------------------------------------------------------------------- */

/* Without an id. NULL: no memory. */
static struct fib_next_hop *next_hop_alloc(size_t key_bytes)
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
	struct fib_next_hop *next_hop = next_hop_alloc(key->bytes);

	if (!next_hop)
		return NULL;
	memcpy(&next_hop->key, key, key->bytes);
	next_hop->valid = true;
	next_hop->refs = 1;
	fib_next_hop_insert(fib, next_hop);
	return next_hop;
}

struct fib_next_hop *fib_next_hop_find(struct fib *fib, const struct fib_key *key)
{
	struct fib_next_hop *next_hop = fib_hash_find(&fib->next_hops, key);

	if (next_hop)
		next_hop->refs++;
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
	next_hop = next_hop_alloc(sizeof(struct fib_leaf_key));
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
		id = fib_ids_take_one(fib, &fib->next_hop_ids);
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

uint32_t fib_port_slot(const struct fib *fib, uint32_t ifindex)
{
	const struct fib_port *port = fib_hash_find(&fib->ports, &ifindex);

	return port ? port->slot : 0;
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

struct fib_next_hop *fib_leaf_get(struct fib *fib, struct fib_leaf_key key)
{
	struct fib_next_hop *leaf =
		fib_next_hop_find(fib, &key.key) ?: fib_next_hop_new(fib, &key.key);

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
