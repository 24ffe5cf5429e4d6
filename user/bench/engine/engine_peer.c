// SPDX-License-Identifier: GPL-2.0-only
/* Engines of user space: libraries, by the interface of peer.h. One thread looks up. */
#include <dlfcn.h>

#include "lookup.h"

typedef void (*find_fn)(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n);

struct peer_side {
	const struct bench_peer *peer;
	void *fib;
	uint32_t cursor; /* of the next address */
};

/* --- the loop ------------------------------------------------------------------------------- */

static void find_nothing(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	(void)fib;
	for (size_t i = 0; i < n; i++) {
		const union sixlane_addr *addr = (const void *)addrs[i];

		values[i] = (uint32_t)(addr->halves[0] ^ addr->halves[1]);
	}
}

/* Nanoseconds a lookup. batch: of addresses that are known at once. */
static double walk(find_fn find, const void *fib, const union sixlane_addr *list, uint32_t cursor,
		   uint64_t lookups, uint32_t batch)
{
	static volatile uint32_t zero;
	uint32_t values[WALK_BATCH], none = zero;
	uint64_t start = util_cpu_ns();

	for (uint64_t i = 0; i < lookups; i += batch, cursor += batch) {
		find(fib, (const void *)&list[cursor % WALK_ADDRESSES], values, batch);
		asm volatile("" : : "r"(values) : "memory");
		/* Adds 0, but makes the next address depend on the answer. */
		if (batch == 1)
			cursor += values[0] & none;
	}
	return (double)(util_cpu_ns() - start) / (double)lookups;
}

json_t *peer_measure(struct lookup_side *side, bool dependent, uint64_t lookups)
{
	struct peer_side *own = side->state;
	find_fn in_turn = own->peer->find_in_turn;
	find_fn find = dependent && in_turn ? in_turn : own->peer->find;
	uint32_t batch = dependent && !in_turn ? 1 : WALK_BATCH;
	const union sixlane_addr *list = side->lists->at;
	double dry, gross;

	/* Start at a whole batch, so that none reaches beyond the list, and with warm caches. */
	own->cursor -= own->cursor % WALK_BATCH;
	walk(find, own->fib, list, 0, WALK_ADDRESSES, WALK_BATCH);
	dry = walk(find_nothing, NULL, list, own->cursor, lookups, batch);
	gross = walk(find, own->fib, list, own->cursor, lookups, batch);
	own->cursor += (uint32_t)lookups;
	return json_pack("{s:f, s:f}", "gross_ns", gross, "dry_ns", dry);
}

void peer_answers(struct lookup_side *side, uint32_t *out)
{
	const struct peer_side *own = side->state;

	own->peer->find(own->fib, (const void *)side->lists->at, out, WALK_ADDRESSES);
}

/* --- the engine ----------------------------------------------------------------------------- */

void peer_open(struct lookup_side *side)
{
	struct peer_side *own = side->state = plan_alloc(1, sizeof(*own));
	void *library = dlopen(side->object, RTLD_NOW | RTLD_LOCAL);
	const struct bench_peer *peer = library ? dlsym(library, "bench_peers") : NULL;
	uint64_t start;

	if (!peer)
		plan_die("%s", dlerror());
	while (peer->name && strcmp(peer->name, side->name) != 0)
		peer++;
	if (!peer->name)
		plan_die("%s offers no %s", side->object, side->name);
	if (peer->begin && peer->begin((int)plan_cpu(0)))
		plan_die("%s cannot begin, as it says above", side->name);
	start = util_now_ns();
	own->peer = peer;
	own->fib = peer->fill(side->prefixes, side->n, &side->insert_ns);
	side->insert_ns = side->insert_ns ?: util_now_ns() - start;
	if (!own->fib)
		plan_die("%s could not be filled, as it says above", side->name);
	side->bytes = peer->bytes(own->fib);
}
