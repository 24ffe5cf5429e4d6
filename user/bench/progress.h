/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What goes on, and how long it is going to take, on stderr: a terminal gets one line that is
 * written over, anything else a line now and then. And whether somebody wants it to end.
 */
#ifndef USER_BENCH_PROGRESS_H
#define USER_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit status after an interrupt, as shells have it for SIGINT. */
#define BENCH_INTERRUPTED 130

struct bench_progress {
	const char *what;
	size_t total, done; /* steps, of about the same time each */
	uint64_t start_ns, next_ns;
	bool is_terminal, is_shown;
};

/* What begins from now on is the part of this number, from 1 on, and its time left not that of all;
 * lines say so. */
void bench_progress_part(size_t number, size_t total);
/* what: kept, not copied. */
void bench_progress_begin(struct bench_progress *progress, const char *what, size_t total);
/* So many steps more are done. */
void bench_progress_step(struct bench_progress *progress, size_t steps);
void bench_progress_end(struct bench_progress *progress);

/*
 * From now on SIGINT and SIGTERM only make bench_interrupted() true, and interrupt system calls:
 * who measures looks at it between two steps, leaves off, and reports what there is. A second one
 * kills.
 */
void bench_interrupt_catch(void);
bool bench_interrupted(void);

#endif
