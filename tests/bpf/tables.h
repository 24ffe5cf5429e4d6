/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of routes as the daemon has them, tries of prefixes, and the compiled FIB of them in a
 * map sl_fib, through the daemon's own code and memory. Knows neither sl_routes, which is filled
 * beside, nor what a value means. What fails ends the run: there is nothing to be tested then.
 */
#ifndef TESTS_BPF_TABLES_H
#define TESTS_BPF_TABLES_H

#include "../../user/compiled/compiled.h"
#include "../../user/maps/maps.h"

#define TABLES_MAX 32

struct tables {
	struct maps maps; /* what maps/fib.c needs of them, no more */
	struct compiled *compiled;
	bool has_readers; /* else nobody needs to be waited for */
	uint64_t graces;  /* periods that were waited for */
	struct {
		uint32_t id;
		struct radix routes;
	} tables[TABLES_MAX];
	size_t n;
};

/* arena: negative where the programs know of none. */
struct tables_fds {
	int fib, first, arena;
};
/* A zeroed struct tables is one of routes alone, for which nothing can be compiled. */
void tables_open(struct tables *tables, const struct tables_fds *fds);
/* Publishes nothing. */
void tables_close(struct tables *tables);

/* The routes of a table, which is made. */
struct radix *tables_routes(struct tables *tables, uint32_t table);
/* The value of an entry. */
uint32_t tables_value(const struct radix_node *node);
/* 0: no longer there. Returns what it was, 0: nothing. Nothing is compiled. */
uint32_t tables_put(struct tables *tables, uint32_t table, const struct prefix *prefix,
		    uint32_t value);
/* Routes gone, tables too. Nothing is compiled. */
void tables_clear(struct tables *tables);
/* By the naive walk of the trie; 0: no route. addr is in network order. */
uint32_t tables_match(const struct tables *tables, uint32_t table, const union sixlane_addr *addr);

/* All of it anew, and published. */
void tables_build(struct tables *tables);
/*
 * tables_put() in two halves, for what is to be done at the same time elsewhere: the routes, and
 * then what readers find. The first returns the argument of the second.
 */
struct tables_change {
	uint32_t table;
	struct prefix prefix;
	struct radix_node *node;
	bool same, gone; /* gone: it is still in its trie, without a value */
};
struct tables_change tables_begin_change(struct tables *tables, uint32_t table,
					 const struct prefix *prefix, uint32_t value);
void tables_end_change(struct tables *tables, const struct tables_change *change);

#endif
