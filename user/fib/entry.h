/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables, and their prefixes: an entry for each prefix that is in the trie or should be. Keeps its
 * value in the trie and in the compiled FIB as it should be, and its covers right while that fails.
 *
 * Invariants
 * - An absent entry is counted in all entries that cover it in its table, and these are
 *   PUNT_MAP_FULL. SIXLANE_META_GAPS does the same for other tables.
 * - Covers are punted before an entry leaves the trie against its will, and restored after it is
 *   back.
 * - Of every destination that was given to fib_set_exception_flag(), the longest prefix in the trie
 *   that covers it has SIXLANE_ROUTE_EXCEPTIONS. If none covers it, the next prefix that comes
 *   without a cover has the flag.
 */
#ifndef USER_FIB_ENTRY_H
#define USER_FIB_ENTRY_H

#include "desired.h"

struct fib_table {
	struct fib_hash_node node;
	uint32_t id;
	struct radix entries;
};

/* A synchronisation sets or drops every entry, so that no generation is older than a few. */
#define FIB_GENERATION_BITS 12
#define FIB_GENERATION_MASK ((1u << FIB_GENERATION_BITS) - 1)
_Static_assert(SIXLANE_MAX_NEXT_HOPS <= SIXLANE_ROUTE_ID_MASK + 1, "written holds an id");

struct fib_entry {
	struct radix_node node;
	struct fib_table *table;
	struct fib_next_hop *next_hop; /* NULL: withdrawn, or adopted and not understood */
	uint64_t written : 20;	       /* id that the trie names here, 0: not in the trie */
	bool flag_written : 1;	       /* with SIXLANE_ROUTE_EXCEPTIONS */
	bool flag : 1;		       /* it should have that flag, once it is in the trie */
	bool absent : 1;	       /* has a next hop, not in the trie, counted in its covers */
	bool failed : 1;	       /* the trie does not say what it should */
	bool stuck : 1;	       /* names the wrong next hop, which is punted in place for it */
	bool unrecognised : 1; /* adopted with a value that we would not have written */
	bool stale : 1; /* may cover prefixes that are not remembered: punted until synchronised */
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
/* The longest entry that covers dst; NULL: none. */
struct fib_entry *fib_entry_match(const struct fib *fib, uint32_t table, const struct prefix *dst);
/* The next shorter one that covers it; NULL: none. */
struct fib_entry *fib_entry_cover(const struct fib_entry *entry);
/* The prefix has no route any more. */
void fib_entry_withdraw(struct fib *fib, struct fib_entry *entry);
/* Free a withdrawn entry that has left the trie, and its table if that is empty then. */
void fib_entry_free_if_unused(struct fib *fib, struct fib_entry *entry);
/* Calls fn for every entry; it may free its own. */
void fib_entry_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_entry *entry));
/* For fib_hash_free(). */
void fib_table_free(void *table);

/* Make the trie have the value that the entry wants. What fails is counted, and retried later. */
void fib_entry_reconcile(struct fib *fib, struct fib_entry *entry);
/* Set the flag of the entry if it is in the trie, else that of its nearest cover there. NULL: no
 * entry covers the destination. */
void fib_entry_set_flag(struct fib *fib, struct fib_entry *entry);
/* Write SIXLANE_META_GAPS if it is not as written last. */
void fib_update_gaps(struct fib *fib);

/* The value that the trie has at an entry; 0: none. Adopted values that were not recognised, and
 * not replaced yet, are punted in the compiled FIB. A compiled_value_fn. */
uint32_t fib_entry_value(const struct radix_node *node);

#endif
