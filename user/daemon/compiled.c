// SPDX-License-Identifier: GPL-2.0-only
/*
 * See compiled.h. Building is tried less and less often, since a large table costs half a second.
 * The comparison runs in pieces, so that routes do not wait. A compiled FIB that is wrong is
 * dropped; the trie answers until it is built anew.
 */
#include "compiled.h"

#include <arpa/inet.h>
#include <string.h>

#include "daemon.h"

#define FIRST_WAIT_NS 1000000000ull
#define LONGEST_WAIT_NS (64 * FIRST_WAIT_NS)

/* Takes some milliseconds. */
#define PIECE_PREFIXES 4000u
#define MAX_REPORTED 10

/* --- building --------------------------------------------------------------------------------- */

static void report_failure(struct compile_state *compile, int err)
{
	if (!compile->failed)
		log_warning(
			"no compiled FIB: %s; lookups use the slower LPM trie; sixlaned tries again",
			strerror(-err));
	compile->failed = true;
}

static void report_build(struct sync *sync)
{
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	log_info("compiled FIB: %llu routes in %llu kB, built in %llu ms",
		 (unsigned long long)stats.routes,
		 (unsigned long long)(stats.compiled.used_bytes / 1024),
		 (unsigned long long)(stats.compiled.build_ns / 1000000));
	sync->compile.failed = false;
	sync->compile.built = true;
	sync->compile.built_at = (uint64_t)time(NULL);
}

/* A change found no memory, and dropped it. */
static void report_loss(struct compile_state *compile)
{
	if (!compile->built)
		return;
	compile->built = false;
	compile->failed = true;
	log_warning_limited(
		"out of memory while changing the compiled FIB; lookups use the slower LPM trie until it is rebuilt; add memory or filter routes");
}

/* Schedule the next attempt. Returns its time. */
static uint64_t set_retry(struct sync *sync)
{
	struct compile_state *compile = &sync->compile;

	if (!compile->wait_ns)
		compile->wait_ns = FIRST_WAIT_NS;
	compile->next_ns = util_now_ns() + compile->wait_ns;
	if (compile->wait_ns < LONGEST_WAIT_NS)
		compile->wait_ns *= 2;
	return compile->next_ns;
}

void compile_invalidate(struct sync *sync)
{
	fib_decompile(sync->fib);
	sync->compile.failed = true;
	sync->compile.built = false;
	set_retry(sync);
}

uint64_t compile_run(struct sync *sync)
{
	int err;

	if (!sync->schedule.complete || sync->schedule.quiet || sync->maps->no_fib)
		return UINT64_MAX;
	if (fib_is_compiled(sync->fib)) {
		/* it has lasted: forget earlier failures */
		if (util_now_ns() > sync->compile.next_ns + LONGEST_WAIT_NS)
			sync->compile.wait_ns = FIRST_WAIT_NS;
		return UINT64_MAX;
	}
	report_loss(&sync->compile);
	if (util_now_ns() < sync->compile.next_ns)
		return sync->compile.next_ns;
	err = fib_compile(sync->fib);
	if (!err) {
		report_build(sync);
		set_retry(sync);
		return UINT64_MAX;
	}
	report_failure(&sync->compile, err);
	return set_retry(sync);
}

/* --- comparing -------------------------------------------------------------------------------- */

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
