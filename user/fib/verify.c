// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparing the compiled FIB with what the entries remember that the trie was told. Reads it as the
 * datapath does, from the roots that were published: what its builder believes does not count.
 */
#include <errno.h>

#include "../lib/util.h"
#include "fib_internal.h"

static const struct prefix all;

static void collect_table(struct fib_hash_node *node, void *ctx)
{
	const struct fib_table *table = container_of(node, struct fib_table, node);
	struct fib_verify *verify = ctx;

	verify->tables[verify->n_tables++] = table->id;
}

int fib_verify_begin(const struct fib *fib, struct fib_verify *verify)
{
	*verify = (struct fib_verify){ 0 };
	if (!fib_is_compiled(fib))
		return -ENODATA;
	verify->tables = calloc(fib->tables.count + 1, sizeof(*verify->tables));
	if (!verify->tables)
		return -ENOMEM;
	fib_hash_each(&fib->tables, collect_table, verify);
	return 0;
}

void fib_verify_end(struct fib_verify *verify)
{
	free(verify->tables);
	verify->tables = NULL;
}

/* The entry behind a prefix that may be gone, in the order of radix_next_under(). */
static struct radix_node *next_after(const struct radix *routes, const struct prefix *last)
{
	struct radix_node *at = radix_find(routes, last);
	struct prefix behind = *last;

	if (at)
		return radix_next_under(at, &all);
	at = radix_first_under(routes, last);
	/* what is below it, then what is to the right of it, from near to far */
	for (; !at && behind.len; behind.len--) {
		const unsigned int bit = behind.len - 1;
		struct prefix right = behind;

		prefix_mask(&right);
		if (right.addr.bytes[bit / 8] & 0x80 >> bit % 8)
			continue;
		right.addr.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		at = radix_first_under(routes, &right);
	}
	return at;
}

static uint32_t told(const struct radix *routes, const union sixlane_addr *addr)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct radix_node *at = radix_match(routes, &host);

	while (at && !fib_compiled_value(at))
		at = radix_cover(at);
	return at ? fib_compiled_value(at) : 0;
}

static void check(const struct fib *fib, struct fib_verify *verify, const struct fib_table *table,
		  const struct prefix *prefix, fib_verify_fn fn, void *ctx)
{
	union sixlane_addr edges[PREFIX_EDGES];

	prefix_edges(prefix, edges);
	for (size_t i = 0; i < PREFIX_EDGES; i++) {
		uint32_t want = told(&table->entries, &edges[i]), found;

		if (compiled_find(&fib->view, table->id, &edges[i], &found))
			continue; /* the trie's to answer */
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
		const struct fib_table *table = fib_table_find(fib, verify->tables[verify->table]);
		const struct radix_node *at = NULL;

		if (!fib_is_compiled(fib))
			return -ENODATA;
		if (table && verify->began)
			at = next_after(&table->entries, &verify->last);
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
