// SPDX-License-Identifier: GPL-2.0-only
/* See group.h. */
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "alias.h"
#include "grace.h"
#include "group.h"
#include "nexthop.h"
#include "write.h"

static void put_members(struct fib *fib, struct fib_group *group)
{
	while (group->n_members)
		fib_next_hop_unref(fib, group->members[--group->n_members]);
}

/* For a group that was never published. */
static void undo(struct fib *fib, struct fib_group *group)
{
	if (group->n_buckets)
		fib_buckets_give_unused(&fib->buckets, group->first_bucket, group->n_buckets);
	put_members(fib, group);
	free(group);
}

void fib_group_put(struct fib *fib, struct fib_group *group)
{
	if (--group->refs)
		return;
	if (group->n_buckets)
		fib_buckets_give(&fib->buckets, group->first_bucket, group->n_buckets);
	put_members(fib, group);
	free(group);
}

static bool add_member(struct fib *fib, struct fib_group *group, const struct fib_leaf_key *key)
{
	struct fib_next_hop *member = fib_leaf_get(fib, key);

	if (member)
		group->members[group->n_members++] = member;
	return member;
}

static bool add_hops(struct fib *fib, struct fib_group *group, const struct fib_key_hop *hops,
		     uint32_t n)
{
	struct fib_leaf_key leaf;

	for (uint32_t i = 0; i < n; i++) {
		fib_key_of_hop(&leaf, &hops[i]);
		if (!add_member(fib, group, &leaf))
			return false;
	}
	return true;
}

/* With room for one member more, and n_buckets buckets. NULL: no memory or no room. */
static struct fib_group *group_new(struct fib *fib, uint32_t n_hops, uint32_t n_buckets)
{
	struct fib_group *group =
		calloc(1, sizeof(*group) + (n_hops + 1) * sizeof(group->members[0]));

	if (!group)
		return NULL;
	group->refs = 1;
	if (n_buckets && !fib_take_buckets(fib, n_buckets, &group->first_bucket)) {
		free(group);
		return NULL;
	}
	group->n_buckets = n_buckets;
	return group;
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
		fib_write_bucket(fib, group->first_bucket + i, buckets[i]);
	}
	return true;
}

struct fib_group *fib_group_new_hashed(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				       bool always)
{
	struct fib_group *group = group_new(fib, n, n > 1 || always ? n : 0);

	if (!group)
		return NULL;
	if (add_hops(fib, group, hops, n) &&
	    (!group->n_buckets || write_weighted(fib, group, hops)))
		return group;
	undo(fib, group);
	return NULL;
}

static union sixlane_nh_bucket bucket_of(const struct fib_next_hop *member)
{
	return (union sixlane_nh_bucket){ .below = (uint16_t)member->id,
					  .above = (uint16_t)member->id };
}

struct fib_group *fib_group_new_ordered(struct fib *fib, const struct fib_key_hop *hops, uint32_t n)
{
	struct fib_group *group = group_new(fib, n, n);

	if (!group)
		return NULL;
	if (!add_hops(fib, group, hops, n)) {
		undo(fib, group);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		fib_write_bucket(fib, group->first_bucket + i, bucket_of(group->members[i]));
	return group;
}

/* --- resilient groups ------------------------------------------------------------------------- */

/* The hops, and after them the punt for hops that are not known. */
static bool add_bucket_members(struct fib *fib, struct fib_group *group,
			       const struct fib_group_buckets *buckets)
{
	struct fib_leaf_key punt;

	fib_key_of_verdict(&punt, SIXLANE_PUNT_MULTIPATH);
	return add_hops(fib, group, buckets->hops, buckets->n_hops) &&
	       add_member(fib, group, &punt);
}

/* With members, in which the last is the punt. */
static union sixlane_nh_bucket bucket_at(const struct fib_group *group,
					 const struct fib_group_buckets *buckets, uint32_t i)
{
	const uint32_t member = buckets->members[i];

	return bucket_of(group->members[member < buckets->n_hops ? member : buckets->n_hops]);
}

struct fib_group *fib_group_new_buckets(struct fib *fib, const struct fib_group_buckets *buckets)
{
	struct fib_group *group = group_new(fib, buckets->n_hops, buckets->n_buckets);

	if (!group)
		return NULL;
	if (!add_bucket_members(fib, group, buckets)) {
		undo(fib, group);
		return NULL;
	}
	for (uint32_t i = 0; i < group->n_buckets; i++)
		fib_write_bucket(fib, group->first_bucket + i, bucket_at(group, buckets, i));
	return group;
}

bool fib_group_set_buckets(struct fib *fib, struct fib_group **group,
			   const struct fib_group_buckets *buckets)
{
	struct fib_group *old = *group, *new = group_new(fib, buckets->n_hops, 0);

	if (!new)
		return false;
	if (!add_bucket_members(fib, new, buckets)) {
		undo(fib, new);
		return false;
	}
	new->first_bucket = old->first_bucket;
	new->n_buckets = old->n_buckets;
	for (uint32_t i = 0; i < new->n_buckets; i++) {
		const union sixlane_nh_bucket bucket = bucket_at(new, buckets, i);

		if (fib->buckets.written[new->first_bucket + i].word != bucket.word)
			fib_write_bucket(fib, new->first_bucket + i, bucket);
	}
	/* The new group has its buckets. */
	put_members(fib, old);
	free(old);
	*group = new;
	return true;
}

union sixlane_nh_entry fib_group_entry(const struct fib_group *group, uint16_t type)
{
	if (!group->n_buckets)
		return group->members[0]->content.nh_entry;
	return (union sixlane_nh_entry){ .type = type,
					 .n_buckets = (uint16_t)group->n_buckets,
					 .first_bucket = group->first_bucket };
}
