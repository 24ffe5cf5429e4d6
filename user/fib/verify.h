/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparing the compiled FIB with what the trie was given, at the edges of every prefix. It runs in
 * pieces; between them the routes may change.
 */
#ifndef USER_FIB_VERIFY_H
#define USER_FIB_VERIFY_H

#include "../rib/prefix.h"

struct fib;

struct fib_verify {
	uint64_t checked, wrong; /* addresses so far */
	/* private: */
	uint32_t *tables; /* ids */
	size_t n_tables, table;
	struct prefix last; /* that was checked in the table, if began */
	bool began;
};
/* trie and compiled: the values of both, as in sl_routes; 0: no route. */
typedef void (*fib_verify_fn)(void *ctx, uint32_t table, const union sixlane_addr *addr,
			      uint32_t trie, uint32_t compiled);
/* 0, -ENODATA: there is no compiled FIB, or -ENOMEM. */
int fib_verify_begin(const struct fib *fib, struct fib_verify *verify);
/*
 * Check at most max prefixes more; calls fn for each wrong address. 1: there may be more; 0: that
 * was all; -ENODATA: the compiled FIB is gone.
 */
int fib_verify_some(const struct fib *fib, struct fib_verify *verify, size_t max, fib_verify_fn fn,
		    void *ctx);
void fib_verify_end(struct fib_verify *verify);

#endif
