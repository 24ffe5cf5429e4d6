// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an earlier daemon left in the maps. All of it is taken in first, so that nothing that is
 * named is given to others; then those next hops that routes lead to are understood, from the
 * named to what names it.
 *
 * Invariant: a next hop is either understood, and all that its next-hop entry leads to is
 * referenced, or its next-hop entry is a punt, written before any id, slot or bucket is given out.
 * Groups and sources are kept as they are, without knowing what they were made for: the next
 * synchronisation makes its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "exception.h"

/* --- taking in -------------------------------------------------------------------------------- */

/* An id out of range is no next hop: packets pass, as they do at the one for full maps. */
static uint32_t sane_id(uint32_t id)
{
	return id && id < SIXLANE_MAX_NEXT_HOPS ? id : FIB_ID_FULL;
}

struct fib_next_hop *fib_adopt_id(struct fib *fib, uint32_t found)
{
	uint32_t id = sane_id(found);
	struct fib_next_hop *next_hop = fib->by_id[id];

	if (next_hop)
		return next_hop;
	next_hop = fib_next_hop_alloc(sizeof(struct fib_leaf_key));
	if (next_hop)
		fib_next_hop_take_id(fib, next_hop, id);
	return next_hop;
}

int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *content)
{
	struct fib_next_hop *next_hop;

	fib->adopted = true;
	if (!id || id >= SIXLANE_MAX_NEXT_HOPS)
		return -EINVAL;
	if (id == FIB_ID_FULL) /* written by fib_new() already */
		return 0;
	next_hop = fib_adopt_id(fib, id);
	if (!next_hop)
		return -ENOMEM;
	next_hop->content = *content;
	return 0;
}

void fib_adopt_buckets(struct fib *fib, const union sixlane_nh_bucket *buckets)
{
	fib->adopted_buckets = buckets;
}

static bool key_is_sane(const struct sixlane_route_key *key)
{
	return key->prefix_len >= SIXLANE_TABLE_BITS && key->prefix_len <= SIXLANE_TABLE_BITS + 128;
}

static int keep_stray(struct fib *fib, const struct sixlane_route_key *key)
{
	size_t bytes = (fib->n_strays + 1) * sizeof(*fib->strays);
	struct sixlane_route_key *strays = realloc(fib->strays, bytes);

	if (!strays)
		return -ENOMEM;
	strays[fib->n_strays++] = *key;
	fib->strays = strays;
	return -EINVAL;
}

/* It waits for a write that failed, by which it may have had a mark. */
static bool is_waiting(const struct fib_next_hop *next_hop, uint32_t id)
{
	return id == FIB_ID_FULL || next_hop->content.nh_entry.type == SIXLANE_PUNT_MAP_FULL;
}

int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	struct prefix prefix = { .addr = key->addr };
	uint32_t id = sane_id(sixlane_route_next_hop(value));
	struct fib_next_hop *next_hop;
	struct fib_entry *entry;
	struct fib_table *table;

	fib->adopted = true;
	if (!key_is_sane(key))
		return keep_stray(fib, key);
	prefix.len = (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS);
	prefix_mask(&prefix);
	table = fib_table_get(fib, ntohl(key->table));
	if (!table)
		return -ENOMEM;
	if (radix_find(&table->entries, &prefix))
		return -EINVAL;
	next_hop = fib_adopt_id(fib, id);
	entry = next_hop ? fib_entry_new(fib, table, &prefix) : NULL;
	if (!entry)
		return -ENOMEM;
	fib_mark_adopt(fib, entry, value & SIXLANE_ROUTE_EXCEPTIONS, is_waiting(next_hop, id));
	entry->foreign = (value & ~SIXLANE_ROUTE_EXCEPTIONS) != sixlane_route_value(id, prefix.len);
	next_hop->named++;
	entry->written = id;
	fib->n_written++;
	return entry->foreign ? -EINVAL : 0;
}

/* The set of an id with room for one entry more; nobody's until a next hop claims it. */
static struct fib_set *grow_set(struct fib *fib, uint32_t id)
{
	struct fib_set *set = fib_set_find(fib, id), *grown;
	size_t n = set ? set->n : 0;

	if (set && n & (n - 1)) /* not at a power of two */
		return set;
	if (set)
		fib_hash_remove(&fib->sets, &set->node);
	grown = realloc(set, sizeof(*set) + (n ? 2 * n : 1) * sizeof(set->entries[0]));
	if (grown && !set) {
		*grown = (struct fib_set){ .id = id, .dying = true };
		fib->n_dying_sets++;
	}
	if (grown)
		set = grown;
	if (set)
		fib_hash_insert(&fib->sets, &set->node, fib_hash_of(&id, sizeof(id)));
	return grown;
}

