// SPDX-License-Identifier: GPL-2.0-only
/*
 * See verify.h. Runs in pieces, so that routes do not wait. A compiled FIB that is wrong is
 * dropped; the trie answers until it is built anew.
 */
#include "verify.h"

#include <arpa/inet.h>

#include "compile.h"
#include "daemon.h"

/* Takes some milliseconds. */
#define PIECE_PREFIXES 4000u
#define MAX_REPORTED 10

static uint64_t requests(const struct maps *maps)
{
	return __atomic_load_n(&maps->meta->fib_verify_wanted, __ATOMIC_ACQUIRE);
}

static void report_wrong(void *ctx, uint32_t table, const union sixlane_addr *addr,
			 uint32_t expected, uint32_t compiled)
{
	struct verify_state *state = ctx;
	char text[INET6_ADDRSTRLEN];

	if (state->n_reported++ >= MAX_REPORTED)
		return;
	inet_ntop(AF_INET6, addr, text, sizeof(text));
	log_error("the compiled FIB is wrong at %s in table %u: it holds 0x%x instead of 0x%x",
		  text, table, compiled, expected);
}

static void finish(struct sync *sync)
{
	struct verify_state *state = &sync->verify;
	struct sixlane_meta *meta = sync->maps->meta;

	if (state->run.wrong) {
		log_error(
			"the compiled FIB is wrong for %llu of %llu addresses; lookups use the LPM trie until it is rebuilt; please report this",
			(unsigned long long)state->run.wrong,
			(unsigned long long)state->run.checked);
		compile_invalidate(sync);
	}
	meta->fib_verify_checked = state->run.checked;
	meta->fib_verify_wrong = state->run.wrong;
	fib_verify_end(&state->run);
	state->running = false;
	__atomic_store_n(&meta->fib_verify_done, state->number, __ATOMIC_RELEASE);
}

uint64_t verify_run(struct sync *sync)
{
	struct verify_state *state = &sync->verify;

	if (!state->running) {
		/* requests that come later need another run */
		state->number = requests(sync->maps);
		if (!sync->schedule.complete || sync->schedule.quiet ||
		    state->number == sync->maps->meta->fib_verify_done)
			return UINT64_MAX;
		state->n_reported = 0;
		state->running = true;
		/* there is no compiled FIB to check */
		if (fib_verify_begin(sync->fib, &state->run))
			finish(sync);
	}
	if (state->running &&
	    (fib_verify_some(sync->fib, &state->run, PIECE_PREFIXES, report_wrong, state) <= 0 ||
	     state->run.wrong))
		finish(sync);
	return state->running || requests(sync->maps) != state->number ? 0 : UINT64_MAX;
}
