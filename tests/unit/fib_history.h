/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fib's history beside its model: what both are told, and that packets meet at every write what
 * the model says. Memory may run out while the fib is at work, if the test sees to that.
 */
#ifndef TEST_FIB_HISTORY_H
#define TEST_FIB_HISTORY_H

#include "fib_model.h"

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

extern unsigned int history_alloc_fails; /* one in so many while the fib is at work; 0: never */
extern bool history_at_work;

static inline uint32_t history_random(struct history *history, uint32_t n)
{
	return sim_random(history->sim, n);
}

/* --- fib_history.c: telling the fib what the model says ------------------------------------------
 */

void history_tell_slot(struct history *history, const struct model_slot *slot);
void history_tell_object(struct history *history, uint32_t i);
int history_tell_port(struct history *history, const struct sixlane_port *port);
size_t history_retry(struct history *history);
/* All but exceptions. */
void history_sync(struct history *history);
void history_tell_exception(struct history *history, size_t i, enum fib_origin origin);
/* All of an origin. */
void history_tell_exceptions(struct history *history, enum fib_origin origin);
/* Exceptions that went to make room for others are lost. */
void history_note_evicted(struct history *history);

/* --- fib_history_check.c -------------------------------------------------------------------------
 */

/* exact: as the model has it now; else it may be as before, or be punted for a reason. */
void history_check_probe(const struct history *history, const struct model_probe *probe,
			 bool exact);
/* exact: whoever has a tag gets it. */
void history_check_vlans(const struct history *history, bool exact);
/* Some packets, at a write: for struct sim. */
void history_check_write(void *ctx);
/* Everything, between operations. */
void history_check(struct history *history);

#endif
