// SPDX-License-Identifier: GPL-2.0-only
/*
 * `sixlane fib verify`: the daemon's part, which compares the compiled FIB with its own table, in
 * pieces so that routes do not wait. One that is wrong must not go on forwarding: the trie answers
 * until it has been built anew.
 */
#include "verify.h"

#include <arpa/inet.h>
#include <string.h>

#include "compile.h"
#include "daemon.h"

/* Some ms. */
#define PIECE_PREFIXES 4000u
#define MAX_TOLD 10

static uint64_t count_wishes(const struct sync *sync)
{
	return __atomic_load_n(&sync->maps->meta->fib_verify_wanted, __ATOMIC_ACQUIRE);
}

static void tell_wrong(void *ctx, uint32_t table, const union sixlane_addr *addr, uint32_t told,
		       uint32_t compiled)
{
	struct verify_state *state = ctx;
	char text[INET6_ADDRSTRLEN];

	if (state->n_reported++ >= MAX_TOLD)
		return;
	inet_ntop(AF_INET6, addr, text, sizeof(text));
	log_error("the compiled FIB is wrong at %s in table %u: it holds 0x%x instead of 0x%x",
		  text, table, compiled, told);
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
		/* those that come later are not about this one */
		state->number = count_wishes(sync);
		if (!sync->schedule.complete || sync->schedule.quiet ||
		    state->number == sync->maps->meta->fib_verify_done)
			return UINT64_MAX;
		state->n_reported = 0;
		state->running = true;
		/* of none there is nothing to be checked */
		if (fib_verify_begin(sync->fib, &state->run))
			finish(sync);
	}
	if (state->running &&
	    (fib_verify_some(sync->fib, &state->run, PIECE_PREFIXES, tell_wrong, state) <= 0 ||
	     state->run.wrong))
		finish(sync);
	return state->running || count_wishes(sync) != state->number ? 0 : UINT64_MAX;
}
