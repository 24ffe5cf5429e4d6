// SPDX-License-Identifier: GPL-2.0-only
/*
 * The members of a group and the weights that it was made of, from its buckets.
 */
#include "route_view.h"

#include <string.h>

static struct member_view *find_member(struct group_view *group, uint32_t id)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].hop.id == id)
			return &group->members[i];
	}
	if (group->n_members == ROUTE_MAX_MEMBERS) {
		group->truncated = true;
		return NULL;
	}
	group->members[group->n_members] = (struct member_view){ .hop.id = id };
	return &group->members[group->n_members++];
}

static void add_share(struct group_view *group, uint32_t id, uint64_t share)
{
	struct member_view *member = share ? find_member(group, id) : NULL;

	if (member)
		member->share += share;
}

static void read_buckets(const struct maps *maps, union sixlane_nh_entry nh_entry,
			 struct group_view *group)
{
	const uint64_t whole = 1ull << 32;
	bool shared = false;

	group->kind = nh_entry.type;
	group->n_buckets = nh_entry.n_buckets;
	for (uint32_t i = 0;
	     i < nh_entry.n_buckets && nh_entry.first_bucket + i < SIXLANE_MAX_NH_BUCKETS; i++) {
		union sixlane_nh_bucket bucket;

		if (nh_entry.type == SIXLANE_NH_EQUAL_METRIC && i >= SIXLANE_MAX_EQUAL_METRIC)
			break;
		bucket.word = route_view_load64(&maps->buckets[nh_entry.first_bucket + i].word);
		shared |= bucket.below != bucket.above;
		if (nh_entry.type == SIXLANE_NH_EQUAL_METRIC) {
			add_share(group, bucket.below, whole);
			continue;
		}
		add_share(group, bucket.below, bucket.bound);
		add_share(group, bucket.above, whole - bucket.bound);
	}
	group->buckets =
		nh_entry.type == SIXLANE_NH_GROUP && !shared && group->n_buckets > group->n_members;
}

#define WEIGHT_MAX 65536u

/* k times a share in parts of the smallest one, and what is over, from -1/2 to 1/2. */
static uint32_t in_parts(uint64_t share, double smallest, uint32_t k, double *over)
{
	double multiple = (double)share * k / smallest;
	uint32_t whole = multiple < UINT32_MAX ? (uint32_t)(multiple + 0.5) : UINT32_MAX;

	*over = multiple - whole;
	return whole;
}

/*
 * Whether all shares are multiples of one k-th of the smallest, but for the rounding of the
 * buckets' bounds: each share is right to within half a bucket's smallest part a member
 * (fib/alias.c).
 */
static bool are_multiples(const struct group_view *group, double smallest, uint32_t k)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		double over;
		uint32_t whole = in_parts(group->members[i].share, smallest, k, &over);
		double rounding = 0.5 * (whole + k) * group->n_members / smallest;

		if (over > rounding || over < -rounding)
			return false;
	}
	return true;
}

/* The weights that the group was made of, in lowest terms. */
static void set_weights(struct group_view *group)
{
	uint64_t smallest = UINT64_MAX;
	uint32_t k = 1;
	double over;

	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].share < smallest)
			smallest = group->members[i].share;
	}
	if (group->buckets)
		smallest = 1ull << 32;
	while (k < WEIGHT_MAX && !are_multiples(group, (double)smallest, k))
		k++;
	for (uint32_t i = 0; i < group->n_members; i++)
		group->members[i].weight =
			in_parts(group->members[i].share, (double)smallest, k, &over);
}

void route_view_group(const struct maps *maps, union sixlane_nh_entry nh_entry, uint32_t flags,
		      uint32_t limit, struct group_view *group)
{
	const uint32_t down =
		flags & SIXLANE_NEXT_HOP_OBJECT ? SIXLANE_PORT_SKIP_OBJECT : SIXLANE_PORT_SKIP;

	memset(group, 0, offsetof(struct group_view, members));
	read_buckets(maps, nh_entry, group);
	for (uint32_t i = 0; i < group->n_members; i++) {
		struct hop_view *hop = &group->members[i].hop;

		route_view_hop(maps, hop->id, hop);
		if (limit && limit < hop->mtu)
			hop->mtu = limit;
		hop->limit = limit;
		group->members[i].skipped =
			nh_entry.type == SIXLANE_NH_GROUP && hop->egress.flags & down;
	}
	if (nh_entry.type == SIXLANE_NH_GROUP)
		set_weights(group);
}
