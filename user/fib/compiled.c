// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB beside the trie: what that holds, as its entries remember it, is what the other
 * says. Entries that were adopted and could not be understood, nor replaced yet, are punted.
 */
#include <errno.h>

#include "../lib/util.h"
#include "fib_internal.h"

uint32_t fib_compiled_value(const struct radix_node *node)
{
	const struct fib_entry *entry = (const struct fib_entry *)node; /* its first member */
	uint32_t id = entry->foreign ? FIB_ID_FULL : entry->written;

	if (!entry->written)
		return 0;
	return sixlane_route_value(id, node->prefix.len) |
	       (entry->marked ? SIXLANE_ROUTE_EXCEPTIONS : 0);
}

/* What readers are given is kept in view, too, for verify.c. */
static void *give_chunk(void *ctx, uint32_t n)
{
	struct fib *fib = ctx;
	void *chunk = fib->writer.fib_chunk(fib->writer.ctx, n);

	fib->view.chunks[n] = chunk;
	return chunk;
}

static void publish(void *ctx, union sixlane_fib at)
{
	struct fib *fib = ctx;

	fib->view.fib = at;
	fib->writer.fib_publish(fib->writer.ctx, at);
}

static int wait_grace(void *ctx)
{
	struct fib *fib = ctx;

	return fib->writer.grace(fib->writer.ctx);
}

int fib_compiled_init(struct fib *fib)
{
	const struct compiled_memory memory = {
		.ctx = fib,
		.chunk = give_chunk,
		.publish = publish,
		.grace = wait_grace,
	};

	if (!fib->writer.fib_chunk)
		return 0;
	fib->compiled = compiled_new(&memory, fib_compiled_value);
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

void fib_decompile(struct fib *fib)
{
	if (!fib_is_compiled(fib))
		return;
	compiled_drop(fib->compiled);
	fib->n_distrusted++;
}
