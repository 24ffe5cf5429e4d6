/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The routing tables and their prefixes: an entry for each prefix that sl_routes has or should
 * have. Writes values to sl_routes and the compiled FIB. If sl_routes refuses one, packets are
 * punted.
 *
 * Terms
 * - The trie is the map sl_routes, the kernel's LPM trie.
 * - The value of an entry is what the trie stores for it: the id of a next hop, and a flag.
 * - A cover of an entry has a shorter prefix of the same table, which contains the entry's.
 * - An absent entry has a next hop, but the trie does not have it: the insertion failed.
 * - An entry that is punted names FIB_ID_FULL, whose verdict is PUNT_MAP_FULL.
 *
 * Invariants
 * - All covers of an absent entry are punted, so that its packets do not follow a shorter prefix.
 *   For this each cover counts the absent entries that it covers.
 * - SIXLANE_META_GAPS is set while an entry is absent, or there was no memory for one. Then a
 *   lookup that finds nothing does not go on to the table of the next rule.
 * - If a value can be changed only by deletion and insertion, the covers are punted from before the
 *   deletion until after the insertion.
 * - fib_set_exception_flag() sets SIXLANE_ROUTE_EXCEPTIONS at the longest prefix in the trie that
 *   matches the destination. If none matches, prefixes inserted without a cover get the flag.
 */
#ifndef USER_FIB_ENTRY_H
#define USER_FIB_ENTRY_H

#include "desired.h"

struct fib_table {
	struct fib_hash_node node;
	uint32_t id;
	struct radix entries;
};

/* Every synchronisation sets or withdraws all entries, so a few generations exist at a time. */
#define FIB_GENERATION_BITS 12
#define FIB_GENERATION_MASK ((1u << FIB_GENERATION_BITS) - 1)
_Static_assert(SIXLANE_MAX_NEXT_HOPS <= SIXLANE_ROUTE_ID_MASK + 1, "written holds an id");

struct fib_entry {
	struct radix_node node; /* first: radix_remove() frees the entry by it */
	struct fib_table *table;
	struct fib_next_hop *next_hop; /* wanted; NULL: no route, or an unknown adopted value */
	uint64_t written : 20; /* id of a next hop in the trie's value; 0: not in the trie */
	bool flag_written : 1; /* the trie's value has SIXLANE_ROUTE_EXCEPTIONS */
	bool flag : 1;	       /* the value should have it, once the entry is in the trie */
	bool absent : 1;       /* see above */
	bool failed : 1;       /* for fib_retry(): a wrong value, or a next hop without an id */
	bool stuck : 1; /* the value is wrong and cannot change: its next hop is punted in place */
	bool unrecognised : 1; /* adopted with a value that this daemon would not have written */
	bool stale : 1; /* may cover prefixes without an entry: punted until a synchronisation */
	uint64_t generation : FIB_GENERATION_BITS; /* of the synchronisation that set it last */
	uint64_t absent_below : 25;		   /* absent entries that this one covers */
};
_Static_assert(sizeof(struct fib_entry) <= 80, "a full table has hundreds of thousands");
_Static_assert(__builtin_offsetof(struct fib_entry, node) == 0, "radix_remove() frees the whole");

static inline struct fib_entry *fib_entry_of(const struct radix_node *node)
{
	return (struct fib_entry *)node; /* its first member */
}

/* NULL: no memory. */
struct fib_table *fib_table_get(struct fib *fib, uint32_t id);
/* dst must not be in the table. NULL: no memory. */
struct fib_entry *fib_entry_new(struct fib *fib, struct fib_table *table, const struct prefix *dst);
/* The entry with the longest prefix that contains dst, perhaps dst itself. NULL: none. */
struct fib_entry *fib_entry_match(const struct fib *fib, uint32_t table, const struct prefix *dst);
/* The nearest cover: the one with the longest prefix. NULL: none. */
struct fib_entry *fib_entry_cover(const struct fib_entry *entry);
/* The prefix has no route any more: delete its value, and free the entry if that succeeds. */
void fib_entry_withdraw(struct fib *fib, struct fib_entry *entry);
/* Free an entry without next hop and value. Free its table if that was the last entry. */
void fib_entry_free_if_unused(struct fib *fib, struct fib_entry *entry);
/* Call fn for every entry. fn may free the entry that it gets. */
void fib_entry_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_entry *entry));
/* For fib_hash_free(): frees a table and its entries, and writes nothing. */
void fib_table_free(void *table);

/* Write the wanted value, if the trie has another. Failures are counted for fib_retry(). */
void fib_entry_reconcile(struct fib *fib, struct fib_entry *entry);
/*
 * Set the flag of the entry, or of its nearest cover in the trie if the trie does not have the
 * entry. NULL: no entry matches the destination.
 */
void fib_entry_set_flag(struct fib *fib, struct fib_entry *entry);
/* Write SIXLANE_META_GAPS if it differs from the last write. */
void fib_update_gaps(struct fib *fib);

/*
 * A compiled_value_fn: the value of an entry in the compiled FIB; 0: none. It is the trie's, but
 * an adopted value that was not recognised is a punt there until it is replaced.
 */
uint32_t fib_entry_value(const struct radix_node *node);

#endif
