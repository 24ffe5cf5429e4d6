/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fib's history beside its model: what both are told, and that packets meet at every write what
 * the model says. Memory may run out while the fib is at work, if the test sees to that.
 */
#ifndef TEST_FIB_HISTORY_H
#define TEST_FIB_HISTORY_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fib_model.h"

/* More than are said, and suspected in other tables. */
#define NO_BOUND SIM_MAX_EXCEPTIONS

struct history {
	struct sim *sim;
	struct fib *fib;
	struct model model;
	bool tight;	/* few ids and cells */
	bool trouble;	/* something was made to fail since the last clean retry */
	bool forgot;	/* the fib said -ENOMEM since the last synchronisation without */
	bool lost;	/* … or of an exception, since all were told the last time … */
	bool lost_anew; /* … began to be told */
	bool bounded;	/* there may be fewer exceptions than are said */
	uint32_t max_exceptions;
	uint64_t evicted;
	uint64_t seed;
	unsigned int operation;
};

static unsigned int history_alloc_fails; /* one in so many while the fib is at work; 0: never */
static bool history_at_work;

static inline uint32_t history_random(struct history *history, uint32_t n)
{
	return sim_random(history->sim, n);
}

/* --- telling the fib what the model says ---------------------------------------------------------
 */

static inline void note(struct history *history, int err)
{
	if (err != -ENOMEM)
		assert_int_equal(err, 0);
	if (!history_alloc_fails)
		assert_int_equal(err, 0);
	if (!err)
		return;
	history->forgot = true;
	model_blur_doubts(&history->model);
}

static inline void history_tell_slot(struct history *history, const struct model_slot *slot)
{
	struct fib_source sources[N_SOURCES];
	struct fib_target target = model_target(&slot->leaf);
	int err;

	if (slot->n_sources)
		target = (struct fib_target){ .verdict = SIXLANE_FORWARD,
					      .kind = FIB_SOURCES,
					      .n_sources = slot->n_sources,
					      .sources = sources };
	for (size_t i = 0; i < slot->n_sources; i++) {
		const struct model_source *source = &slot->sources[slot->n_sources - 1 - i];

		sources[i] = (struct fib_source){ .src = source->src,
						  .dst_len = source->dst_len,
						  .target = model_target(&source->leaf) };
	}
	history_at_work = true;
	err = fib_set(history->fib, slot->table, &slot->dst, slot->there ? &target : NULL);
	history_at_work = false;
	note(history, err);
}

static inline void history_tell_object(struct history *history, uint32_t i)
{
	const struct fib_object object = model_object(&history->model.now.objects[i]);
	int err;

	history_at_work = true;
	err = fib_set_object(history->fib, i + 1,
			     history->model.now.objects[i].there ? &object : NULL);
	history_at_work = false;
	note(history, err);
}

static inline int history_tell_port(struct history *history, const struct sixlane_port *port)
{
	int err;

	history_at_work = true;
	err = fib_set_port(history->fib, port);
	history_at_work = false;
	if (!history->trouble)
		assert_int_equal(err, 0);
	return err;
}

static inline size_t history_retry(struct history *history)
{
	size_t missing;

	history_at_work = true;
	missing = fib_retry(history->fib);
	history_at_work = false;
	return missing;
}

/* Where that fails the trie answers. */
static inline void history_compile(struct history *history)
{
	int err;

	history_at_work = true;
	err = fib_compile(history->fib);
	history_at_work = false;
	if (!history_alloc_fails && !history->sim->grace_fails && !history->sim->chunk_fails)
		assert_int_equal(err, 0);
}

static inline void history_sync(struct history *history)
{
	history->forgot = false;
	history->model.syncing = true;
	history_at_work = true;
	fib_sync_begin(history->fib);
	history_at_work = false;
	for (uint32_t i = 0; i < N_VLAN_PORTS; i++) {
		if (history->model.now.vlans[i].flags &&
		    history_tell_port(history, &history->model.now.vlans[i]))
			history->model.now.vlans[i].flags = 0;
	}
	for (uint32_t i = 0; i < N_OBJECTS; i++) {
		if (history->model.now.objects[i].there)
			history_tell_object(history, i);
	}
	for (int len = 128; len >= 0; len--) {
		for (size_t i = 0; i < N_PREFIXES; i++) {
			if (history->model.now.slots[i].there &&
			    history->model.now.slots[i].dst.len == len)
				history_tell_slot(history, &history->model.now.slots[i]);
		}
	}
	history_at_work = true;
	fib_sync_end(history->fib);
	history_at_work = false;
	history->model.syncing = false;
	history_compile(history);
}

