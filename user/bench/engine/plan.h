/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a program of the engine is driven: its plan is lines of JSON on standard input, {"do": STEP,
 * …}, each of which it answers by one line on standard output, {…} or {"error": TEXT}. It judges
 * nothing. It ends when its input does, or with an error; what it made goes with it.
 */
#ifndef BENCH_ENGINE_PLAN_H
#define BENCH_ENGINE_PLAN_H

#include <jansson.h>
#include <stdint.h>

#include "../../lib/util.h"

struct plan_step {
	const char *name;
	json_t *(*run)(json_t *arguments); /* returns the answer */
};

/* Serve the plan. steps: ended by a NULL name. Returns the exit status. */
int plan_serve(const struct plan_step *steps);

/* An answer that is an error, after which the program goes on. */
json_t *plan_error(const char *fmt, ...) _printf_(1, 2);
/* Answer the step by an error, and end the program. From any thread. */
_Noreturn void plan_die(const char *fmt, ...) _printf_(1, 2);
/* The same with what the error means, an errno of either sign, unless it is 0. */
void plan_check(int error, const char *fmt, ...) _printf_(2, 3);

/* Take arguments by the format of json_unpack(), or die. */
void plan_take(json_t *arguments, const char *fmt, ...);
/* Zeroed memory, or die. */
void *plan_alloc(size_t n, size_t size);
/*
 * Map a file of records of `size` bytes each, read-only, or die: prefixes as struct bench_prefix,
 * addresses of 16 bytes. n: of records.
 */
const void *plan_map(const char *path, size_t size, size_t *n);

/* The n-th CPU, modulo their number, that this process may run on. */
unsigned int plan_cpu(unsigned int n);
unsigned int plan_n_cpus(void);
/* The calling thread runs there and nowhere else. */
void plan_pin(unsigned int n);

#endif
