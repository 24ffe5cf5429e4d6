// SPDX-License-Identifier: GPL-2.0-only
/* A hash table with chains, keyed by device and address. */
#include "neighs.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct entry *next;
	struct neigh neigh;
	uint32_t generation;
};

#define BUCKETS 65536u /* more than most kernels have neighbours */

struct neighs {
	struct entry *buckets[BUCKETS];
	uint32_t generation;
};

/* NUD_VALID of include/net/neighbour.h, which is not part of the kernel's user API. */
#define NUD_VALID_STATES \
	(NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

bool neigh_usable(const struct neigh *neigh)
{
	return neigh->has_mac && (neigh->state & NUD_VALID_STATES);
}

struct neighs *neighs_new(void)
{
	return calloc(1, sizeof(struct neighs));
}

void neighs_free(struct neighs *neighs)
{
	if (!neighs)
		return;
	neighs->generation++;
	neighs_sweep(neighs);
	free(neighs);
}

/* A 64-bit mix (the finaliser of splitmix64); addresses of one /64 differ in few bits only. */
static uint64_t hash_key(uint32_t ifindex, const union sixlane_addr *addr)
{
	uint64_t hash =
		addr->halves[0] * 0x9e3779b97f4a7c15u ^ addr->halves[1] ^ (uint64_t)ifindex << 32;

	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
	return hash ^ hash >> 31;
}

/* The link to the neighbour, or to the end of its chain. */
static struct entry **find_place(struct neighs *neighs, uint32_t ifindex,
				 const union sixlane_addr *addr)
{
	struct entry **place = &neighs->buckets[hash_key(ifindex, addr) % BUCKETS];

	while (*place && ((*place)->neigh.ifindex != ifindex ||
			  memcmp(&(*place)->neigh.addr, addr, sizeof(*addr))))
		place = &(*place)->next;
	return place;
}

int neighs_set(struct neighs *neighs, const struct neigh *neigh)
{
	struct entry **place = find_place(neighs, neigh->ifindex, &neigh->addr);

	if (!*place) {
		*place = calloc(1, sizeof(**place));
		if (!*place)
			return -ENOMEM;
	}
	(*place)->neigh = *neigh;
	(*place)->generation = neighs->generation;
	return 0;
}

static void remove_at(struct entry **place)
{
	struct entry *entry = *place;

	*place = entry->next;
	free(entry);
}

void neighs_delete(struct neighs *neighs, uint32_t ifindex, const union sixlane_addr *addr)
{
	struct entry **place = find_place(neighs, ifindex, addr);

	if (*place)
		remove_at(place);
}

const struct neigh *neighs_find(const struct neighs *neighs, uint32_t ifindex,
				const union sixlane_addr *addr)
{
	const struct entry *entry = *find_place((struct neighs *)neighs, ifindex, addr);

	return entry ? &entry->neigh : NULL;
}

void neighs_each(const struct neighs *neighs, void (*fn)(void *ctx, const struct neigh *neigh),
		 void *ctx)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct entry *entry = neighs->buckets[i]; entry; entry = entry->next)
			fn(ctx, &entry->neigh);
}

void neighs_mark(struct neighs *neighs)
{
	neighs->generation++;
}

void neighs_sweep(struct neighs *neighs)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct entry **place = &neighs->buckets[i];

		while (*place) {
			if ((*place)->generation == neighs->generation)
				place = &(*place)->next;
			else
				remove_at(place);
		}
	}
}
