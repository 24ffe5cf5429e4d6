/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fib beside its model: operations that change both. The test may make memory run out while the
 * fib is at work.
 */
#ifndef TEST_FIB_HISTORY_H
#define TEST_FIB_HISTORY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "fib_model.h"

struct history {
	struct sim *sim;
	struct fib *fib;
	struct model model;
	bool tight;   /* few ids and buckets */
	bool trouble; /* something was made to fail since the last clean retry */
	bool forgot;  /* -ENOMEM since the last synchronisation without */
	uint64_t seed;
	unsigned int operation;
};

static unsigned int history_alloc_fails; /* one in so many while the fib is at work; 0: never */
static bool history_at_work;

#define AT_WORK(call)                    \
	do {                             \
		history_at_work = true;  \
		call;                    \
		history_at_work = false; \
	} while (0)

static inline uint32_t history_random(struct history *history, uint32_t n)
{
	return sim_random(history->sim, n);
}

/* --- from the model to the fib ---------------------------------------------------------------- */

static inline void note(struct history *history, int err)
{
	if (err != -ENOMEM)
		assert_int_equal(err, 0);
	if (!history_alloc_fails)
		assert_int_equal(err, 0);
	history->forgot |= err != 0;
}

static inline void history_set_slot(struct history *history, const struct model_slot *slot)
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
	AT_WORK(err = fib_set(history->fib, slot->table, &slot->dst, slot->there ? &target : NULL));
	note(history, err);
}

static inline void history_set_object(struct history *history, uint32_t i)
{
	const struct fib_object object = model_object(&history->model.now.objects[i]);
	int err;

	AT_WORK(err = fib_set_object(history->fib, i + 1,
				     history->model.now.objects[i].there ? &object : NULL));
	note(history, err);
}

static inline int history_set_port(struct history *history, const struct sixlane_port *port)
{
	int err;

	AT_WORK(err = fib_set_port(history->fib, port));
	if (!history->trouble)
		assert_int_equal(err, 0);
	return err;
}

static inline size_t history_retry(struct history *history)
{
	size_t missing;

	AT_WORK(missing = fib_retry(history->fib));
	return missing;
}

/* If that fails, the trie answers. */
static inline void history_compile(struct history *history)
{
	int err;

	AT_WORK(err = fib_compile(history->fib));
	if (!history_alloc_fails && !history->sim->grace_fails && !history->sim->chunk_fails)
		assert_int_equal(err, 0);
}

static inline void history_sync(struct history *history)
{
	history->forgot = false;
	history->model.syncing = true;
	AT_WORK(fib_sync_begin(history->fib));
	for (uint32_t i = 0; i < N_VLAN_PORTS; i++) {
		if (history->model.now.vlans[i].flags &&
		    history_set_port(history, &history->model.now.vlans[i]))
			history->model.now.vlans[i].flags = 0;
	}
	for (uint32_t i = 0; i < N_OBJECTS; i++) {
		if (history->model.now.objects[i].there)
			history_set_object(history, i);
	}
	for (int len = 128; len >= 0; len--) {
		for (size_t i = 0; i < N_PREFIXES; i++) {
			if (history->model.now.slots[i].there &&
			    history->model.now.slots[i].dst.len == len)
				history_set_slot(history, &history->model.now.slots[i]);
		}
	}
	AT_WORK(fib_sync_end(history->fib));
	history->model.syncing = false;
	history_compile(history);
}

/* --- exceptions ------------------------------------------------------------------------------- */

static inline void history_set_flag(struct history *history, struct model_exception *exception)
{
	AT_WORK(fib_set_exception_flag(history->fib, exception->table, &exception->dst));
	exception->flagged =
		history->model.before.exceptions[exception - history->model.now.exceptions]
			.flagged = true;
}

/* Without room or memory the destination has what it had before, or nothing. */
static inline void history_set_exception(struct history *history, size_t i)
{
	struct model_exception *exception = &history->model.now.exceptions[i];
	const struct model_exception *before = &history->model.before.exceptions[i];
	int err;

	history_set_flag(history, exception);
	AT_WORK(err = fib_set_exception(history->fib, &exception->dst,
					exception->there ? &exception->value : NULL));
	if (!err)
		return;
	assert_true(history->trouble || history->tight || err == -ENOSPC);
	*exception = *before;
	exception->there = fib_exception(history->fib, &exception->dst) != NULL;
}

/* Set all that the model has; delete the others. */
static inline void history_set_exceptions(struct history *history)
{
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		const struct model_exception *exception = &history->model.now.exceptions[i];

		if (exception->there || fib_exception(history->fib, &exception->dst))
			history_set_exception(history, i);
	}
}
#endif
