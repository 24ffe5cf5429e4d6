// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exception.h. An entry is written after its next hop, and a next hop is put when no entry
 * names it any more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "exception.h"
#include "fib.h"
#include "nexthop.h"

struct exact {
	struct fib_hash_node node;
	union sixlane_addr dst;
	struct fib_exception value;
	struct fib_next_hop *hop; /* of value, as written; a reference, or NULL */
	bool undeleted;		  /* to be deleted, which failed so far */
};

int fib_exception_init(struct fib *fib)
{
	return fib_hash_init(&fib->exceptions, offsetof(struct exact, dst),
			     sizeof(union sixlane_addr));
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct sixlane_exception content_of(const struct fib_exception *value,
					   const struct fib_next_hop *hop)
{
	struct sixlane_exception content = {
		.flags = value->origin == FIB_OPERATOR ? SIXLANE_EXCEPTION_OPERATOR
						       : SIXLANE_EXCEPTION_KERNEL,
		.mtu = value->mtu,
		.next_hop = hop ? hop->id : 0,
		.table = value->table,
		.expires_ns = value->expires_ns,
		.added_ns = value->added_ns,
	};

	if (value->mtu)
		content.flags |= SIXLANE_EXCEPTION_MTU;
	if (value->mtu && value->mtu_locked)
		content.flags |= SIXLANE_EXCEPTION_LOCKED;
	if (hop)
		content.flags |= SIXLANE_EXCEPTION_NEXT_HOP;
	if (value->observe)
		content.flags |= SIXLANE_EXCEPTION_OBSERVE;
	return content;
}

/* *out: the next hop of the exception; NULL: it has none. 0, -EINVAL or -ENOMEM. */
static int get_hop(struct fib *fib, const struct fib_exception *value, struct fib_next_hop **out)
{
	const struct fib_key_hop hop = fib_key_hop(&value->hop);

	*out = NULL;
	if (!value->has_hop)
		return 0;
	if (!hop.ifindex)
		return -EINVAL;
	*out = fib_leaf_get(fib, fib_key_of_hop(&hop));
	return *out ? 0 : -ENOMEM;
}

static int write_content(struct fib *fib, struct exact *exact,
			 const struct sixlane_exception *content)
{
	/* That of a new one has neither MTU nor next hop, so it differs. */
	const struct sixlane_exception old = content_of(&exact->value, exact->hop);

	if (!memcmp(&old, content, sizeof(*content)))
		return 0;
	return fib_write_set(fib, FIB_MAP_EXCEPTIONS, &exact->dst, content);
}

static int write_value(struct fib *fib, struct exact *exact, const struct fib_exception *value)
{
	struct fib_next_hop *hop, *unused;
	struct sixlane_exception content;
	int err = get_hop(fib, value, &hop);

	if (!err) {
		content = content_of(value, hop);
		err = write_content(fib, exact, &content);
		unused = err ? hop : exact->hop;
		if (unused)
			fib_next_hop_unref(fib, unused);
	}
	fib_next_hop_free_unused(fib);
	if (err)
		return err;
	exact->value = *value;
	exact->hop = hop;
	exact->undeleted = false;
	return 0;
}

static void forget(struct fib *fib, struct exact *exact)
{
	if (exact->hop)
		fib_next_hop_put(fib, exact->hop);
	fib_hash_remove(&fib->exceptions, exact);
	free(exact);
}

static void withdraw(struct fib *fib, struct exact *exact)
{
	if (fib_write_del(fib, FIB_MAP_EXCEPTIONS, &exact->dst)) {
		exact->undeleted = true;
		return;
	}
	forget(fib, exact);
}

/* --- the public functions --------------------------------------------------------------------- */

int fib_set_exception(struct fib *fib, const union sixlane_addr *dst,
		      const struct fib_exception *exception)
{
	struct exact *known = fib_hash_find(&fib->exceptions, dst), *exact = known;
	int err;

	if (!exception) {
		if (known)
			withdraw(fib, known);
		return 0;
	}
	if (!exact)
		exact = fib_hash_add(&fib->exceptions, dst, sizeof(*exact));
	if (!exact)
		return -ENOMEM;
	err = write_value(fib, exact, exception);
	if (err && !known)
		forget(fib, exact);
	return err;
}

const struct fib_exception *fib_exception(const struct fib *fib, const union sixlane_addr *dst)
{
	const struct exact *exact = fib_hash_find(&fib->exceptions, dst);

	return exact && !exact->undeleted ? &exact->value : NULL;
}

void fib_exception_each(struct fib *fib, fib_exception_fn fn, void *ctx)
{
	FIB_HASH_EACH(const struct exact, exact, &fib->exceptions) {
		if (!exact->undeleted)
			fn(ctx, &exact->dst, &exact->value);
	}
}

void fib_exception_retry(struct fib *fib)
{
	FIB_HASH_EACH(struct exact, exact, &fib->exceptions) {
		if (exact->undeleted)
			withdraw(fib, exact);
	}
}

int fib_adopt_exception(struct fib *fib, const union sixlane_addr *dst,
			const struct sixlane_exception *value)
{
	struct exact *exact;

	fib->adopted = true;
	fib->flag_uncovered = true;
	if (fib_hash_find(&fib->exceptions, dst))
		return -EINVAL;
	exact = fib_hash_add(&fib->exceptions, dst, sizeof(*exact));
	if (!exact)
		return -ENOMEM;
	exact->value = (struct fib_exception){
		.origin = FIB_OPERATOR,
		.table = value->table,
		.mtu = value->flags & SIXLANE_EXCEPTION_MTU ? value->mtu : 0,
		.mtu_locked = value->flags & SIXLANE_EXCEPTION_LOCKED,
		.expires_ns = value->expires_ns,
		.added_ns = value->added_ns,
	};
	if (!(value->flags & SIXLANE_EXCEPTION_NEXT_HOP))
		return 0;
	exact->hop = fib_next_hop_adopt(fib, value->next_hop);
	if (!exact->hop)
		return -ENOMEM;
	exact->hop->refs++;
	return 0;
}

/* --- route flags ------------------------------------------------------------------------------ */

void fib_set_exception_flag(struct fib *fib, uint32_t table, const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };

	fib_entry_set_flag(fib, fib_entry_match(fib, table, &host));
}

static void clear_flag(struct fib *fib, struct fib_entry *entry)
{
	entry->flag = false;
	if (entry->flag_written && entry->next_hop)
		fib_entry_reconcile(fib, entry);
}

void fib_clear_exception_flags(struct fib *fib)
{
	if (!fib->any_flag && !fib->flag_uncovered)
		return;
	fib->any_flag = fib->flag_uncovered = false;
	fib_entry_each(fib, clear_flag);
}
