// SPDX-License-Identifier: GPL-2.0-only
/* See progress.h. */
#include "progress.h"

#include <signal.h>

#include "../lib/util.h"

#define QUIET_NS 1000000000u	      /* what takes no longer is not worth a word */
#define TERMINAL_PERIOD_NS 250000000u /* between two lines */
#define FILE_PERIOD_NS 5000000000u

static volatile sig_atomic_t interrupted;
static size_t part, parts;

/* --- progress ------------------------------------------------------------------------------- */

void bench_progress_part(size_t number, size_t total)
{
	part = number;
	parts = total;
}

void bench_progress_begin(struct bench_progress *progress, const char *what, size_t total)
{
	uint64_t now = util_now_ns();

	*progress = (struct bench_progress){
		.what = what,
		.total = total,
		.start_ns = now,
		.next_ns = now + QUIET_NS,
		.is_terminal = isatty(STDERR_FILENO),
	};
}

static void show(const struct bench_progress *progress, uint64_t elapsed_ns)
{
	double elapsed_s = (double)elapsed_ns / 1e9;
	double left_s =
		elapsed_s * (double)(progress->total - progress->done) / (double)progress->done;

	if (progress->is_terminal)
		fputs("\r\033[K", stderr);
	if (parts)
		fprintf(stderr, "part %zu of %zu, ", part, parts);
	fprintf(stderr, "%s: %zu of %zu, %.0f s, about %.0f s left%s", progress->what,
		progress->done, progress->total, elapsed_s, left_s,
		progress->is_terminal ? "" : "\n");
}

void bench_progress_step(struct bench_progress *progress, size_t steps)
{
	uint64_t now = util_now_ns();

	progress->done += steps;
	if (now < progress->next_ns || !progress->done || progress->done > progress->total)
		return;
	progress->next_ns = now + (progress->is_terminal ? TERMINAL_PERIOD_NS : FILE_PERIOD_NS);
	progress->is_shown = true;
	show(progress, now - progress->start_ns);
}

void bench_progress_end(struct bench_progress *progress)
{
	if (progress->is_shown && progress->is_terminal)
		fputs("\r\033[K", stderr);
	progress->is_shown = false;
}

/* --- interrupts ----------------------------------------------------------------------------- */

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

void bench_interrupt_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool bench_interrupted(void)
{
	return interrupted;
}
