// SPDX-License-Identifier: GPL-2.0-only
/*
 * See compile.h. Building is tried less and less often, since a large table costs half a second.
 */
#include "compile.h"

#include <string.h>

#include "daemon.h"

#define FIRST_WAIT_NS 1000000000ull
#define LONGEST_WAIT_NS (64 * FIRST_WAIT_NS)

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
