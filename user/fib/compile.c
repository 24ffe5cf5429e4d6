// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building the compiled FIB (../compiled/) from all tables, and comparing it with the trie. The
 * comparison reads it as the datapath does, from the published roots.
 */
#include <errno.h>
#include <stdlib.h>

#include "entry.h"
#include "fib.h"

int fib_compile(struct fib *fib)
{
	int err;

	if (fib->compiled->live)
		return 0;
	err = compiled_begin(fib->compiled);
	if (err)
		return err;
	FIB_HASH_EACH(const struct fib_table, table, &fib->tables) {
		err = compiled_add(fib->compiled, table->id, &table->entries);
		if (err)
			return err;
	}
	return compiled_end(fib->compiled);
}

bool fib_is_compiled(const struct fib *fib)
{
	return fib->compiled->live;
}

void fib_decompile(struct fib *fib)
{
	if (!fib_is_compiled(fib))
		return;
	compiled_drop(fib->compiled);
	fib->n_distrusted++;
}

/* --- comparing -------------------------------------------------------------------------------- */

static const struct prefix all;

int fib_verify_begin(const struct fib *fib, struct fib_verify *verify)
{
	*verify = (struct fib_verify){ 0 };
	if (!fib_is_compiled(fib))
		return -ENODATA;
	verify->tables = calloc(fib->tables.count + 1, sizeof(*verify->tables));
	if (!verify->tables)
		return -ENOMEM;
	FIB_HASH_EACH(const struct fib_table, table, &fib->tables)
		verify->tables[verify->n_tables++] = table->id;
	return 0;
}

void fib_verify_end(struct fib_verify *verify)
{
	free(verify->tables);
	verify->tables = NULL;
}

/* The value that the trie should return for an address, as the entries remember it. */
static uint32_t expected(const struct radix *routes, const union sixlane_addr *addr)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct radix_node *at = radix_match(routes, &host);

	while (at && !fib_entry_value(at))
		at = radix_cover(at);
	return at ? fib_entry_value(at) : 0;
}

static void check(const struct fib *fib, struct fib_verify *verify, const struct fib_table *table,
		  const struct prefix *prefix, fib_verify_fn fn, void *ctx)
{
	const struct compiled_view view = compiled_as_published(fib->compiled);
	union sixlane_addr edges[PREFIX_EDGES];

	prefix_edges(prefix, edges);
	for (size_t i = 0; i < PREFIX_EDGES; i++) {
		uint32_t want = expected(&table->entries, &edges[i]), found;

		if (compiled_find(&view, table->id, &edges[i], &found))
			continue; /* the trie answers this */
		verify->checked++;
		if (found == want)
			continue;
		verify->wrong++;
		fn(ctx, table->id, &edges[i], want, found);
	}
}

int fib_verify_some(const struct fib *fib, struct fib_verify *verify, size_t max, fib_verify_fn fn,
		    void *ctx)
{
	while (verify->table < verify->n_tables) {
		const struct fib_table *table =
			fib_hash_find(&fib->tables, &verify->tables[verify->table]);
		const struct radix_node *at = NULL;

		if (!fib_is_compiled(fib))
			return -ENODATA;
		if (table && verify->began)
			at = radix_after(&table->entries, &verify->last);
		else if (table)
			at = radix_first_under(&table->entries, &all);
		for (; at; at = radix_next_under(at, &all)) {
			if (!max--)
				return 1;
			check(fib, verify, table, &at->prefix, fn, ctx);
			verify->last = at->prefix;
			verify->began = true;
		}
		verify->table++;
		verify->began = false;
	}
	return 0;
}