int fib_adopt_source(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	uint32_t id = sane_id(sixlane_route_next_hop(value)), len = sixlane_route_len(value);
	bool sane = key_is_sane(key) && value == sixlane_route_value(id, len) && len <= 128;
	struct fib_next_hop *next_hop;
	struct fib_set *set;

	fib->adopted = true;
	next_hop = fib_adopt_id(fib, id);
	set = next_hop ? grow_set(fib, ntohl(key->table)) : NULL;
	if (!set)
		return -ENOMEM;
	next_hop->named++;
	set->entries[set->n++] = (struct fib_set_entry){
		.key = *key,
		.id = id,
		.dst_len = sane ? len : UINT32_MAX,
	};
	fib->n_sources++;
	return sane ? 0 : -EINVAL;
}

/* --- understanding ---------------------------------------------------------------------------- */

static bool is_object(const struct fib_next_hop *next_hop)
{
	return next_hop->content.flags & SIXLANE_NEXT_HOP_OBJECT;
}

static bool is_locked(const struct fib_next_hop *next_hop)
{
	return next_hop->content.flags & SIXLANE_NEXT_HOP_LOCKED;
}

static bool has_own_source(const struct fib_next_hop *next_hop)
{
	return next_hop->content.flags & SIXLANE_NEXT_HOP_NO_ANSWER;
}

/* What holds for all kinds. */
static bool content_is_sane(const struct sixlane_next_hop *content)
{
	const uint32_t known =
		SIXLANE_NEXT_HOP_OBJECT | SIXLANE_NEXT_HOP_LOCKED | SIXLANE_NEXT_HOP_NO_ANSWER;

	if (content->flags & ~known || (content->mtu && content->mtu < FIB_MIN_MTU))
		return false;
	if (content->flags & SIXLANE_NEXT_HOP_LOCKED && !content->mtu)
		return false;
	if (!(content->flags & SIXLANE_NEXT_HOP_OBJECT))
		return !content->reserved;
	return content->reserved && content->reserved <= UINT32_MAX;
}

/* What a next-hop entry that forwards leads to, if that is known. */
static bool adopt_hop(const struct fib *fib, union sixlane_nh_entry nh_entry,
		      struct fib_key_hop *hop)
{
	const struct fib_port *port = nh_entry.port ? fib_port_at(fib, nh_entry.port) : NULL;
	const struct fib_neigh *neigh = NULL;

	if (nh_entry.type != SIXLANE_FORWARD || !port)
		return false;
	*hop = (struct fib_key_hop){ .ifindex = port->port.ifindex };
	if (nh_entry.neighbour) {
		if (nh_entry.neighbour < SIXLANE_MAX_NEIGHBOURS)
			neigh = fib->by_slot[nh_entry.neighbour];
		if (!neigh || neigh->key.ifindex != hop->ifindex)
			return false;
		hop->gateway = neigh->key.addr;
		hop->has_gateway = 1;
	}
	return true;
}

/* Reference the port and the neighbour that a next-hop entry names. False: they are not there. */
static bool understand_forward(struct fib *fib, struct fib_next_hop *next_hop,
			       struct fib_key_hop *hop)
{
	if (!adopt_hop(fib, next_hop->content.nh_entry, hop))
		return false;
	if (hop->has_gateway)
		next_hop->neigh = fib_neigh_get(fib, hop->ifindex, &hop->gateway);
	next_hop->port = fib_port_get(fib, hop->ifindex);
	return true;
}

/* A next hop that leads to no other ones. */
static bool understand_leaf(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct sixlane_next_hop *content = &next_hop->content;
	const union sixlane_nh_entry nh_entry = content->nh_entry;
	struct fib_leaf_key leaf;
	struct fib_key_hop hop;

	if (nh_entry.type >= SIXLANE_N_VERDICTS || (content->expires_ns && !is_object(next_hop)))
		return false;
	if (nh_entry.type == SIXLANE_FORWARD) {
		if (!understand_forward(fib, next_hop, &hop))
			return false;
		fib_key_of_hop(&leaf, &hop);
		fib_key_set_mtu(&leaf.key, content->mtu, is_locked(next_hop));
		leaf.key.own_source = has_own_source(next_hop);
	} else {
		if (nh_entry.port || nh_entry.neighbour)
			return false;
		/* Only FIB_ID_FULL is meant to say so, the others may be poisoned. */
		if (nh_entry.type == SIXLANE_PUNT_MAP_FULL ||
		    (content->mtu && !is_object(next_hop)))
			return false;
		fib_key_of_verdict(&leaf, nh_entry.type);
	}
	if (!is_object(next_hop))
		memcpy(&next_hop->key, &leaf, leaf.key.bytes);
	return true;
}

