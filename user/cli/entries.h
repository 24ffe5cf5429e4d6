/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sorted copy of the entries of sl_routes or sl_src_routes, for commands that show many of them
 * or that need the prefix of a match, which the trie's values do not contain.
 */
#ifndef USER_CLI_ENTRIES_H
#define USER_CLI_ENTRIES_H

#include "../maps/maps.h"

struct entry {
	uint32_t table; /* in sl_src_routes: of the sources of a route, by its id */
	struct prefix prefix;
	uint32_t value;
	size_t parent; /* index + 1 of the next shorter entry that covers it; 0: none */
};

/* All zero at first. Free with entries_free(). */
struct entries {
	struct entry *at; /* by table, then address, then length */
	size_t n;
	bool sorted;
	/* What entries_add() is to accept: a table (0: all), and prefixes within this one. */
	uint32_t table;
	struct prefix within;
};

/* A maps_route_fn; ctx: struct entries. Appends the entry. 0 or -ENOMEM. */
int entries_add(void *ctx, const struct sixlane_route_key *key, uint32_t value);
/* Sorts for entries_of() and entries_match(), and removes duplicates: a walk of a trie that changes
 * may return an entry twice. */
void entries_sort(struct entries *entries);
/* Reads all of sl_src_routes, unless that was done before. 0, or -errno after logging. */
int entries_read_sources(const struct maps *maps, struct entries *entries);
void entries_free(struct entries *entries);

/* The first entry of a table, and how many there are. NULL and 0: none. */
const struct entry *entries_of(const struct entries *entries, uint32_t table, size_t *n);
/* Longest match in a table. NULL: none. */
const struct entry *entries_match(const struct entries *entries, uint32_t table,
				  const union sixlane_addr *addr);

#endif
