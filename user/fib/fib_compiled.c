// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB beside the trie: what that holds, as its entries remember it, is what the other
 * says. Entries that were adopted and could not be understood, nor replaced yet, are punted.
 */
#include <errno.h>

#include "../util.h"
#include "fib_internal.h"

static uint32_t value_of(const struct radix_node *node)
{
	const struct fib_entry *entry = (const struct fib_entry *)node; /* its first member */
	uint32_t id = entry->foreign ? FIB_ID_FULL : entry->written;

	if (!entry->written)
		return 0;
	return sixlane_route_value(id, node->prefix.len) | (uint32_t)entry->marks
								   << SIXLANE_ROUTE_MARKS_SHIFT;
}

int fib_compiled_init(struct fib *fib)
{
	const struct compiled_memory memory = {
		.ctx = fib->writer.ctx,
		.chunk = fib->writer.fib_chunk,
		.publish = fib->writer.fib_publish,
		.grace = fib->writer.grace,
	};

	if (!memory.chunk)
		return 0;
	fib->compiled = compiled_new(&memory, value_of);
	return fib->compiled ? 0 : -ENOMEM;
}

void fib_compiled_change(struct fib *fib, const struct fib_entry *entry, bool same)
{
	/* That it failed is seen by fib_is_compiled(). */
	if (fib->compiled)
		compiled_change(fib->compiled, entry->table->id, &entry->table->entries,
				&entry->node.prefix, same);
}

struct build {
	struct fib *fib;
	int err;
};

static void add_table(struct fib_hash_node *node, void *ctx)
{
	const struct fib_table *table = container_of(node, struct fib_table, node);
	struct build *build = ctx;

	if (!build->err)
		build->err = compiled_add(build->fib->compiled, table->id, &table->entries);
}

int fib_compile(struct fib *fib)
{
	struct build build = { .fib = fib };

	if (!fib->compiled)
		return -EOPNOTSUPP;
	if (compiled_is_live(fib->compiled))
		return 0;
	build.err = compiled_begin(fib->compiled);
	if (!build.err)
		fib_hash_each(&fib->tables, add_table, &build);
	return build.err ?: compiled_end(fib->compiled);
}

bool fib_is_compiled(const struct fib *fib)
{
	return fib->compiled && compiled_is_live(fib->compiled);
}
