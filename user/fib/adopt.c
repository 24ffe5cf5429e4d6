// SPDX-License-Identifier: GPL-2.0-only
/*
 * See fib.h. First everything is recorded, so that no id, slot or bucket in use is given to others.
 * Then fib_adopt_end() interprets the next hops that routes lead to, parts before what names them.
 *
 * Invariant: afterwards a next hop is either valid, and all that its entry leads to is referenced,
 * or its entry is a punt, written before any id, slot or bucket is taken. Groups and
 * source-specific tables have no key, since it is not known what they were made for: the next
 * synchronisation makes its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ipv6.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "fib.h"
#include "neigh.h"
#include "object.h"
#include "port.h"
#include "source.h"

/* --- recording -------------------------------------------------------------------------------- */

int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *content)
{
	struct fib_next_hop *next_hop;

	fib->adopted = true;
	if (!id || id >= SIXLANE_MAX_NEXT_HOPS)
		return -EINVAL;
	if (id == FIB_ID_FULL) /* written by fib_new() already */
		return 0;
	next_hop = fib_next_hop_adopt(fib, id);
	if (!next_hop)
		return -ENOMEM;
	next_hop->content = *content;
	return 0;
}

static bool key_is_sane(const struct sixlane_route_key *key)
{
	return key->prefix_len >= SIXLANE_TABLE_BITS && key->prefix_len <= SIXLANE_TABLE_BITS + 128;
}

static int keep_orphan(struct fib *fib, const struct sixlane_route_key *key)
{
	size_t bytes = (fib->n_orphans + 1) * sizeof(*fib->orphans);
	struct sixlane_route_key *orphans = realloc(fib->orphans, bytes);

	if (!orphans)
		return -ENOMEM;
	orphans[fib->n_orphans++] = *key;
	fib->orphans = orphans;
	return -EINVAL;
}

/* An entry that punts may lack its flag, since the write that should set it may have failed. */
static void adopt_flag(struct fib *fib, struct fib_entry *entry, bool flag,
		       const struct fib_next_hop *next_hop)
{
	entry->flag_written = flag;
	entry->flag = flag || next_hop->id == FIB_ID_FULL ||
		      next_hop->content.nh_entry.type == SIXLANE_PUNT_MAP_FULL;
	fib->any_flag |= entry->flag;
	fib->flag_uncovered |= entry->flag;
}

int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	struct prefix prefix = { .addr = key->addr };
	struct fib_next_hop *next_hop;
	struct fib_entry *entry;
	struct fib_table *table;

	fib->adopted = true;
	if (!key_is_sane(key))
		return keep_orphan(fib, key);
	prefix.len = (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS);
	prefix_mask(&prefix);
	table = fib_table_get(fib, ntohl(key->table));
	if (!table)
		return -ENOMEM;
	if (radix_find(&table->entries, &prefix))
		return -EINVAL;
	next_hop = fib_next_hop_adopt(fib, sixlane_route_next_hop(value));
	entry = next_hop ? fib_entry_new(fib, table, &prefix) : NULL;
	if (!entry)
		return -ENOMEM;
	adopt_flag(fib, entry, value & SIXLANE_ROUTE_EXCEPTIONS, next_hop);
	entry->unrecognised = (value & ~SIXLANE_ROUTE_EXCEPTIONS) !=
			      sixlane_route_value(next_hop->id, prefix.len);
	next_hop->named++;
	entry->written = next_hop->id;
	fib->n_written++;
	return entry->unrecognised ? -EINVAL : 0;
}

/* The table of an id, with room for one entry more. NULL: no memory. */
static struct fib_source_table *grow_table(struct fib *fib, uint32_t id)
{
	struct fib_source_table *table = fib_hash_find(&fib->source_tables, &id), *grown;
	size_t n = table ? table->n : 0;

	if (table && n & (n - 1)) /* not at a power of two */
		return table;
	if (table)
		fib_hash_remove(&fib->source_tables, table);
	grown = realloc(table, sizeof(*table) + (n ? 2 * n : 1) * sizeof(table->entries[0]));
	if (grown && !table) /* dying: until a next hop is found to lead to it */
		*grown = (struct fib_source_table){ .id = id, .dying = true };
	if (grown)
		table = grown;
	if (table)
		fib_hash_insert(&fib->source_tables, table);
	return grown;
}

