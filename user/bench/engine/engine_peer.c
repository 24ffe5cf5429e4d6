// SPDX-License-Identifier: GPL-2.0-only
/* Engines of user space: libraries, by the interface of peer.h. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "lookup.h"

typedef void (*find_fn)(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n);

struct peer_side {
	const struct bench_peer *peer;
	void *fib;
};

static double thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* --- the loop ------------------------------------------------------------------------------- */

static void find_nothing(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	(void)fib;
	for (size_t i = 0; i < n; i++) {
		const union sixlane_addr *addr = (const void *)addrs[i];

		values[i] = (uint32_t)(addr->halves[0] ^ addr->halves[1]);
	}
}

/* Nanoseconds a lookup. */
static double walk_batches(find_fn find, const void *fib, const union sixlane_addr *list,
			   uint32_t cursor, uint64_t lookups)
{
	uint32_t values[WALK_BATCH];
	double start = thread_ns();

	for (uint64_t i = 0; i < lookups; i += WALK_BATCH, cursor += WALK_BATCH) {
		find(fib, (const void *)&list[cursor % WALK_ADDRESSES], values, WALK_BATCH);
		asm volatile("" : : "r"(values) : "memory");
	}
	return (thread_ns() - start) / (double)lookups;
}

static double walk_one_by_one(find_fn find, const void *fib, const union sixlane_addr *list,
			      uint32_t cursor, uint64_t lookups)
{
	static volatile uint32_t zero;
	uint32_t none = zero, value = 0;
	double start = thread_ns();

	for (uint64_t i = 0; i < lookups; i++) {
		find(fib, (const void *)&list[cursor % WALK_ADDRESSES], &value, 1);
		/* Adds 0, but only when the answer is there. */
		cursor += 1 + (value & none);
	}
	return (thread_ns() - start) / (double)lookups;
}

static int measure(struct lookup_side *side, bool dependent, unsigned int threads, uint64_t lookups,
		   struct lookup_times *out)
{
	const struct peer_side *own = side->state;
	find_fn in_turn = own->peer->find_in_turn;
	find_fn find = dependent && in_turn ? in_turn : own->peer->find;
	double (*walk)(find_fn, const void *, const union sixlane_addr *, uint32_t, uint64_t) =
		dependent && !in_turn ? walk_one_by_one : walk_batches;
	const union sixlane_addr *list = side->lists->at;

	(void)threads; /* one */
	/* Whole batches lie in the list, and another engine has had the caches. */
	side->cursor -= side->cursor % WALK_BATCH;
	walk_batches(find, own->fib, list, 0, WALK_ADDRESSES);
	out->dry_ns = walk(find_nothing, NULL, list, side->cursor, lookups);
	out->gross_ns = walk(find, own->fib, list, side->cursor, lookups);
	out->elapsed_ns = out->gross_ns;
	side->cursor += (uint32_t)lookups;
	return 0;
}

/* --- the engine ----------------------------------------------------------------------------- */

static int answers(struct lookup_side *side, uint32_t *out)
{
	const struct peer_side *own = side->state;

	own->peer->find(own->fib, (const void *)side->lists->at, out, WALK_ADDRESSES);
	return 0;
}

static const struct bench_peer *find_peer(const char *object, const char *name)
{
	void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	const struct bench_peer *peer = library ? dlsym(library, "bench_peers") : NULL;

	if (!peer) {
		plan_bad(-ENOENT, "%s", dlerror());
		return NULL;
	}
	while (peer->name && strcmp(peer->name, name) != 0)
		peer++;
	if (peer->name)
		return peer;
	plan_bad(-ENOENT, "%s offers no %s", object, name);
	return NULL;
}

int lookup_peer_open(struct lookup_side *side, const char *object, const char *name)
{
	static const struct lookup_engine engine = { "peer", NULL, measure, answers, NULL, NULL };
	struct peer_side *own = calloc(1, sizeof(*own));
	uint64_t start;

	if (!own)
		return plan_fail(-ENOMEM, "%s", name);
	side->engine = &engine;
	side->state = own;
	own->peer = find_peer(object, name);
	if (!own->peer)
		return -ENOENT;
	if (own->peer->begin && own->peer->begin(plan_cpu(0)))
		return plan_bad(-EIO, "%s cannot begin, as it says above", name);
	start = util_now_ns();
	own->fib = own->peer->fill(side->table.prefixes, side->table.n, &side->insert_ns);
	side->insert_ns = side->insert_ns ?: util_now_ns() - start;
	if (!own->fib)
		return plan_bad(-EIO, "%s could not be filled, as it says above", name);
	side->bytes = own->peer->bytes(own->fib);
	return 0;
}
