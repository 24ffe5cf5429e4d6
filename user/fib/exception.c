// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exception.h. An entry is written with all that it names, and a next hop is given back after
 * the map names it no more. What cannot be written is not there, and the caller hears of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "exception.h"

static struct fib_exact *exact_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_exact, node) : NULL;
}

static uint32_t hash_of(const union sixlane_addr *dst)
{
	return fib_hash_of(dst, sizeof(*dst));
}

static struct fib_exact *find(const struct fib *fib, const union sixlane_addr *dst)
{
	struct fib_hash_node *node = fib_hash_first(&fib->exceptions.by_dst, hash_of(dst));

	while (node && memcmp(&exact_of(node)->dst, dst, sizeof(*dst)) != 0)
		node = fib_hash_next(node);
	return exact_of(node);
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct sixlane_exception content_of(const struct fib_exception *told,
					   const struct fib_next_hop *hop)
{
	struct sixlane_exception content = {
		.flags = told->origin == FIB_OPERATOR ? SIXLANE_EXCEPTION_OPERATOR
						      : SIXLANE_EXCEPTION_KERNEL,
		.mtu = told->mtu,
		.next_hop = hop ? hop->id : 0,
		.table = told->table,
		.expires_ns = told->expires_ns,
		.added_ns = told->added_ns,
	};

	if (told->mtu)
		content.flags |= SIXLANE_EXCEPTION_MTU;
	if (told->mtu && told->mtu_locked)
		content.flags |= SIXLANE_EXCEPTION_LOCKED;
	if (hop)
		content.flags |= SIXLANE_EXCEPTION_NEXT_HOP;
	if (told->observe)
		content.flags |= SIXLANE_EXCEPTION_OBSERVE;
	return content;
}

/* The next hop of that meaning, as members of groups have it; NULL: none is told. 0 or -errno. */
static int get_hop(struct fib *fib, const struct fib_exception *told, struct fib_next_hop **out)
{
	const struct fib_key_hop hop = fib_key_hop(&told->hop);
	struct fib_leaf_key leaf;

	*out = NULL;
	if (!told->has_hop)
		return 0;
	if (!hop.ifindex)
		return -EINVAL;
	fib_key_of_hop(&leaf, &hop);
	return fib_next_hop_want_fed(fib, &leaf.key, out) ? 0 : -ENOMEM;
}

static void put_hop(struct fib *fib, struct fib_next_hop *hop)
{
	if (hop)
		fib_next_hop_unwant(fib, hop);
}

static int write_content(struct fib *fib, struct fib_exact *exact,
			 const struct sixlane_exception *content)
{
	const struct sixlane_exception old = content_of(&exact->told, exact->hop);
	int err = -ENOMEM;

	if (exact->written && !memcmp(&old, content, sizeof(*content)))
		return 0;
	for (int i = 0; i < FIB_ENOMEM_TRIES && err == -ENOMEM; i++) {
		err = fib->writer.exception_set(fib->writer.ctx, &exact->dst, content);
		fib->write_errors += err != 0;
	}
	fib->exceptions.n_written += !err && !exact->written;
	exact->written |= !err;
	return err;
}

static int write_told(struct fib *fib, struct fib_exact *exact, const struct fib_exception *told)
{
	struct fib_next_hop *hop, *old = exact->hop;
	struct sixlane_exception content;
	int err = get_hop(fib, told, &hop);

	if (err)
		return err;
	content = content_of(told, hop);
	err = write_content(fib, exact, &content);
	if (err) {
		put_hop(fib, hop);
		return err;
	}
	exact->told = *told;
	exact->hop = hop;
	exact->gone = false;
	put_hop(fib, old);
	return 0;
}

static void forget(struct fib *fib, struct fib_exact *exact)
{
	put_hop(fib, exact->hop);
	fib_hash_remove(&fib->exceptions.by_dst, &exact->node);
	free(exact);
}

/* What cannot be deleted is tried again. */
static void withdraw(struct fib *fib, struct fib_exact *exact)
{
	int err = exact->written ? fib->writer.exception_del(fib->writer.ctx, &exact->dst) : 0;

	if (err && err != -ENOENT) {
		fib->write_errors++;
		exact->gone = fib->exceptions.any_gone = true;
		return;
	}
	fib->exceptions.n_written -= exact->written;
	forget(fib, exact);
}

/* --- what is told ----------------------------------------------------------------------------- */

static struct fib_exact *new_exact(struct fib *fib, const union sixlane_addr *dst)
{
	struct fib_exact *exact = calloc(1, sizeof(*exact));