int fib_adopt_source(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	struct fib_next_hop *next_hop = fib_next_hop_adopt(fib, sixlane_route_next_hop(value));
	const uint32_t len = sixlane_route_len(value);
	struct fib_source_table *table = NULL;
	bool sane;

	fib->adopted = true;
	if (next_hop)
		table = grow_table(fib, ntohl(key->table));
	if (!table)
		return -ENOMEM;
	sane = key_is_sane(key) && value == sixlane_route_value(next_hop->id, len) && len <= 128;
	next_hop->named++;
	table->entries[table->n++] = (struct fib_source_entry){
		.key = *key,
		.id = next_hop->id,
		.dst_len = sane ? len : UINT32_MAX,
	};
	fib->n_sources++;
	return sane ? 0 : -EINVAL;
}

/* --- interpreting ----------------------------------------------------------------------------- */

static bool has(const struct fib_next_hop *next_hop, uint32_t flag)
{
	return next_hop->content.flags & flag;
}

/* Of every kind of next hop. */
static bool content_is_sane(const struct sixlane_next_hop *content)
{
	const uint32_t known =
		SIXLANE_NEXT_HOP_OBJECT | SIXLANE_NEXT_HOP_LOCKED | SIXLANE_NEXT_HOP_NO_ANSWER;

	if (content->flags & ~known || (content->mtu && content->mtu < IPV6_MIN_MTU))
		return false;
	if (content->flags & SIXLANE_NEXT_HOP_LOCKED && !content->mtu)
		return false;
	if (!(content->flags & SIXLANE_NEXT_HOP_OBJECT))
		return !content->reserved;
	return content->reserved && content->reserved <= UINT32_MAX;
}

/* Reference the port and the neighbour that a forwarding entry names. False: they do not exist. */
static bool interpret_hop(struct fib *fib, struct fib_next_hop *next_hop, struct fib_key_hop *hop)
{
	const union sixlane_nh_entry nh_entry = next_hop->content.nh_entry;
	const struct fib_neigh *neigh = NULL;
	const struct fib_port *port =
		nh_entry.port < SIXLANE_MAX_PORTS ? fib->port_by_slot[nh_entry.port] : NULL;

	if (!port)
		return false;
	*hop = (struct fib_key_hop){ .ifindex = port->port.ifindex };
	if (nh_entry.neighbour) {
		if (nh_entry.neighbour < SIXLANE_MAX_NEIGHBOURS)
			neigh = fib->neigh_by_slot[nh_entry.neighbour];
		if (!neigh || neigh->key.ifindex != hop->ifindex)
			return false;
		hop->gateway = neigh->key.addr;
		hop->has_gateway = 1;
		next_hop->neigh = fib_neigh_get(fib, hop->ifindex, &hop->gateway);
	}
	next_hop->port = fib_port_get(fib, hop->ifindex);
	return true;
}

static bool interpret_leaf(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct sixlane_next_hop *content = &next_hop->content;
	const union sixlane_nh_entry nh_entry = content->nh_entry;
	struct fib_leaf_key leaf;
	struct fib_key_hop hop;

	if (nh_entry.type >= SIXLANE_N_VERDICTS ||
	    (content->expires_ns && !has(next_hop, SIXLANE_NEXT_HOP_OBJECT)))
		return false;
	if (nh_entry.type == SIXLANE_FORWARD) {
		if (!interpret_hop(fib, next_hop, &hop))
			return false;
		leaf = fib_key_of_hop(&hop);
		fib_key_set_mtu(&leaf.key, content->mtu, has(next_hop, SIXLANE_NEXT_HOP_LOCKED));
		leaf.key.own_source = has(next_hop, SIXLANE_NEXT_HOP_NO_ANSWER);
	} else {
		if (nh_entry.port || nh_entry.neighbour)
			return false;
		/* Others than FIB_ID_FULL were punted in place. */
		if (nh_entry.type == SIXLANE_PUNT_MAP_FULL ||
		    (content->mtu && !has(next_hop, SIXLANE_NEXT_HOP_OBJECT)))
			return false;
		leaf = fib_key_of_verdict(nh_entry.type);
	}
	if (!has(next_hop, SIXLANE_NEXT_HOP_OBJECT))
		memcpy(&next_hop->key, &leaf, leaf.key.bytes);
	return true;
}

