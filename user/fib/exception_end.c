// SPDX-License-Identifier: GPL-2.0-only
/*
 * How exceptions end: those that an origin does not say again when it says all, and those that have
 * expired. All of them go by fib_exceptions_expire(), so many at a time, but for what is one of two
 * words of a host.
 */
#include "../lib/util.h"
#include "host.h"

/* --- when ------------------------------------------------------------------------------------- */

uint64_t fib_host_end_ns(const struct fib_host *host, enum fib_origin origin)
{
	const struct fib_word *word = &host->words[origin];

	if (!word->there)
		return UINT64_MAX;
	if (word->said.confirm_ns)
		return host->doubtful ? UINT64_MAX : word->said.confirm_ns;
	if (word->said.gone_ns)
		return word->said.gone_ns;
	return word->said.expires_ns ? word->said.expires_ns : UINT64_MAX;
}

/* --- what is not said again ------------------------------------------------------------------- */

bool fib_exceptions_begin(struct fib *fib, enum fib_origin origin)
{
	fib_adopt_finish(fib);
	fib->hosts.generation[origin]++;
	return origin == FIB_KERNEL && fib_lost_begin(fib);
}

/* An origin whose words are told anew, and who says of those that are not whether they are gone. */
struct anew {
	enum fib_origin origin;
	fib_gone_fn gone;
	void *ctx;
};

static enum fib_doubt doubt_of(const struct fib *fib, const struct fib_host *host)
{
	if (!host->doubtful)
		return FIB_NOT_DOUBTED_SINCE;
	if (host->doubted_in == fib->hosts.generation[FIB_KERNEL])
		return FIB_DOUBTED_SINCE;
	return fib_list_is_empty(&host->doubts) ? FIB_DOUBTED_ASKED : FIB_NOT_DOUBTED_SINCE;
}

static void leave(struct fib *fib, struct fib_host *host, struct fib_word *word)
{
	word->said.expires_ns = FIB_LONG_EXPIRED;
	word->said.confirm_ns = word->said.gone_ns = 0;
	fib_list_unlink(&host->leaving);
	fib_list_append(&fib->hosts.leaving, &host->leaving);
	fib_host_place(fib, host);
}

static void drop_unsaid(struct fib *fib, struct fib_host *host, const struct anew *anew)
{
	struct fib_word *word = &host->words[anew->origin];

	if (!word->there || word->generation == fib->hosts.generation[anew->origin])
		return;
	if (anew->gone &&
	    !anew->gone(anew->ctx, host->table->id, &host->node.prefix.addr, doubt_of(fib, host))) {
		fib_owner_doubt_host(fib, host);
		return;
	}
	if (anew->gone) {
		fib_host_lose_behind(fib, host);
		fib_list_unlink(&host->doubts);
	}
	/* For the operator's its entry would seem to have expired as well. */
	if (anew->origin == FIB_OPERATOR || (anew->gone && !host->words[FIB_OPERATOR].there)) {
		leave(fib, host, word);
	} else {
		word->there = false;
		fib_host_update(fib, host);
	}
}

/*
 * Many may go at once, and the kernel gives their memory to those that come next. In the order in
 * which they came they leave it as they found it: next to each other. In another one the few that
 * come after many lie in a page each, and packets wait for address translations.
 */
void fib_exceptions_end(struct fib *fib, enum fib_origin origin, bool complete, fib_gone_fn gone,
			void *ctx)
{
	struct fib_list *arrivals = &fib->hosts.arrivals, *at, *after;
	const struct anew anew = { origin, gone, ctx };

	fib_adopt_finish(fib);
	for (at = arrivals->next; at != arrivals; at = after) {
		after = at->next;
		drop_unsaid(fib, container_of(at, struct fib_host, arrivals), &anew);
	}
	if (origin == FIB_KERNEL)
		fib_lost_end(fib, complete);
}

bool fib_exceptions_leave(const struct fib *fib)
{
	return !fib_list_is_empty(&fib->hosts.leaving);
}

/* --- going ------------------------------------------------------------------------------------ */

static void expire(struct fib *fib, struct fib_host *host, uint64_t now_ns)
{
	const struct fib_word *oper = &host->words[FIB_OPERATOR];
	const struct sixlane_exception_key key = fib_host_key(host);
	bool doubted = false;

	if (fib_host_end_ns(host, FIB_OPERATOR) <= now_ns &&
	    oper->said.expires_ns != FIB_LONG_EXPIRED)
		fib->writer.operator_over(fib->writer.ctx, &key, now_ns);
	for (int origin = 0; origin < FIB_N_ORIGINS; origin++) {
		struct fib_word *word = &host->words[origin];

		if (fib_host_end_ns(host, origin) > now_ns)
			continue;
		word->there = word->said.confirm_ns != 0;
		doubted |= word->there;
	}
	if (doubted)
		fib_owner_doubt_host(fib, host);
	else
		fib_host_update(fib, host);
}

void fib_exceptions_expire(struct fib *fib, uint64_t now_ns, size_t max, uint64_t *next_ns)
{
	const struct fib_heap *heap = &fib->hosts.expiry;
	struct fib_host *host;

	fib_adopt_finish(fib);
	fib_lost_at(fib, now_ns);
	for (; max && fib_exceptions_leave(fib); max--) {
		host = container_of(fib->hosts.leaving.next, struct fib_host, leaving);
		fib_list_unlink(&host->leaving);
		expire(fib, host, now_ns);
	}
	for (; max && fib_heap_first(heap) && fib_heap_first(heap)->key <= now_ns; max--) {
		host = container_of(fib_heap_first(heap), struct fib_host, expiry);
		expire(fib, host, now_ns);
	}
	*next_ns = fib_heap_first(heap) ? fib_heap_first(heap)->key : UINT64_MAX;
}
