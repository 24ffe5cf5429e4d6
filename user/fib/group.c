// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: a run of buckets and the next hops that they name. Published whole and never changed
 * after that, but for the buckets of a resilient group, which change one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "alias.h"
#include "fib_internal.h"

/* Without buckets and members. NULL: no memory. */
static struct fib_group *group_alloc(uint32_t max_members)
{
	struct fib_group *group =
		calloc(1, sizeof(*group) + max_members * sizeof(group->members[0]));

	if (group)
		group->refs = 1;
	return group;
}

static void drop_members(struct fib *fib, struct fib_group *group)
{
	while (group->n_members)
		fib_next_hop_unwant(fib, group->members[--group->n_members]);
}

/* Of a group that was never published. */
static void group_undo(struct fib *fib, struct fib_group *group)
{
	if (group->n_buckets)
		fib_buckets_give_unused(&fib->buckets, group->first_bucket, group->n_buckets);
	drop_members(fib, group);
	free(group);
}

void fib_group_put(struct fib *fib, struct fib_group *group)
{
	if (--group->refs)
		return;
	if (group->n_buckets)
		fib_buckets_give(&fib->buckets, group->first_bucket, group->n_buckets);
	drop_members(fib, group);
	free(group);
}

static bool add_member(struct fib *fib, struct fib_group *group, const struct fib_key *key)
{
	if (!fib_next_hop_want_fed(fib, key, &group->members[group->n_members]))
		return false;
	group->n_members++;
	return true;
}

static bool add_hops(struct fib *fib, struct fib_group *group, const struct fib_key_hop *hops,
		     uint32_t n)
{
	struct fib_leaf_key leaf;

	for (uint32_t i = 0; i < n; i++) {
		fib_key_of_hop(&leaf, &hops[i]);
		if (!add_member(fib, group, &leaf.key))
			return false;
	}
	return true;
}

/* A group with its members and buckets, which are still to be written. */
static struct fib_group *group_new(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				   uint32_t n_buckets)
{
	struct fib_group *group = group_alloc(n);

	if (!group)
		return NULL;
	if (n_buckets && fib_buckets_take(fib, n_buckets, &group->first_bucket))
		group->n_buckets = n_buckets;
	if (group->n_buckets == n_buckets && add_hops(fib, group, hops, n))
		return group;
	group_undo(fib, group);
	return NULL;
}

static bool write_weighted(struct fib *fib, const struct fib_group *group,
			   const struct fib_key_hop *hops)
{
	uint32_t n = group->n_buckets;
	_cleanup_free_ union sixlane_nh_bucket *buckets = calloc(n, sizeof(*buckets));

	if (!buckets || fib_alias_build(hops, n, buckets))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		buckets[i].below = (uint16_t)group->members[buckets[i].below]->id;
		buckets[i].above = (uint16_t)group->members[buckets[i].above]->id;
		fib_bucket_set(fib, group->first_bucket + i, buckets[i]);
	}
	return true;
}

struct fib_group *fib_group_new_hashed(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				       bool always)
{
	struct fib_group *group = group_new(fib, hops, n, n > 1 || always ? n : 0);

	if (!group || !group->n_buckets || write_weighted(fib, group, hops))
		return group;
	group_undo(fib, group);
	return NULL;
}

static union sixlane_nh_bucket bucket_of_one(const struct fib_next_hop *member)
{
	return (union sixlane_nh_bucket){ .below = (uint16_t)member->id,
					  .above = (uint16_t)member->id };
}

struct fib_group *fib_group_new_first(struct fib *fib, const struct fib_key_hop *hops, uint32_t n)
{
	struct fib_group *group = group_new(fib, hops, n, n);

	for (uint32_t i = 0; group && i < n; i++)
		fib_bucket_set(fib, group->first_bucket + i, bucket_of_one(group->members[i]));
	return group;
}

/* --- buckets ---------------------------------------------------------------------------------- */

/* The hops, and behind them the member of buckets of which nobody knows whose they are. */
static bool add_bucket_members(struct fib *fib, struct fib_group *group,
			       const struct fib_object_def *def)
{
	struct fib_leaf_key punt;

	fib_key_of_verdict(&punt, SIXLANE_PUNT_MULTIPATH);
	return add_hops(fib, group, def->hops, def->n_hops) && add_member(fib, group, &punt.key);
}

static union sixlane_nh_bucket bucket_bucket(const struct fib_group *group,
					     const struct fib_object_def *def, uint32_t i)
{
	uint32_t member = def->buckets[i] < def->n_hops ? def->buckets[i] : def->n_hops;

	return bucket_of_one(group->members[member]);
}

struct fib_group *fib_group_new_buckets(struct fib *fib, const struct fib_object_def *def)
{
	struct fib_group *group = group_alloc(def->n_hops + 1);

	if (!group)
		return NULL;
	if (fib_buckets_take(fib, def->n_buckets, &group->first_bucket))
		group->n_buckets = def->n_buckets;
	if (!group->n_buckets || !add_bucket_members(fib, group, def)) {
		group_undo(fib, group);
		return NULL;
	}
	for (uint32_t i = 0; i < group->n_buckets; i++)
		fib_bucket_set(fib, group->first_bucket + i, bucket_bucket(group, def, i));
	return group;
}

bool fib_group_set_buckets(struct fib *fib, struct fib_group **group,
			   const struct fib_object_def *def)
{
	struct fib_group *old = *group, *new = group_alloc(def->n_hops + 1);

	if (!new)
		return false;
	if (!add_bucket_members(fib, new, def)) {
		group_undo(fib, new);
		return false;
	}
	new->first_bucket = old->first_bucket;
	new->n_buckets = old->n_buckets;
	for (uint32_t i = 0; i < new->n_buckets; i++) {
		const union sixlane_nh_bucket bucket = bucket_bucket(new, def, i);

		if (fib->buckets.written[new->first_bucket + i].word != bucket.word)
			fib_bucket_set(fib, new->first_bucket + i, bucket);
	}
	/* The buckets live on. */
	drop_members(fib, old);
	free(old);
	*group = new;
	return true;
}

union sixlane_nh_entry fib_group_entry(const struct fib_group *group, uint16_t kind)
{
	if (!group->n_buckets)
		return group->members[0]->content.nh_entry;
	return (union sixlane_nh_entry){ .type = kind,
					 .n_buckets = (uint16_t)group->n_buckets,
					 .first_bucket = group->first_bucket };
}
