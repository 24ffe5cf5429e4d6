/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exact exceptions: a destination with an entry of sl_exceptions. What the entry says, and the next
 * hop that it leads to, which is held while the map names it. Knows no kernel: who sets an entry
 * decides whether it holds. Beside them the marks of routes. Private to fib/.
 *
 * Invariant: of every destination that was marked, the longest prefix in the trie that covers it
 * has the mark; if none covers it, the next one that comes without a cover has it.
 */
#ifndef USER_FIB_EXCEPTION_H
#define USER_FIB_EXCEPTION_H

#include "fib_internal.h"

struct fib_exact {
	struct fib_hash_node node; /* by dst */
	union sixlane_addr dst;
	struct fib_exception told;
	struct fib_next_hop *hop; /* that told is written with; NULL: none */
	bool written;
	bool gone; /* it could not be deleted */
};

void fib_exception_free_all(struct fib *fib);
/* Delete those that could not be deleted. */
void fib_exception_retry(struct fib *fib);

/* Before an entry is written where none was: it has the mark of the next shorter one. */
void fib_mark_enter(struct fib *fib, struct fib_entry *entry);
/* Before an entry goes from the trie: the next shorter one has its mark. */
void fib_mark_leave(struct fib *fib, const struct fib_entry *entry);
/* An entry is adopted. waiting: for a write, and perhaps for its mark. */
void fib_mark_adopt(struct fib *fib, struct fib_entry *entry, bool marked, bool waiting);

#endif
