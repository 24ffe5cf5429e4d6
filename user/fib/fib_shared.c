// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hops of next-hop objects. The kernel keeps one cached route at each for all routes by it, in
 * whatever groups (rt6_get_pcpu_route), and what is forwarded there is held against that one's MTU:
 * the MTU of whichever route came first. So XDP can only forward by a hop whose routes agree on it.
 *
 * Hops are told apart by device and gateway, not by the id of their object, which is not known
 * here: of two objects that are alike in these each might be in order by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "fib_internal.h"

#define KEY_BYTES offsetof(struct fib_key_hop, weight)

__extension__ typedef unsigned __int128 wide;

struct fib_shared {
	struct fib_hash_node node; /* by hop, without its weight */
	struct fib_key_hop hop;
	uint32_t refs; /* definitions of objects that have it */
	/* Of the MTUs of next hops that follow such an object. */
	uint64_t n, sum;
	wide squares;
};

static struct fib_shared *shared_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_shared, node) : NULL;
}

struct fib_shared *fib_shared_get(struct fib *fib, const struct fib_key_hop *hop)
{
	uint32_t value = fib_hash_of(hop, KEY_BYTES);
	struct fib_hash_node *node = fib_hash_first(&fib->shared, value);
	struct fib_shared *shared;

	while (node && memcmp(&shared_of(node)->hop, hop, KEY_BYTES) != 0)
		node = fib_hash_next(node);
	shared = shared_of(node);
	if (!shared) {
		shared = calloc(1, sizeof(*shared));
		if (!shared)
			return NULL;
		shared->hop = *hop;
		fib_hash_insert(&fib->shared, &shared->node, value);
	}
	shared->refs++;
	return shared;
}

void fib_shared_put(struct fib *fib, struct fib_shared *shared)
{
	if (--shared->refs)
		return;
	fib_hash_remove(&fib->shared, &shared->node);
	free(shared);
}

/* n numbers are all the same if n times the sum of their squares is the square of their sum. */
bool fib_shared_agree(const struct fib_shared *shared)
{
	return shared->n * shared->squares == (wide)shared->sum * shared->sum;
}

void fib_shared_count(struct fib *fib, struct fib_shared *shared, uint32_t mtu, int by)
{
	bool agreed = fib_shared_agree(shared);

	shared->n += (uint64_t)by;
	shared->sum += (uint64_t)by * mtu;
	shared->squares += (wide)by * mtu * mtu;
	fib->shared_turned |= fib_shared_agree(shared) != agreed;
}
