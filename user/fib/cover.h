/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the value of one entry in the trie as it should be, and its covers right while that fails.
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

/* Make the trie have the value that the entry wants. What fails is counted, and retried later. */
void fib_entry_reconcile(struct fib *fib, struct fib_entry *entry);
/* Set the flag of the entry if it is in the trie, else that of its nearest cover there. NULL: no
 * entry covers the destination. */
void fib_entry_set_flag(struct fib *fib, struct fib_entry *entry);
/* Write SIXLANE_META_GAPS if it is not as written last. */
void fib_update_gaps(struct fib *fib);

#endif
