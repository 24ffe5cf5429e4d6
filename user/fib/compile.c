// SPDX-License-Identifier: GPL-2.0-only
/* See compile.h. */
#include <errno.h>

#include "compile.h"
#include "fib.h"

uint32_t fib_compile_value(const struct radix_node *node)
{
	const struct fib_entry *entry = fib_entry_of(node);
	uint32_t id = entry->unrecognised ? FIB_ID_FULL : entry->written;

	if (!entry->written)
		return 0;
	return sixlane_route_value(id, node->prefix.len) |
	       (entry->flag_written ? SIXLANE_ROUTE_EXCEPTIONS : 0);
}

/* The view follows what readers are given, for verify.c. */
static void *give_chunk(void *ctx, uint32_t n)
{
	struct fib *fib = ctx;
	void *chunk = fib->writer.chunk(fib->writer.ctx, n);

	fib->view.chunks[n] = chunk;
	return chunk;
}

static void publish(void *ctx, union sixlane_fib at)
{
	struct fib *fib = ctx;

	fib->view.fib = at;
	fib->writer.publish(fib->writer.ctx, at);
}

static int wait_grace(void *ctx)
{
	struct fib *fib = ctx;

	return fib->writer.grace(fib->writer.ctx);
}

int fib_compile_init(struct fib *fib)
{
	const struct compiled_memory memory = {
		.ctx = fib,
		.chunk = give_chunk,
		.publish = publish,
		.grace = wait_grace,
	};

	if (!fib->writer.chunk)
		return 0;
	fib->compiled = compiled_new(&memory, fib_compile_value);
	return fib->compiled ? 0 : -ENOMEM;
}

void fib_compile_change(struct fib *fib, const struct fib_entry *entry, bool same_prefix)
{
	/* A failure shows in fib_is_compiled(). */
	if (fib->compiled)
		compiled_change(fib->compiled, entry->table->id, &entry->table->entries,
				&entry->node.prefix, same_prefix);
}

int fib_compile(struct fib *fib)
{
	const struct fib_table *table, *after;
	int err;

	if (!fib->compiled)
		return -EOPNOTSUPP;
	if (compiled_is_live(fib->compiled))
		return 0;
	err = compiled_begin(fib->compiled);
	if (err)
		return err;
	FIB_HASH_EACH(table, after, &fib->tables)
	{
		err = compiled_add(fib->compiled, table->id, &table->entries);
		if (err)
			return err;
	}
	return compiled_end(fib->compiled);
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
