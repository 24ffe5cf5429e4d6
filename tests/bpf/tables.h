/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of routes as the daemon keeps them, in radix trees, and their compiled FIB in a map
 * sl_fib, by the daemon's own code. Knows neither sl_routes nor what a value means. A failure ends
 * the run.
 */
#ifndef TESTS_BPF_TABLES_H
#define TESTS_BPF_TABLES_H

#include "../../user/compiled/compiled.h"
#include "../../user/maps/maps.h"

#define TABLES_MAX 32

struct tables {
	struct maps maps; /* only what maps/fib.c needs */
	struct compiled *compiled;
	bool has_readers; /* else there are no grace periods */
	uint64_t graces;  /* periods waited for */
	struct {
		uint32_t id;
		struct radix routes;
	} tables[TABLES_MAX];
	size_t n;
};

/* arena: negative where the programs have none. */
struct tables_fds {
	int fib, first, arena;
};
/* A zeroed struct tables, which was not opened, holds routes, but they cannot be compiled. */
void tables_open(struct tables *tables, const struct tables_fds *fds);
void tables_close(struct tables *tables);

/* The routes of a table, which is created if there is none. */
struct radix *tables_routes(struct tables *tables, uint32_t table);
/* The value of an entry. */
uint32_t tables_value(const struct radix_node *node);
/* Set a route, or delete it (value 0). Nothing is compiled. */
void tables_put(struct tables *tables, uint32_t table, const struct prefix *prefix, uint32_t value);
/* Delete all routes and tables. Nothing is compiled. */
void tables_clear(struct tables *tables);
/* The value by a plain walk of the radix tree; 0: no route. */
uint32_t tables_match(const struct tables *tables, uint32_t table, const union sixlane_addr *addr);

/* Compile everything anew and publish it. */
void tables_build(struct tables *tables);
/* tables_put() and its compilation, in two halves: first the routes, then what readers find. */
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
