/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a program of the engine is driven: its plan is lines of JSON on standard input, {"do": STEP,
 * …}, each of which it answers by one line on standard output, {…} or {"error": TEXT}. It judges
 * nothing. It ends when its input does; what it made goes with it.
 */
#ifndef BENCH_ENGINE_PLAN_H
#define BENCH_ENGINE_PLAN_H

#include <jansson.h>
#include <stdint.h>

#include "../../lib/util.h"
#include "peer.h"

/*
 * A step. It takes its arguments from the plan's line, adds what it found to the answer, and
 * returns 0, or -errno after plan_fail() or plan_bad().
 */
struct plan_step {
	const char *name;
	int (*run)(void *ctx, json_t *arguments, json_t *answer);
};

/* Serve the plan. steps: ended by a NULL name. Returns the exit status. */
int plan_serve(const struct plan_step *steps, void *ctx);

/* Keep the text for the answer, with and without what the error means. Return error. */
int plan_fail(int error, const char *fmt, ...) _printf_(2, 3);
int plan_bad(int error, const char *fmt, ...) _printf_(2, 3);

/* Arguments by the format of json_unpack(). 0 or -EINVAL (kept). */
int plan_take(json_t *arguments, const char *fmt, ...);

/* --- CPUs ----------------------------------------------------------------------------------- */

/* The n-th CPU, modulo their number, that this process may run on. */
int plan_cpu(unsigned int n);
unsigned int plan_n_cpus(void);
/* The calling thread runs there and nowhere else. 0 or -errno (kept). */
int plan_pin(unsigned int n);

/* --- files ---------------------------------------------------------------------------------- */

/* The path of a file that is built and installed beside the program. */
void plan_beside(const char *name, char *path, size_t size);

/*
 * Map a file of records of `size` bytes each, read-only, until the process ends: prefixes as struct
 * bench_prefix, addresses of 16 bytes. Returns NULL, with what failed kept. n: of records.
 */
const void *plan_map(const char *path, size_t size, size_t *n);

#endif
