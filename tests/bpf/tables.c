// SPDX-License-Identifier: GPL-2.0-only
/* Tables of routes and their compiled FIB. */
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/maps/access.h"

struct table_route {
	struct radix_node node; /* first, as radix.h asks for */
	uint32_t value;
};

static const struct prefix everything;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "tables: %s\n", what);
	abort();
}

uint32_t tables_value(const struct radix_node *node)
{
	return ((const struct table_route *)node)->value;
}

static void *make_chunk(void *ctx, uint32_t n)
{
	return maps_write_fib_chunk(&((struct tables *)ctx)->maps, n);
}

static void publish(void *ctx, union sixlane_fib fib)
{
	maps_write_fib(&((struct tables *)ctx)->maps, fib);
}

/* A grace period takes milliseconds, so it is waited for only where there are readers. */
static int wait_for_readers(void *ctx)
{
	struct tables *tables = ctx;

	if (!tables->has_readers)
		return 0;
	tables->graces++;
	return maps_write_grace(&tables->maps);
}

void tables_open(struct tables *tables, const struct tables_fds *fds)
{
	const struct compiled_memory memory = { tables, make_chunk, publish, wait_for_readers };

	memset(tables, 0, sizeof(*tables));
	tables->maps.fd[LOADER_FIB] = fds->fib;
	tables->maps.fd[LOADER_FIB_FIRST] = fds->first;
	tables->maps.fd[LOADER_FIB_ARENA] = fds->arena;
	must(!maps_fib_open(&tables->maps, fds->arena >= 0, true), "mapping the compiled FIB");
	tables->compiled = compiled_new(&memory, tables_value);
	must(tables->compiled, "no memory");
}

void tables_close(struct tables *tables)
{
	tables_clear(tables);
	compiled_free(tables->compiled);
	maps_fib_close(&tables->maps);
	tables->compiled = NULL;
}

static const struct radix *find_table(const struct tables *tables, uint32_t id)
{
	for (size_t i = 0; i < tables->n; i++)
		if (tables->tables[i].id == id)
			return &tables->tables[i].routes;
	return NULL;
}

struct radix *tables_routes(struct tables *tables, uint32_t id)
{
	struct radix *found = (struct radix *)find_table(tables, id);

	if (found)
		return found;
	must(tables->n < TABLES_MAX, "more tables than TABLES_MAX");
	tables->tables[tables->n].id = id;
	tables->tables[tables->n].routes = (struct radix){ 0 };
	return &tables->tables[tables->n++].routes;
}

static struct table_route *add_route(struct radix *routes, const struct prefix *prefix)
{
	struct table_route *route = radix_add(routes, prefix, sizeof(*route));

	must(route, "no memory");
	return route;
}

void tables_put(struct tables *tables, uint32_t table, const struct prefix *prefix, uint32_t value)
{
	struct radix *routes = tables_routes(tables, table);
	struct table_route *route = (struct table_route *)radix_find(routes, prefix);

	if (!value && route)
		radix_remove(routes, &route->node);
	else if (value && !route)
		route = add_route(routes, prefix);
	if (value)
		route->value = value;
}

void tables_clear(struct tables *tables)
{
	for (size_t i = 0; i < tables->n; i++) {
		struct radix *routes = &tables->tables[i].routes;
		struct radix_node *node;

		while ((node = radix_first_under(routes, &everything)))
			radix_remove(routes, node);
	}
	tables->n = 0;
}

uint32_t tables_match(const struct tables *tables, uint32_t table, const union sixlane_addr *addr)
{
	const struct prefix prefix = { .addr = *addr, .len = 128 };
	const struct radix *routes = find_table(tables, table);
	const struct radix_node *node = routes ? radix_match(routes, &prefix) : NULL;

	return node ? tables_value(node) : 0;
}

/* No race is likely to show that memory was reused too early, so see that readers are waited for.
 */
void tables_build(struct tables *tables)
{
	bool was_published = tables->maps.fib_head->fib.word;
	uint64_t graces = tables->graces;

	must(!compiled_begin(tables->compiled), "begin to build");
	must(!was_published || !tables->has_readers || tables->graces > graces,
	     "nobody waited for readers");
	for (size_t i = 0; i < tables->n; i++)
		must(!compiled_add(tables->compiled, tables->tables[i].id,
				   &tables->tables[i].routes),
		     "build a table");
	must(!compiled_end(tables->compiled), "build");
}

/* A deleted route goes at once, or stays in its tree until readers no longer find it. */
struct tables_change tables_begin_change(struct tables *tables, uint32_t table,
					 const struct prefix *prefix, uint32_t value)
{
	struct tables_change change = { .table = table, .prefix = *prefix };
	struct radix_node *found = radix_find(tables_routes(tables, table), prefix);
	bool stays = found && !value && prefix->addr.bytes[5] % 2;

	change.same = found && value;
	change.gone = stays;
	if (stays) {
		((struct table_route *)found)->value = 0;
		change.node = found;
	} else {
		tables_put(tables, table, prefix, value);
	}
	return change;
}

void tables_end_change(struct tables *tables, const struct tables_change *change)
{
	struct radix *routes = tables_routes(tables, change->table);

	must(!compiled_change(tables->compiled, change->table, routes, &change->prefix,
			      change->same),
	     "change the compiled FIB");
	if (change->gone)
		radix_remove(routes, change->node);
}