/* Reference a member as often as a bucket of the group names it. */
static bool adopt_members(struct fib *fib, struct fib_group *group)
{
	for (uint32_t i = 0; i < 2 * group->n_buckets; i++) {
		const union sixlane_nh_bucket *bucket =
			&fib->written_buckets[group->first_bucket + i / 2];
		struct fib_next_hop *member = fib->by_id[i % 2 ? bucket->above : bucket->below];

		if (!member || !member->valid ||
		    member->content.nh_entry.type >= SIXLANE_NH_GROUP ||
		    has(member, SIXLANE_NEXT_HOP_OBJECT))
			return false;
		member->refs++;
		group->members[group->n_members++] = member;
	}
	return true;
}

static bool interpret_group(struct fib *fib, struct fib_next_hop *next_hop, struct fib_hash *groups)
{
	const union sixlane_nh_entry nh_entry = next_hop->content.nh_entry;
	const uint32_t first_bucket = nh_entry.first_bucket;
	struct fib_group *group = groups->buckets ? fib_hash_find(groups, &first_bucket) : NULL;

	/* Routes by one object share its group, whatever their MTUs. */
	if (group && group->n_buckets != nh_entry.n_buckets)
		group = NULL;
	if (group) {
		group->refs++;
		next_hop->group = group;
		return true;
	}
	if (nh_entry.type == SIXLANE_NH_EQUAL_METRIC &&
	    nh_entry.n_buckets > SIXLANE_MAX_EQUAL_METRIC)
		return false;
	if (!fib->adopted_buckets ||
	    !fib_ids_adopt(&fib->buckets, first_bucket, nh_entry.n_buckets))
		return false;
	memcpy(&fib->written_buckets[first_bucket], &fib->adopted_buckets[first_bucket],
	       nh_entry.n_buckets * sizeof(*fib->written_buckets));
	group = calloc(1, sizeof(*group) + 2u * nh_entry.n_buckets * sizeof(group->members[0]));
	if (!group) {
		fib_ids_give(&fib->buckets, first_bucket, nh_entry.n_buckets);
		return false;
	}
	group->refs = 1;
	group->first_bucket = first_bucket;
	group->n_buckets = nh_entry.n_buckets;
	if (!adopt_members(fib, group)) {
		fib_group_put(fib, group);
		return false;
	}
	if (groups->buckets)
		fib_hash_insert(groups, group);
	next_hop->group = group;
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	uint32_t p = ((const struct fib_source_entry *)a)->key.prefix_len;
	uint32_t q = ((const struct fib_source_entry *)b)->key.prefix_len;

	return p < q ? -1 : p > q;
}

static bool interpret_sources(struct fib *fib, struct fib_next_hop *next_hop)
{
	const uint32_t id = next_hop->content.nh_entry.source_table;
	struct fib_source_table *table = fib_hash_find(&fib->source_tables, &id);

	if (!table || !table->dying || has(next_hop, SIXLANE_NEXT_HOP_OBJECT))
		return false;
	for (size_t i = 0; i < table->n; i++) {
		const struct fib_next_hop *to = fib->by_id[table->entries[i].id];

		if (table->entries[i].dst_len > 128 || !to->valid ||
		    to->content.nh_entry.type == SIXLANE_NH_SOURCES)
			return false;
	}
	table->dying = false;
	next_hop->sources = table;
	return true;
}

static bool interpret(struct fib *fib, struct fib_next_hop *next_hop, struct fib_hash *groups)
{
	switch (next_hop->content.nh_entry.type) {
	case SIXLANE_NH_GROUP:
	case SIXLANE_NH_EQUAL_METRIC:
		return next_hop->named && interpret_group(fib, next_hop, groups);
	case SIXLANE_NH_SOURCES:
		return next_hop->named && interpret_sources(fib, next_hop);
	default:
		return interpret_leaf(fib, next_hop);
	}
}

/* Leaves come first, then groups, which lead to leaves, then sources, which lead to either. */
static uint32_t pass_of(const struct fib_next_hop *next_hop)
{
	uint32_t type = next_hop->content.nh_entry.type;

	if (type == SIXLANE_NH_SOURCES)
		return 2;
	return type == SIXLANE_NH_GROUP || type == SIXLANE_NH_EQUAL_METRIC;
}

static void interpret_pass(struct fib *fib, uint32_t pass, struct fib_hash *groups)
{
	for (uint32_t id = FIB_ID_FULL + 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		struct fib_next_hop *next_hop = fib->by_id[id];

		if (next_hop && pass_of(next_hop) == pass && content_is_sane(&next_hop->content))
			next_hop->valid = interpret(fib, next_hop, groups);
	}
}

/*
 * Find the key of a next hop, now that all parts are known. Of two with the same key the first
 * serves new routes; the other lives as long as adopted routes name it.
 */