/* The members of a range that was just taken, each as often as a bucket names it. */
static bool adopt_members(struct fib *fib, struct fib_group *group)
{
	for (uint32_t i = 0; i < 2 * group->n_buckets; i++) {
		const union sixlane_nh_bucket *bucket =
			&fib->buckets.written[group->first_bucket + i / 2];
		struct fib_next_hop *member = fib->by_id[i % 2 ? bucket->above : bucket->below];

		if (!member || !member->valid ||
		    member->content.nh_entry.type >= SIXLANE_NH_GROUP || is_object(member))
			return false;
		member->wanted++;
		group->members[group->n_members++] = member;
	}
	return true;
}

/* Routes by one object share its buckets, whatever their MTUs. */
static struct fib_group *find_group(const struct fib_hash *groups, union sixlane_nh_entry nh_entry)
{
	struct fib_hash_node *node =
		groups->buckets ? fib_hash_first(groups, nh_entry.first_bucket) : NULL;
	struct fib_group *group = node ? container_of(node, struct fib_group, node) : NULL;

	return group && group->n_buckets == nh_entry.n_buckets ? group : NULL;
}

static bool understand_group(struct fib *fib, struct fib_next_hop *next_hop,
			     struct fib_hash *groups)
{
	const union sixlane_nh_entry nh_entry = next_hop->content.nh_entry;
	struct fib_group *group = find_group(groups, nh_entry);

	if (group) {
		group->refs++;
		next_hop->group = group;
		return true;
	}
	if (nh_entry.type == SIXLANE_NH_EQUAL_METRIC &&
	    nh_entry.n_buckets > SIXLANE_MAX_EQUAL_METRIC)
		return false;
	if (!fib_buckets_adopt(&fib->buckets, nh_entry.first_bucket, nh_entry.n_buckets,
			       fib->adopted_buckets))
		return false;
	group = calloc(1, sizeof(*group) + 2u * nh_entry.n_buckets * sizeof(group->members[0]));
	if (!group) {
		fib_buckets_give(&fib->buckets, nh_entry.first_bucket, nh_entry.n_buckets);
		return false;
	}
	group->refs = 1;
	group->first_bucket = nh_entry.first_bucket;
	group->n_buckets = nh_entry.n_buckets;
	if (!adopt_members(fib, group)) {
		fib_group_put(fib, group);
		return false;
	}
	if (groups->buckets)
		fib_hash_insert(groups, &group->node, group->first_bucket);
	next_hop->group = group;
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	uint32_t p = ((const struct fib_set_entry *)a)->key.prefix_len;
	uint32_t q = ((const struct fib_set_entry *)b)->key.prefix_len;

	return p < q ? -1 : p > q;
}

static bool understand_sources(struct fib *fib, struct fib_next_hop *next_hop)
{
	struct fib_set *set = fib_set_find(fib, next_hop->content.nh_entry.source_table);

	if (!set || !set->dying || is_object(next_hop))
		return false;
	for (size_t i = 0; i < set->n; i++) {
		const struct fib_next_hop *to = fib->by_id[set->entries[i].id];

		if (set->entries[i].dst_len > 128 || !to->valid ||
		    to->content.nh_entry.type == SIXLANE_NH_SOURCES)
			return false;
	}
	set->dying = false;
	fib->n_dying_sets--;
	next_hop->set = set;
	return true;
}

/* Those that lead to none first, then those that lead to these, then those that lead to either. */
static bool understand(struct fib *fib, struct fib_next_hop *next_hop, struct fib_hash *groups)
{
	switch (next_hop->content.nh_entry.type) {
	case SIXLANE_NH_GROUP:
	case SIXLANE_NH_EQUAL_METRIC:
		return next_hop->named && understand_group(fib, next_hop, groups);
	case SIXLANE_NH_SOURCES:
		return next_hop->named && understand_sources(fib, next_hop);
	default:
		return understand_leaf(fib, next_hop);
	}
}

static uint32_t pass_of(const struct fib_next_hop *next_hop)
{
	uint32_t kind = next_hop->content.nh_entry.type;

	if (kind == SIXLANE_NH_SOURCES)
		return 2;
	return kind == SIXLANE_NH_GROUP || kind == SIXLANE_NH_EQUAL_METRIC;
}

static void understand_pass(struct fib *fib, uint32_t pass, struct fib_hash *groups)
{
	for (uint32_t id = FIB_ID_FULL + 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		struct fib_next_hop *next_hop = fib->by_id[id];

		if (next_hop && pass_of(next_hop) == pass && content_is_sane(&next_hop->content))
			next_hop->valid = understand(fib, next_hop, groups);
	}
}