	if (!exact)
		return NULL;
	exact->dst = *dst;
	fib_hash_insert(&fib->exceptions.by_dst, &exact->node, hash_of(dst));
	return exact;
}

static int set_exact(struct fib *fib, const union sixlane_addr *dst,
		     const struct fib_exception *told)
{
	struct fib_exact *known = find(fib, dst), *exact = known ?: new_exact(fib, dst);
	int err = exact ? write_told(fib, exact, told) : -ENOMEM;

	if (err && exact && !known)
		forget(fib, exact);
	return err;
}

int fib_set_exception(struct fib *fib, const union sixlane_addr *dst,
		      const struct fib_exception *exception)
{
	struct fib_exact *exact;

	fib_adopt_finish(fib);
	if (exception)
		return set_exact(fib, dst, exception);
	exact = find(fib, dst);
	if (exact)
		withdraw(fib, exact);
	return 0;
}

const struct fib_exception *fib_exception(const struct fib *fib, const union sixlane_addr *dst)
{
	const struct fib_exact *exact = find(fib, dst);

	return exact && !exact->gone ? &exact->told : NULL;
}

struct each {
	fib_exception_fn fn;
	void *ctx;
};

static void tell_one(struct fib_hash_node *node, void *ctx)
{
	const struct fib_exact *exact = exact_of(node);
	const struct each *each = ctx;

	if (!exact->gone)
		each->fn(each->ctx, &exact->dst, &exact->told);
}

void fib_exception_each(struct fib *fib, fib_exception_fn fn, void *ctx)
{
	struct each each = { fn, ctx };

	fib_hash_each(&fib->exceptions.by_dst, tell_one, &each);
}

static void retry(struct fib_hash_node *node, void *ctx)
{
	if (exact_of(node)->gone)
		withdraw(ctx, exact_of(node));
}

void fib_exception_retry(struct fib *fib)
{
	if (!fib->exceptions.any_gone)
		return;
	fib->exceptions.any_gone = false;
	fib_hash_each(&fib->exceptions.by_dst, retry, fib);
}

/* Whether it holds is seen when it is set anew: till then it stays as it is. */
int fib_adopt_exception(struct fib *fib, const union sixlane_addr *dst,
			const struct sixlane_exception *value)
{
	struct fib_exact *exact;

	fib->adopted = true;
	fib->exceptions.uncovered = true;
	if (find(fib, dst))
		return -EINVAL;
	exact = new_exact(fib, dst);
	if (!exact)
		return -ENOMEM;
	exact->told = (struct fib_exception){
		.origin = FIB_OPERATOR,
		.table = value->table,
		.mtu = value->flags & SIXLANE_EXCEPTION_MTU ? value->mtu : 0,
		.mtu_locked = value->flags & SIXLANE_EXCEPTION_LOCKED,
		.expires_ns = value->expires_ns,
		.added_ns = value->added_ns,
	};
	exact->written = true;
	fib->exceptions.n_written++;
	if (!(value->flags & SIXLANE_EXCEPTION_NEXT_HOP))
		return 0;
	exact->hop = fib_adopt_id(fib, value->next_hop);
	if (!exact->hop)
		return -ENOMEM;
	exact->hop->wanted++;
	return 0;
}

/* --- marks ------------------------------------------------------------------------------------ */

static struct fib_entry *above(const struct fib_entry *entry)
{
	struct fib_entry *cover = fib_entry_of(radix_cover(&entry->node));

	while (cover && !cover->written)
		cover = fib_entry_of(radix_cover(&cover->node));
	return cover;
}

/* NULL: no prefix covers it. One that is withdrawn punts anyway. */
static void mark(struct fib *fib, struct fib_entry *entry)
{
	fib->exceptions.marked = true;
	if (!entry) {
		fib->exceptions.uncovered = true;
		return;
	}
	if (entry->excepted)
		return;
	entry->excepted = true;
	if (entry->wanted)
		fib_entry_settle(fib, entry);
}

void fib_set_exception_flag(struct fib *fib, uint32_t id, const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };
	const struct fib_table *table;
	struct fib_entry *entry;

	fib_adopt_finish(fib);
	table = fib_table_find(fib, id);
	entry = table ? fib_entry_of(radix_match(&table->entries, &host)) : NULL;
	mark(fib, entry && !entry->written ? above(entry) : entry);
}

void fib_mark_enter(struct fib *fib, struct fib_entry *entry)
{
	const struct fib_entry *cover = above(entry);

	entry->excepted |= cover ? cover->excepted : fib->exceptions.uncovered;
}

void fib_mark_leave(struct fib *fib, const struct fib_entry *entry)
{
	if (entry->excepted)
		mark(fib, above(entry));
}

void fib_mark_adopt(struct fib *fib, struct fib_entry *entry, bool marked, bool waiting)
{
	entry->marked = marked;
	entry->excepted = marked || waiting;
	fib->exceptions.marked |= entry->excepted;
	fib->exceptions.uncovered |= entry->excepted;
}

static void clear_mark(struct fib *fib, struct fib_entry *entry)
{
	entry->excepted = false;
	if (entry->marked && entry->wanted)
		fib_entry_settle(fib, entry);
}

void fib_clear_exception_flags(struct fib *fib)
{
	fib_adopt_finish(fib);
	if (!fib->exceptions.marked && !fib->exceptions.uncovered)
		return;
	fib->exceptions.marked = fib->exceptions.uncovered = false;
	fib_entry_each(fib, clear_mark);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void free_one(struct fib_hash_node *node, void *ctx)
{
	(void)ctx;
	free(exact_of(node));
}

void fib_exception_free_all(struct fib *fib)
{
	fib_hash_each(&fib->exceptions.by_dst, free_one, NULL);
	fib_hash_free(&fib->exceptions.by_dst);
}
