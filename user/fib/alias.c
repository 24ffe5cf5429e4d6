// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walker's alias method in Vose's order, in integers. A group of n members has n buckets, each
 * shared by at most two of them. A member's probability is exact to within 2^-33, the rounding of a
 * bound.
 */
#include <errno.h>
#include <stdlib.h>

#include "alias.h"

static uint32_t bound_of(uint64_t part, uint64_t whole)
{
	uint64_t bound = ((part << 32) + whole / 2) / whole;

	return bound > UINT32_MAX ? UINT32_MAX : (uint32_t)bound;
}

/* left: what a member still needs; a bucket holds the sum of all weights. queue: of members. */
struct share {
	uint64_t left;
	uint32_t queue;
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
