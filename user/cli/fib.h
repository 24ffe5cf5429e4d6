/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the files of `sixlane fib`, and for `sixlane status`: which of trie and compiled FIB
 * answers, and whether they agree.
 */
#ifndef USER_CLI_FIB_H
#define USER_CLI_FIB_H

#include "../rib/radix.h"
#include "show.h"

/* "trie" or "compiled": the one that answers. */
const char *fib_answers(const struct maps *maps);
/* Why there is no compiled FIB; NULL: there is one. */
const char *fib_why_absent(const struct maps *maps, bool daemon);
/* Why the compiled FIB does not answer though it is wanted; NULL: it does, or is not wanted. */
const char *fib_why_not(const struct maps *maps, bool daemon);
json_t *fib_json(const struct maps *maps, bool daemon);
/* A line of status, and one more of its -s. */
void fib_status_text(const struct cmd_options *options, const struct maps *maps, bool daemon);

/* A copy of sl_routes, by table. */
struct routes_entry {
	struct radix_node node;
	uint32_t table, value;
};

struct routes_table {
	uint32_t id;
	struct radix routes;
};

struct fib_routes {
	struct routes_entry **at;
	struct routes_table *tables;
	size_t n, room, n_tables, tables_room;
};

/* 0 or -errno. Free in any case. */
int fib_routes_read(struct fib_routes *routes, const struct maps *maps);
void fib_routes_free(struct fib_routes *routes);
/* What the copy says; 0: no route. */
uint32_t fib_routes_match(const struct fib_routes *routes, uint32_t table,
			  const union sixlane_addr *addr);

/* A random number of the same seed, always the same; state is changed. */
uint64_t fib_random(uint64_t *state);

int fib_verify_run(const struct cmd_options *options, uint32_t n_random, uint32_t seed);

#endif
