// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exceptions_peers.h. Each route is, by its prefix and the seed, one of those whose
 * destinations may have exceptions, or one of those whose have none.
 */
#include "exceptions_peers.h"

#include <errno.h>
#include <string.h>

const char *const peers_names[PEERS_N_LISTS] = { "elsewhere", "same-route", "hit" };

/* Draws for each destination; and for another one of the same route. */
#define TRIES 64u
#define MATE_TRIES 16u

/* Which addresses there are already; all zeros is none. */
struct set {
	union sixlane_addr *slots;
	size_t mask;
};

struct chooser {
	const struct bench_table *table;
	struct peers *peers;
	struct set set;
	size_t n_elsewhere, n_hit;
	uint64_t seed, coin_seed;
	size_t tries; /* that are left */
};

static bool is_empty(const union sixlane_addr *addr)
{
	return !addr->halves[0] && !addr->halves[1];
}

/* Where it is or belongs. */
static union sixlane_addr *set_find(const struct set *set, const union sixlane_addr *addr)
{
	uint64_t hash = addr->halves[0] ^ (addr->halves[1] << 1);
	size_t at = (size_t)bench_random(&hash) & set->mask;

	while (!is_empty(&set->slots[at]) && memcmp(&set->slots[at], addr, sizeof(*addr)) != 0)
		at = (at + 1) & set->mask;
	return &set->slots[at];
}

static bool set_has(const struct set *set, const union sixlane_addr *addr)
{
	return !is_empty(set_find(set, addr));
}

static int set_new(size_t n, struct set *out)
{
	size_t size = 2;

	while (size < 2 * n)
		size *= 2;
	out->slots = calloc(size, sizeof(*out->slots));
	out->mask = size - 1;
	return out->slots ? 0 : -ENOMEM;
}

/* --- draws ---------------------------------------------------------------------------------- */

/* Whether destinations of the route may have exceptions. */
static bool may_have(const struct chooser *chooser, const struct prefix *route)
{
	uint64_t coin = chooser->coin_seed ^ route->addr.halves[0] ^ (route->addr.halves[1] << 1) ^
			route->len;

	return bench_random(&coin) & 1;
}

/* A new address of any route, which is returned. */
static const struct prefix *draw(struct chooser *chooser, union sixlane_addr *out)
{
	const struct bench_table *table = chooser->table;

	while (chooser->tries) {
		chooser->tries--;
		bench_draw_under(&table->prefixes[bench_random(&chooser->seed) % table->n],
				 &chooser->seed, out);
		if (!set_has(&chooser->set, out))
			return bench_table_match(table, out);
	}
	return NULL;
}

/* Another new one of the same route. */
static bool draw_mate(struct chooser *chooser, const struct prefix *route,
		      const union sixlane_addr *of, union sixlane_addr *out)
{
	for (unsigned int i = 0; i < MATE_TRIES; i++) {
		bench_draw_under(route, &chooser->seed, out);
		if (memcmp(out, of, sizeof(*of)) != 0 && !set_has(&chooser->set, out) &&
		    bench_table_match(chooser->table, out) == route)
			return true;
	}
	return false;
}

static void add(struct chooser *chooser, union sixlane_addr *to, const union sixlane_addr *addr)
{
	*set_find(&chooser->set, addr) = *addr;
	*to = *addr;
}

static void add_listed(struct chooser *chooser, const struct prefix *route,
		       const union sixlane_addr *addr)
{
	union sixlane_addr *const *lists = chooser->peers->lists;
	size_t most = chooser->peers->n_excepted;
	union sixlane_addr mate;

	if (!may_have(chooser, route)) {
		if (chooser->n_elsewhere < most)
			add(chooser, &lists[PEERS_ELSEWHERE][chooser->n_elsewhere++], addr);
	} else if (chooser->n_hit < most && draw_mate(chooser, route, addr, &mate)) {
		add(chooser, &lists[PEERS_SAME_ROUTE][chooser->n_hit], &mate);
		add(chooser, &lists[PEERS_HIT][chooser->n_hit++], addr);
	}
}

static int choose(struct chooser *chooser)
{
	struct peers *peers = chooser->peers;
	const struct prefix *route;
	union sixlane_addr addr;

	chooser->tries = TRIES * 2 * peers->n_excepted;
	while (chooser->n_elsewhere < peers->n_excepted || chooser->n_hit < peers->n_excepted) {
		route = draw(chooser, &addr);
		if (!route)
			return bench_bad(
				-ERANGE,
				"table %s: its routes have too few destinations for %zu exceptions; use fewer exceptions, or another table",
				chooser->table->name, peers->n_excepted);
		add_listed(chooser, route, &addr);
	}
	chooser->tries = TRIES * peers->n;
	for (size_t i = peers->n_excepted; i < peers->n; i++) {
		if (!draw(chooser, &addr))
			return bench_bad(-ERANGE, "table %s: its routes have not %zu destinations",
					 chooser->table->name, peers->n);
		add(chooser, &peers->all[i], &addr);
	}
	return 0;
}

/* --- lists ---------------------------------------------------------------------------------- */

static int make_room(struct peers *peers)
{
	peers->all = calloc(peers->n, sizeof(*peers->all));
	peers->lists[PEERS_HIT] = peers->all;
	for (enum peers_list list = 0; list < PEERS_HIT; list++)
		peers->lists[list] = calloc(peers->n_excepted, sizeof(*peers->all));
	return peers->all && peers->lists[PEERS_ELSEWHERE] && peers->lists[PEERS_SAME_ROUTE]
		       ? 0
		       : -ENOMEM;
}

int peers_choose(const struct bench_table *table, size_t n, size_t n_excepted, uint64_t seed,
		 struct peers *out)
{
	struct peers peers = { .n = n, .n_excepted = n_excepted };
	struct chooser chooser = {
		.table = table, .peers = &peers, .seed = seed, .coin_seed = seed
	};
	int ret = make_room(&peers) ?: set_new(n + 2 * n_excepted, &chooser.set);

	ret = ret ? bench_fail(ret, "%zu destinations", n) : choose(&chooser);
	free(chooser.set.slots);
	if (ret)
		peers_free(&peers);
	else
		*out = peers;
	return ret;
}

void peers_free(struct peers *peers)
{
	for (enum peers_list list = 0; list < PEERS_HIT; list++)
		free(peers->lists[list]);
	free(peers->all);
	*peers = (struct peers){ .n = 0 };
}