/* --- exceptions ---------------------------------------------------------------------------------
 */

/* For want of room, or behind another route. */
static inline bool history_lost_any(const struct history *history)
{
	const struct fib_lost *lost = &history->fib->hosts.lost;

	return lost->n_entries || lost->unowned;
}

static inline void history_tell_exception(struct history *history, size_t i, enum fib_origin origin)
{
	struct model_exception *exception = &history->model.now.exceptions[i];
	const struct fib_exception *said = &exception->said[origin];
	bool bounded = history->max_exceptions < NO_BOUND, was_lost = history->lost;
	int err;

	/* At a route that it does not go by now the kernel may have it still. */
	history->lost |= origin == FIB_KERNEL && !exception->there[origin];
	exception->was_told |= origin == FIB_KERNEL && exception->there[origin];
	history_at_work = true;
	err = fib_set_exception(history->fib, origin, exception->table, &exception->dst,
				exception->there[origin] ? said : NULL);
	history_at_work = false;
	if (err)
		assert_true((err == -ENOMEM && history_alloc_fails) || (err == -ENOSPC && bounded));
	/* Refused, or lost, and then the kernel's. */
	if (origin == FIB_OPERATOR)
		exception->there[origin] &= !err;
	else if (err)
		exception->doubt = MODEL_DOUBT;
	history->lost = was_lost || history_lost_any(history);
	if (err && origin == FIB_KERNEL)
		history->lost = history->lost_anew = true;
}

/* Those that go to make room for others are lost as well. */
static inline void history_note_evicted(struct history *history)
{
	struct fib_stats stats;

	fib_get_stats(history->fib, &stats);
	if (stats.exceptions_evicted != history->evicted)
		history->lost = history->lost_anew = true;
	history->evicted = stats.exceptions_evicted;
}

/* Of those that were not told, some are in doubt and the others gone. */
static inline bool is_gone(void *ctx, uint32_t table, const union sixlane_addr *dst,
			   enum fib_doubt doubt)
{
	struct history *history = ctx;
	size_t i = model_find(&history->model, table, dst);
	struct model_exception *exception = &history->model.now.exceptions[i];
	bool gone;

	(void)doubt;
	gone = !exception->there[FIB_KERNEL] || history_random(history, 2);
	exception->there[FIB_KERNEL] = !gone;
	exception->doubt = MODEL_DOUBT;
	return gone;
}

static inline bool history_is_there(const struct history *history,
				    const struct model_exception *exception)
{
	const struct sixlane_exception *value =
		sim_exception(history->sim, exception->table, &exception->dst);

	return value && value->flags & SIXLANE_EXCEPTION_KERNEL;
}

/* All of an origin; some: the kernel may have forgotten others. */
static inline void history_tell_exceptions(struct history *history, enum fib_origin origin,
					   bool some)
{
	uint64_t next_ns;

	history_at_work = true;
	fib_exceptions_begin(history->fib, origin);
	history_at_work = false;
	history->lost_anew = false;
	history->lost |= origin == FIB_KERNEL; /* as it may of one that goes */
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		struct model_exception *exception = &history->model.now.exceptions[i];

		if (some && !history_random(history, 5)) {
			/* Nobody will ask about one that is not there. */
			exception->there[origin] &= history_is_there(history, exception);
			continue;
		}
		if (!exception->there[origin])
			continue;
		if (origin == FIB_KERNEL)
			exception->doubt = MODEL_SURE;
		history_tell_exception(history, i, origin);
	}
	history_at_work = true;
	fib_exceptions_end(history->fib, origin, true, origin == FIB_KERNEL ? is_gone : NULL,
			   history);
	fib_exceptions_expire(history->fib, 1, SIZE_MAX, &next_ns);
	history_at_work = false;
	history_note_evicted(history);
	/* … or of what no telling tells */
	if (origin == FIB_KERNEL)
		history->lost = history->lost_anew || history_lost_any(history);
	for (size_t i = 0; !history->fib->hosts.lost.any && i < N_EXCEPTIONS; i++)
		history->model.now.exceptions[i].was_told =
			history->model.now.exceptions[i].there[FIB_KERNEL];
}
#endif
