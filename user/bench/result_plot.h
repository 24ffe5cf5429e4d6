/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files that draw rows share: gnuplot's language, and what stands under the panels. */
#ifndef USER_BENCH_RESULT_PLOT_H
#define USER_BENCH_RESULT_PLOT_H

#include "result.h"

/* A string of gnuplot's language, of so many bytes of text. */
void bench_plot_quote(FILE *out, const char *text, size_t len);

#define BENCH_FOOT_WHERE_LEN (BENCH_MACHINE_LEN + 128)

/* Where and how it was measured: a picture goes about without the other files. */
struct bench_foot {
	char where[BENCH_FOOT_WHERE_LEN];
	const char *command; /* of the result, all of it */
	size_t line_bytes;   /* at most */
	double height;
};

/* Under a picture so wide. */
void bench_foot_make(const struct bench_result *result, size_t width, struct bench_foot *out);
/* For a picture so high. */
void bench_foot_put(const struct bench_foot *foot, double height, FILE *out);
/* How much of text is its first line, of at most width bytes, in which every character has room;
 * the next one begins at *rest, NULL: nowhere. A space between them is in neither. */
size_t bench_foot_line(const char *text, size_t width, const char **rest);

#endif
