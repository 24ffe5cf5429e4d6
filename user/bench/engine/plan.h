/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol of the engine's programs: lines of JSON on standard input, {"do": STEP, …}. Each is
 * answered by a line on standard output, {…} or {"error": TEXT}. A program ends with its input or
 * with an error, and what it made ends with it. It judges nothing.
 */
#ifndef BENCH_ENGINE_PLAN_H
#define BENCH_ENGINE_PLAN_H

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "../../lib/util.h"

struct plan_step {
	const char *name;
	json_t *(*run)(json_t *arguments); /* returns the answer */
};

/* Serve the plan. steps: ended by a NULL name. Returns the exit status. */
int plan_serve(const struct plan_step *steps);

/* The answer of a step that failed; the program continues. */
#define plan_error(...) json_pack("{s:o}", "error", json_sprintf(__VA_ARGS__))
/* Answer the step by an error and end the program, from any thread. */
#define plan_die(...) plan_end(plan_error(__VA_ARGS__))
void plan_end(json_t *answer) __attribute__((noreturn));
/* The same with the text of an errno of either sign, unless it is 0. */
#define plan_check(error, fmt, ...)                                                 \
	do {                                                                        \
		int error_ = (error);                                               \
		if (error_)                                                         \
			plan_die(fmt ": %s", ##__VA_ARGS__, strerror(abs(error_))); \
	} while (0)
/* Take arguments by the format of json_unpack(), or die. */
#define plan_take(arguments, ...)                                       \
	do {                                                            \
		json_error_t error_;                                    \
		if (json_unpack_ex(arguments, &error_, 0, __VA_ARGS__)) \
			plan_die("step of the plan: %s", error_.text);  \
	} while (0)

/* Zeroed memory, or die. */
void *plan_alloc(size_t n, size_t size);
/* Map a file of records of `size` bytes each, read-only, or die. n: the number of records. */
const void *plan_map(const char *path, size_t size, size_t *n);

/* The n-th CPU, modulo their number, that this process may run on. */
unsigned int plan_cpu(unsigned int n);
unsigned int plan_n_cpus(void);
/* Pin the calling thread to that CPU. */
void plan_pin(unsigned int n);

#endif
