// SPDX-License-Identifier: GPL-2.0-only
/* See group.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "group.h"

/* --- weighted choice -------------------------------------------------------------------------- */

/*
 * Walker's alias method in Vose's order, in integers. A group of n members has n buckets, each
 * shared by at most two of them. A member's probability is exact to within 2^-33, the rounding of a
 * bound. The result is below 2^32, since part < whole <= 65535 * 65536.
 */
static uint32_t bound_of(uint64_t part, uint64_t whole)
{
	return (uint32_t)(((part << 32) + whole / 2) / whole);
}

/* A member, and one place in a queue of members. */
struct share {
	uint64_t left;	/* what the member still needs; a bucket holds the sum of all weights */
	uint32_t queue; /* the member at this place */
};

/* Members that need less than a bucket are at the front of the queue, the others at its end. */
static void share_out(struct share *shares, uint64_t total, uint32_t n,
		      union sixlane_nh_bucket *buckets)
{
	uint32_t n_small = 0, n_large = 0, small, large;

	for (uint32_t i = 0; i < n; i++) {
		if (shares[i].left < total)
			shares[n_small++].queue = i;
		else
			shares[n - ++n_large].queue = i;
	}
	while (n_small) {
		/* The needs fill the buckets exactly, so some member needs more than one bucket. */
		small = shares[--n_small].queue;
		large = shares[n - n_large].queue;
		buckets[small] =
			(union sixlane_nh_bucket){ .bound = bound_of(shares[small].left, total),
						   .below = (uint16_t)small,
						   .above = (uint16_t)large };
		shares[large].left -= total - shares[small].left;
		if (shares[large].left < total) {
			n_large--;
			shares[n_small++].queue = large;
		}
	}
	for (; n_large; n_large--) {
		large = shares[n - n_large].queue;
		buckets[large] = (union sixlane_nh_bucket){ .below = (uint16_t)large,
							    .above = (uint16_t)large };
	}
}

int fib_alias_build(const struct fib_key_hop *hops, uint32_t n, union sixlane_nh_bucket *buckets)
{
	struct share *shares = calloc(n, sizeof(*shares));
	uint64_t total = 0;

	if (!shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		shares[i].left = (uint64_t)hops[i].weight * n;
		total += hops[i].weight;
	}
	share_out(shares, total, n, buckets);
	free(shares);
	return 0;
}

/* --- making groups ---------------------------------------------------------------------------- */

static void put_members(struct fib *fib, struct fib_group *group)
{
	while (group->n_members)
		fib_next_hop_unref(fib, group->members[--group->n_members]);
}

/* For a group that was never published. */
static void undo(struct fib *fib, struct fib_group *group)
{
	if (group->n_buckets)
		fib_ids_give_unused(&fib->buckets, group->first_bucket, group->n_buckets);
	put_members(fib, group);
	free(group);
}

void fib_group_put(struct fib *fib, struct fib_group *group)
{
	if (--group->refs)
		return;
	if (group->n_buckets)
		fib_ids_give(&fib->buckets, group->first_bucket, group->n_buckets);
	put_members(fib, group);
	free(group);
}

static bool add_member(struct fib *fib, struct fib_group *group, struct fib_leaf_key key)
{
	struct fib_next_hop *member = fib_leaf_get(fib, key);

	if (member)
		group->members[group->n_members++] = member;
	return member;
}

/* With its members, room for one more, and n_buckets buckets. NULL: no memory or no room. */
static struct fib_group *group_new(struct fib *fib, const struct fib_key_hop *hops, uint32_t n_hops,
				   uint32_t n_buckets)
{
	struct fib_group *group =
		calloc(1, sizeof(*group) + (n_hops + 1) * sizeof(group->members[0]));

	if (!group)
		return NULL;
	group->refs = 1;
	if (n_buckets && !fib_ids_take(fib, &fib->buckets, n_buckets, &group->first_bucket)) {
		free(group);
		return NULL;
	}
	group->n_buckets = n_buckets;
	for (uint32_t i = 0; i < n_hops; i++) {
		if (!add_member(fib, group, fib_key_of_hop(&hops[i]))) {
			undo(fib, group);
			return NULL;
		}
	}
	return group;
}

static bool write_weighted(struct fib *fib, const struct fib_group *group,
			   const struct fib_key_hop *hops)
{
	uint32_t n = group->n_buckets;
	union sixlane_nh_bucket *buckets = calloc(n, sizeof(*buckets));
	const bool built = buckets && !fib_alias_build(hops, n, buckets);

	for (uint32_t i = 0; built && i < n; i++) {
		buckets[i].below = (uint16_t)group->members[buckets[i].below]->id;
		buckets[i].above = (uint16_t)group->members[buckets[i].above]->id;
		fib_write_bucket(fib, group->first_bucket + i, buckets[i]);
	}
	free(buckets);
	return built;
}

struct fib_group *fib_group_new_hashed(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				       bool always)
{
	struct fib_group *group = group_new(fib, hops, n, n > 1 || always ? n : 0);

	if (!group || !group->n_buckets || write_weighted(fib, group, hops))
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
	struct fib_group *group = group_new(fib, hops, n, n);

	for (uint32_t i = 0; group && i < n; i++)
		fib_write_bucket(fib, group->first_bucket + i, bucket_of(group->members[i]));
	return group;
}

/* --- resilient groups ------------------------------------------------------------------------- */

/* Its members are the hops, and after them the punt for hops that are not known. */
static struct fib_group *resilient_new(struct fib *fib, const struct fib_group_buckets *buckets,
				       uint32_t n_buckets)
{
	struct fib_group *group = group_new(fib, buckets->hops, buckets->n_hops, n_buckets);

	if (!group || add_member(fib, group, fib_key_of_verdict(SIXLANE_PUNT_MULTIPATH)))
		return group;
	undo(fib, group);
	return NULL;
}

static union sixlane_nh_bucket bucket_at(const struct fib_group *group,
					 const struct fib_group_buckets *buckets, uint32_t i)
{
	const uint32_t member = buckets->members[i];

	return bucket_of(group->members[member < buckets->n_hops ? member : buckets->n_hops]);
}

struct fib_group *fib_group_new_buckets(struct fib *fib, const struct fib_group_buckets *buckets)
{
	struct fib_group *group = resilient_new(fib, buckets, buckets->n_buckets);

	for (uint32_t i = 0; group && i < group->n_buckets; i++)
		fib_write_bucket(fib, group->first_bucket + i, bucket_at(group, buckets, i));
	return group;
}

bool fib_group_set_buckets(struct fib *fib, struct fib_group **group,
			   const struct fib_group_buckets *buckets)
{
	struct fib_group *old = *group, *new = resilient_new(fib, buckets, 0);

	if (!new)
		return false;
	new->first_bucket = old->first_bucket;
	new->n_buckets = old->n_buckets;
	for (uint32_t i = 0; i < new->n_buckets; i++) {
		const union sixlane_nh_bucket bucket = bucket_at(new, buckets, i);

		if (fib->written_buckets[new->first_bucket + i].word != bucket.word)
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