static void set_key(struct fib *fib, struct fib_next_hop *next_hop)
{
	struct fib_object_state *object = NULL;
	struct fib_leaf_key leaf;

	if (!next_hop->valid) {
		fib_write_word(fib, FIB_MAP_NEXT_HOPS, next_hop->id,
			       fib_verdict_entry(SIXLANE_PUNT_MAP_FULL).word);
		return;
	}
	if (has(next_hop, SIXLANE_NEXT_HOP_OBJECT)) {
		leaf = fib_key_of_object((uint32_t)next_hop->content.reserved,
					 next_hop->content.expires_ns);
		fib_key_set_mtu(&leaf.key, next_hop->content.mtu,
				has(next_hop, SIXLANE_NEXT_HOP_LOCKED));
		leaf.key.own_source = has(next_hop, SIXLANE_NEXT_HOP_NO_ANSWER);
		if (!fib_hash_find(&fib->next_hops, &leaf.key))
			object = fib_object_get(fib, leaf.key.object);
		if (!object)
			return;
		memcpy(&next_hop->key, &leaf, leaf.key.bytes);
		fib_object_attach(fib, object, next_hop);
	}
	if (next_hop->key.bytes && !fib_hash_find(&fib->next_hops, &next_hop->key))
		fib_next_hop_insert(fib, next_hop);
}

static void interpret_next_hops(struct fib *fib)
{
	struct fib_hash groups;

	/* Without memory, groups that would be shared are punted. */
	(void)fib_hash_init(&groups, offsetof(struct fib_group, first_bucket), sizeof(uint32_t));
	for (uint32_t pass = 0; pass <= 2; pass++)
		interpret_pass(fib, pass, &groups);
	free(groups.buckets);
	/* Next hops that nothing leads to are leftovers. */
	for (uint32_t id = FIB_ID_FULL + 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (fib->by_id[id])
			fib_next_hop_queue_if_unused(fib, fib->by_id[id]);
	}
	fib_next_hop_free_unused(fib);
	for (uint32_t id = FIB_ID_FULL + 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (fib->by_id[id])
			set_key(fib, fib->by_id[id]);
	}
}

/*
 * A route with a valid next hop keeps it until a synchronisation. A prefix that was punted for lack
 * of room may still cover prefixes that are missing, so it stays punted until then.
 */
static void keep_next_hop(struct fib *fib, struct fib_entry *entry)
{
	struct fib_next_hop *next_hop = fib->by_id[entry->written];

	if (!next_hop->valid)
		return;
	entry->next_hop = next_hop;
	next_hop->refs++;
	if (next_hop != fib->full)
		return;
	entry->stale = true;
	fib->incomplete = true;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The ids and slots that the maps use are taken; all others wait for a grace period. */
static void adopt_ids(struct fib *fib)
{
	fib_ids_adopt_all(&fib->port_ids);
	fib_ids_adopt_all(&fib->neigh_ids);
	fib_ids_adopt_all(&fib->next_hop_ids);
	fib_ids_adopt_all(&fib->source_ids);
	fib_ids_adopt_all(&fib->buckets);
	for (uint32_t slot = 0; slot < SIXLANE_MAX_PORTS; slot++)
		fib_ids_adopt(&fib->port_ids, slot, fib->port_by_slot[slot] != NULL);
	for (uint32_t slot = 0; slot < SIXLANE_MAX_NEIGHBOURS; slot++)
		fib_ids_adopt(&fib->neigh_ids, slot, fib->neigh_by_slot[slot] != NULL);
	for (uint32_t id = 0; id < SIXLANE_MAX_NEXT_HOPS; id++)
		fib_ids_adopt(&fib->next_hop_ids, id, fib->by_id[id] != NULL);
	FIB_HASH_EACH(struct fib_source_table, table, &fib->source_tables)
		fib_ids_adopt(&fib->source_ids, table->id, 1);
}

void fib_adopt_end(struct fib *fib, const union sixlane_nh_bucket *buckets)
{
	if (!fib->adopted)
		return;
	/* Before interpreting, which gives back what is of no use. */
	adopt_ids(fib);
	fib->adopted_buckets = buckets;
	FIB_HASH_EACH(struct fib_source_table, table, &fib->source_tables)
		qsort(table->entries, table->n, sizeof(table->entries[0]), compare_entries);
	interpret_next_hops(fib);
	fib_entry_each(fib, keep_next_hop);
	fib->adopted_buckets = NULL;
	fib->unswept = true;
}
