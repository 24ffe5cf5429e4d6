/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeping the compiled FIB (../compiled/) beside the trie: it says what the entries remember that
 * the trie holds. Adopted values that were not recognised, and not replaced yet, are punted in it.
 */
#ifndef USER_FIB_COMPILE_H
#define USER_FIB_COMPILE_H

#include "entry.h"

/* 0 or -ENOMEM. */
int fib_compile_init(struct fib *fib);
/* What the trie holds for an entry; 0: nothing. A compiled_value_fn. */
uint32_t fib_compile_value(const struct radix_node *node);
/* What the trie holds at the entry has changed. same_prefix: it held a value before and does now.
 */
void fib_compile_change(struct fib *fib, const struct fib_entry *entry, bool same_prefix);

#endif
