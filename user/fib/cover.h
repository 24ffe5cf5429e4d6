/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bringing one entry into the trie, and what its covers must say while that fails.
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
#ifndef USER_FIB_COVER_H
#define USER_FIB_COVER_H

#include "entry.h"

/* Make the trie say at this prefix what it should, as far as that succeeds. */
void fib_entry_reconcile(struct fib *fib, struct fib_entry *entry);
/* Give the entry the flag if it is in the trie, else its cover there. NULL: there is no cover. */
void fib_entry_set_flag(struct fib *fib, struct fib_entry *entry);
/* Write SIXLANE_META_GAPS if it is not as written last. */
void fib_update_gaps(struct fib *fib);

#endif
