/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups: members, which are leaves, and the buckets that name them. A group is written whole
 * before anything names it. After that only the buckets of resilient groups change, one by one.
 */
#ifndef USER_FIB_GROUP_H
#define USER_FIB_GROUP_H

#include "nexthop.h"

struct fib_group {
	struct fib_hash_node node; /* by first_bucket, while adopting */
	uint32_t refs;
	uint32_t first_bucket, n_buckets; /* n_buckets 0: the only member is used directly */
	uint32_t n_members;
	struct fib_next_hop *members[]; /* one reference each */
};

/* The fib_group_new_* functions return one reference, or NULL: no room or no memory. */

/* One bucket a member, shared by weight. A single hop has a bucket only if `always` is set. */
struct fib_group *fib_group_new_hashed(struct fib *fib, const struct fib_key_hop *hops, uint32_t n,
				       bool always);
/* One bucket a member, in this order (SIXLANE_NH_EQUAL_METRIC). */
struct fib_group *fib_group_new_ordered(struct fib *fib, const struct fib_key_hop *hops,
					uint32_t n);

/*
 * Bucket i names hop members[i]. A value from n_hops on stands for a hop that is not known: packets
 * of that bucket are punted.
 */
struct fib_group_buckets {
	const struct fib_key_hop *hops;
	const uint16_t *members;
	uint32_t n_hops, n_buckets;
};
struct fib_group *fib_group_new_buckets(struct fib *fib, const struct fib_group_buckets *buckets);
/* Change *group, which has as many buckets, bucket by bucket. False: nothing was changed. */
bool fib_group_set_buckets(struct fib *fib, struct fib_group **group,
			   const struct fib_group_buckets *buckets);

/*
 * Fill n buckets, which name members by index, for a weighted choice: member i wins with
 * probability hops[i].weight / sum. The weights are at least 1, their sum at most 65535 * 65536.
 * 0 or -ENOMEM.
 */
int fib_alias_build(const struct fib_key_hop *hops, uint32_t n, union sixlane_nh_bucket *buckets);

/* type: SIXLANE_NH_GROUP or SIXLANE_NH_EQUAL_METRIC. */
union sixlane_nh_entry fib_group_entry(const struct fib_group *group, uint16_t type);
void fib_group_put(struct fib *fib, struct fib_group *group);

#endif
