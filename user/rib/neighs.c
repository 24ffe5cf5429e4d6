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

struct neighs {
	struct entry **buckets;
	size_t n, n_buckets; /* n_buckets: a power of two */
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
	struct neighs *neighs = calloc(1, sizeof(*neighs));

	if (!neighs)
		return NULL;
	neighs->n_buckets = 256;
	neighs->buckets = calloc(neighs->n_buckets, sizeof(*neighs->buckets));
	if (!neighs->buckets) {
		free(neighs);
		return NULL;
	}
	return neighs;
}

void neighs_free(struct neighs *neighs)
{
	if (!neighs)
		return;
	for (size_t i = 0; i < neighs->n_buckets; i++) {
		for (struct entry *entry = neighs->buckets[i], *next; entry; entry = next) {
			next = entry->next;
			free(entry);
		}
	}
	free(neighs->buckets);
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

static struct entry **find_place(const struct neighs *neighs, uint32_t ifindex,
				 const union sixlane_addr *addr)
{
	struct entry **place = &neighs->buckets[hash_key(ifindex, addr) & (neighs->n_buckets - 1)];

	while (*place && ((*place)->neigh.ifindex != ifindex ||
			  memcmp(&(*place)->neigh.addr, addr, sizeof(*addr))))
		place = &(*place)->next;
	return place;
}

/* A failure to grow only makes chains longer. */
static void grow(struct neighs *neighs)
{
	size_t n_buckets = 2 * neighs->n_buckets;
	struct entry **buckets = calloc(n_buckets, sizeof(*buckets));

	if (!buckets)
		return;
	for (size_t i = 0; i < neighs->n_buckets; i++) {
		for (struct entry *entry = neighs->buckets[i], *next; entry; entry = next) {
			struct entry **head =
				&buckets[hash_key(entry->neigh.ifindex, &entry->neigh.addr) &
					 (n_buckets - 1)];

			next = entry->next;
			entry->next = *head;
			*head = entry;
		}
	}
	free(neighs->buckets);
	neighs->buckets = buckets;
	neighs->n_buckets = n_buckets;
}

int neighs_set(struct neighs *neighs, const struct neigh *neigh)
{
	struct entry **place = find_place(neighs, neigh->ifindex, &neigh->addr);

	if (!*place) {
		if (neighs->n >= neighs->n_buckets) {
			grow(neighs);
			place = find_place(neighs, neigh->ifindex, &neigh->addr);
		}
		*place = calloc(1, sizeof(**place));
		if (!*place)
			return -ENOMEM;
		neighs->n++;
	}
	(*place)->neigh = *neigh;
	(*place)->generation = neighs->generation;
	return 0;
}

static void remove_at(struct neighs *neighs, struct entry **place)
{
	struct entry *entry = *place;

	*place = entry->next;
	free(entry);
	neighs->n--;
}

void neighs_delete(struct neighs *neighs, uint32_t ifindex, const union sixlane_addr *addr)
{
	struct entry **place = find_place(neighs, ifindex, addr);

	if (*place)
		remove_at(neighs, place);
}

const struct neigh *neighs_find(const struct neighs *neighs, uint32_t ifindex,
				const union sixlane_addr *addr)
{
	const struct entry *entry = *find_place(neighs, ifindex, addr);

	return entry ? &entry->neigh : NULL;
}

void neighs_each(const struct neighs *neighs, void (*fn)(void *ctx, const struct neigh *neigh),
		 void *ctx)
{
	for (size_t i = 0; i < neighs->n_buckets; i++)
		for (const struct entry *entry = neighs->buckets[i]; entry; entry = entry->next)
			fn(ctx, &entry->neigh);
}

void neighs_mark(struct neighs *neighs)
{
	neighs->generation++;
}

void neighs_sweep(struct neighs *neighs)
{
	for (size_t i = 0; i < neighs->n_buckets; i++) {
		struct entry **place = &neighs->buckets[i];

		while (*place) {
			if ((*place)->generation == neighs->generation)
				place = &(*place)->next;
			else
				remove_at(neighs, place);
		}
	}
}
