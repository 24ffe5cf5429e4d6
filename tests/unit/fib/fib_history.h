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

struct history {
	struct sim *sim;
	struct fib *fib;
	struct model model;
	bool tight;   /* few ids and buckets */
	bool trouble; /* something was made to fail since the last clean retry */
	bool forgot;  /* the fib said -ENOMEM since the last synchronisation without */
	uint64_t seed;
	unsigned int operation;
};

static unsigned int history_alloc_fails; /* one in so many while the fib is at work; 0: never */
static bool history_at_work;

static inline uint32_t history_random(struct history *history, uint32_t n)
{
	return sim_random(history->sim, n);
}

/* --- telling the fib what the model says -------------------------------------------------- */

static inline void note(struct history *history, int err)
{
	if (err != -ENOMEM)
		assert_int_equal(err, 0);
	if (!history_alloc_fails)
		assert_int_equal(err, 0);
	history->forgot |= err != 0;
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

/* --- exceptions --------------------------------------------------------------------------- */

static inline void history_mark(struct history *history, struct model_exception *exception)
{
	history_at_work = true;
	fib_set_exception_flag(history->fib, exception->table, &exception->dst);
	history_at_work = false;
	exception->marked =
		history->model.before.exceptions[exception - history->model.now.exceptions].marked =
			true;
}

/* It has what it had before, or nothing, if there is no room or no memory. */
static inline void history_tell_exception(struct history *history, size_t i)
{
	struct model_exception *exception = &history->model.now.exceptions[i];
	const struct model_exception *before = &history->model.before.exceptions[i];
	int err;

	history_mark(history, exception);
	history_at_work = true;
	err = fib_set_exception(history->fib, &exception->dst,
				exception->there ? &exception->told : NULL);
	history_at_work = false;
	if (!err)
		return;
	assert_true(history->trouble || history->tight || err == -ENOSPC);
	*exception = *before;
	exception->there = fib_exception(history->fib, &exception->dst) != NULL;
}

/* All that there are, and what the FIB has beyond. */
static inline void history_tell_exceptions(struct history *history)
{
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		const struct model_exception *exception = &history->model.now.exceptions[i];

		if (exception->there || fib_exception(history->fib, &exception->dst))
			history_tell_exception(history, i);
	}
}
#endif
