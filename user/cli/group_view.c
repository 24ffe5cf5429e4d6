// SPDX-License-Identifier: GPL-2.0-only
/* See group_view.h. */
#include "group_view.h"

#include <string.h>

/* Members beyond GROUP_MAX_MEMBERS are ignored. */
static void add_share(struct group_view *group, uint32_t id, uint64_t share)
{
	uint32_t i = 0;

	while (i < group->n_members && group->members[i].hop.id != id)
		i++;
	if (!share || i == GROUP_MAX_MEMBERS)
		return;
	if (i == group->n_members)
		group->members[group->n_members++] = (struct member_view){ .hop.id = id };
	group->members[i].share += share;
}

static void read_buckets(const struct maps *maps, union sixlane_nh_entry entry,
			 struct group_view *group)
{
	const uint64_t whole = 1ull << 32;
	bool shared = false;

	group->type = entry.type;
	group->n_buckets = entry.n_buckets;
	for (uint32_t i = 0; i < entry.n_buckets && entry.first_bucket + i < SIXLANE_MAX_NH_BUCKETS;
	     i++) {
		union sixlane_nh_bucket bucket;

		if (entry.type == SIXLANE_NH_EQUAL_METRIC && i >= SIXLANE_MAX_EQUAL_METRIC)
			break;
		bucket.word = __atomic_load_n(&maps->buckets[entry.first_bucket + i].word,
					      __ATOMIC_ACQUIRE);
		shared |= bucket.below != bucket.above;
		if (entry.type == SIXLANE_NH_EQUAL_METRIC) {
			add_share(group, bucket.below, whole);
			continue;
		}
		add_share(group, bucket.below, bucket.bound);
		add_share(group, bucket.above, whole - bucket.bound);
	}
	group->resilient =
		entry.type == SIXLANE_NH_GROUP && !shared && group->n_buckets > group->n_members;
}

#define WEIGHT_MAX 65536u

/* k times a share in units of the smallest one. *rest, from -1/2 to 1/2, is what rounding drops. */
static uint32_t scale(uint64_t share, double smallest, uint32_t k, double *rest)
{
	double multiple = (double)share * k / smallest;
	uint32_t whole = multiple < UINT32_MAX ? (uint32_t)(multiple + 0.5) : UINT32_MAX;

	*rest = multiple - whole;
	return whole;
}

/*
 * Whether all shares are multiples of the smallest one / k, but for the rounding of the buckets'
 * bounds: fib/group.c errs by at most half a unit a member.
 */
static bool are_multiples(const struct group_view *group, double smallest, uint32_t k)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		double rest;
		uint32_t whole = scale(group->members[i].share, smallest, k, &rest);
		double rounding = 0.5 * (whole + k) * group->n_members / smallest;

		if (rest > rounding || rest < -rounding)
			return false;
	}
	return true;
}

static void set_weights(struct group_view *group)
{
	uint64_t smallest = UINT64_MAX;
	uint32_t k = 1;
	double rest;

	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].share < smallest)
			smallest = group->members[i].share;
	}
	if (group->resilient)
		smallest = 1ull << 32;
	while (k < WEIGHT_MAX && !are_multiples(group, (double)smallest, k))
		k++;
	for (uint32_t i = 0; i < group->n_members; i++)
		group->members[i].weight =
			scale(group->members[i].share, (double)smallest, k, &rest);
}

void group_view_read(const struct maps *maps, union sixlane_nh_entry entry, uint32_t flags,
		     uint32_t limit, struct group_view *group)
{
	const uint32_t down =
		flags & SIXLANE_NEXT_HOP_OBJECT ? SIXLANE_PORT_SKIP_OBJECT : SIXLANE_PORT_SKIP;

	memset(group, 0, offsetof(struct group_view, members));
	read_buckets(maps, entry, group);
	for (uint32_t i = 0; i < group->n_members; i++) {
		struct hop_view *hop = &group->members[i].hop;

		hop_view_read(maps, hop->id, hop);
		hop_view_set_limit(hop, limit);
		group->members[i].skipped =
			entry.type == SIXLANE_NH_GROUP && hop->egress.flags & down;
	}
	if (entry.type == SIXLANE_NH_GROUP)
		set_weights(group);
}

double group_view_share(const struct group_view *group, const struct member_view *member)
{
	return (double)member->share / ((double)group->n_buckets * (1ull << 32));
}
