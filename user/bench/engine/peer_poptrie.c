// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Poptrie by its authors as a peer, with what peers/build.sh changes: leaves of 32 bits, which are
 * the values themselves, for more than 4,096 next hops; and /127 and /128, which it takes for wider
 * (findings/poptrie-disagrees-with-its-rib.sh).
 */
#include "peer.h"

#include <malloc.h>
#include <poptrie.h>
#include <stdio.h>
#include <time.h>

#define MOST_BITS 26 /* of the number of nodes, for less than 2 GB of them */

static uint64_t heap_growth; /* by the last table */

static __uint128_t key(const uint8_t addr[16])
{
	const uint64_t *halves = (const void *)addr;

	return (__uint128_t)__builtin_bswap64(halves[0]) << 64 | __builtin_bswap64(halves[1]);
}

/* Its arrays do not grow. The smallest that hold the routes are taken, and only they are timed. */
static void *fill(const struct bench_prefix *prefixes, size_t n, uint64_t *ns)
{
	struct mallinfo2 before = mallinfo2(), after;
	struct timespec start, end;

	for (int bits = 12; bits <= MOST_BITS; bits++) {
		struct poptrie *poptrie = poptrie_init(NULL, bits, bits);
		size_t i = 0;

		clock_gettime(CLOCK_MONOTONIC, &start);
		while (poptrie && i < n &&
		       !poptrie6_route_add(poptrie, key(prefixes[i].addr), (int)prefixes[i].len,
					   (void *)(i + 1)))
			i++;
		clock_gettime(CLOCK_MONOTONIC, &end);
		after = mallinfo2();
		*ns = (end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec;
		heap_growth = after.hblkhd + after.uordblks - before.hblkhd - before.uordblks;
		if (i == n)
			return poptrie;
		if (poptrie)
			poptrie_release(poptrie);
	}
	fprintf(stderr, "peer-poptrie: the routes need more than 2^%d nodes\n", MOST_BITS);
	return NULL;
}

static uint64_t bytes(const void *fib)
{
	(void)fib;
	return heap_growth;
}

static void find(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		values[i] = (uintptr_t)poptrie6_lookup((void *)(uintptr_t)fib, key(addrs[i]));
}

const struct bench_peer bench_peers[] = {
	{ "poptrie", NULL, fill, bytes, find, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