/*
 * Whatever a route leads to is known by now. Of two with one meaning the first is used for new
 * routes; the other lives as long as adopted routes name it.
 */
static void settle(struct fib *fib, struct fib_next_hop *next_hop)
{
	struct fib_object_state *object = NULL;
	struct fib_leaf_key leaf;

	if (!next_hop->valid) {
		fib->writer.next_hop_set_entry(fib->writer.ctx, next_hop->id,
					       fib_verdict_entry(SIXLANE_PUNT_MAP_FULL));
		return;
	}
	if (is_object(next_hop)) {
		fib_key_of_object(&leaf, (uint32_t)next_hop->content.reserved,
				  next_hop->content.expires_ns);
		fib_key_set_mtu(&leaf.key, next_hop->content.mtu, is_locked(next_hop));
		leaf.key.own_source = has_own_source(next_hop);
		if (!fib_next_hop_find(fib, &leaf.key))
			object = fib_object_get(fib, leaf.key.object);
		if (!object)
			return;
		memcpy(&next_hop->key, &leaf, leaf.key.bytes);
		fib_object_attach(fib, object, next_hop);
	}
	if (next_hop->key.bytes && !fib_next_hop_find(fib, &next_hop->key))
		fib_next_hop_insert(fib, next_hop);
}

/* Next hops that no route leads to are what is left of former times. */
static void understand_next_hops(struct fib *fib)
{
	struct fib_hash groups;

	(void)fib_hash_init(&groups); /* without memory, what would be shared is punted */
	for (uint32_t pass = 0; pass <= 2; pass++)
		understand_pass(fib, pass, &groups);
	fib_hash_free(&groups);
	for (uint32_t id = FIB_ID_FULL + 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (fib->by_id[id])
			fib_next_hop_release(fib, fib->by_id[id]);
	}
	for (uint32_t id = FIB_ID_FULL + 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (fib->by_id[id])
			settle(fib, fib->by_id[id]);
	}
}

/*
 * Routes that are understood are wanted until a synchronisation. A prefix that was punted for lack
 * of room may still lack what is under it, which nobody has told yet: it stays punted until all is.
 */
static void understand_route(struct fib *fib, struct fib_entry *entry)
{
	struct fib_next_hop *next_hop = fib->by_id[entry->written];

	if (!next_hop->valid)
		return;
	entry->wanted = next_hop;
	next_hop->wanted++;
	if (next_hop != fib->full)
		return;
	entry->doubtful = true;
	fib->lost = true;
}

static void sort_set(struct fib_hash_node *node, void *ctx)
{
	struct fib_set *set = container_of(node, struct fib_set, node);

	(void)ctx;
	qsort(set->entries, set->n, sizeof(set->entries[0]), compare_entries);
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool port_taken(const struct fib *fib, uint32_t slot)
{
	return fib_port_at(fib, slot) != NULL;
}

static bool neigh_taken(const struct fib *fib, uint32_t slot)
{
	return fib->by_slot[slot] != NULL;
}

static bool next_hop_taken(const struct fib *fib, uint32_t id)
{
	return fib->by_id[id] != NULL;
}

static bool set_taken(const struct fib *fib, uint32_t id)
{
	return fib_set_find(fib, id) != NULL;
}

/*
 * What is not taken goes into quarantine before anything is understood, since that gives back
 * what turns out to be of no use, and no id may be there twice.
 */
void fib_adopt_finish(struct fib *fib)
{
	if (!fib->adopting)
		return;
	fib->adopting = false;
	if (!fib->adopted)
		return;
	fib_pool_adopt(&fib->port_pool, port_taken, fib);
	fib_pool_adopt(&fib->neigh_pool, neigh_taken, fib);
	fib_pool_adopt(&fib->next_hop_pool, next_hop_taken, fib);
	fib_pool_adopt(&fib->set_pool, set_taken, fib);
	fib_buckets_adopt_all(&fib->buckets);
	fib_hash_each(&fib->sets, sort_set, NULL);
	understand_next_hops(fib);
	fib_entry_each(fib, understand_route);
	fib->adopted_buckets = NULL;
}

void fib_adopt_drop_strays(struct fib *fib)
{
	size_t kept = 0;

	for (size_t i = 0; i < fib->n_strays; i++) {
		int err = fib->writer.route_del(fib->writer.ctx, &fib->strays[i]);

		fib->writes++;
		if (!err || err == -ENOENT)
			continue;
		fib->write_errors++;
		fib->strays[kept++] = fib->strays[i];
	}
	fib->n_strays = kept;
}
