/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Results: rows of what was measured, with medians and spreads, and where and how. They go to the
 * screen as a table or as JSON, and into files of both, CSV and plots. Knows nothing of how it was
 * measured.
 *
 * Functions return 0, or -errno after having said on stderr what failed.
 */
#ifndef USER_BENCH_RESULT_H
#define USER_BENCH_RESULT_H

#include <jansson.h>

#include "../cli/cmd.h"
#include "machine.h"

/* Of strings that do not apply NULL, of numbers 0. */
struct bench_row {
	const char *bench;    /* "lookup" */
	const char *engine;   /* or two with a slash, of a ratio */
	const char *table;    /* of routes */
	const char *pattern;  /* of the destinations: "hit", "miss", "random" … */
	const char *mode;     /* what of it was measured: "independent", "insert" … */
	const char *unit;     /* "ns"; of a ratio "ratio" */
	const char *driver;   /* of the NICs that take part */
	const char *note;     /* what must be known of this row */
	size_t routes;	      /* of the table */
	unsigned int threads; /* CPUs at once */
	unsigned int queues;  /* of each NIC */
	uint32_t writer_rate; /* changes of routes a second meanwhile */
	uint32_t frame_bytes; /* of Ethernet with its checksum, as in RFC 2544 */
	const double *values; /* one of each round */
	size_t n;	      /* rounds, at least one */
};

/* A row as it is kept: with strings of its own and without values. */
struct bench_summary {
	struct bench_row row;
	double median, low, high; /* of all rounds */
	/*
	 * As in Kubeček's paper of netdev 1.1: of three rounds or more the highest and the lowest
	 * do not count. Average, and the mean of how far the rest is from it.
	 */
	double mean, deviation;
};

struct bench_result_options {
	const char *name;    /* of the files: NAME.json … */
	const char *output;  /* directory for files, made if it is missing; NULL: no files */
	const char *command; /* by which the same can be had again */
	uint64_t seed;
	const struct cmd_options *cmd;
	bool is_silent; /* files alone: the caller has a screen of its own */
};

struct bench_result;

/* What the options point to must stay. Finds out what would be in the way of files at the end. */
int bench_result_new(const struct bench_result_options *options, struct bench_result **out);
/* The row is copied. */
int bench_result_add(struct bench_result *result, const struct bench_row *row);
/* Print all, write the files, and free. Also after an error, to get rid of it: NULL is nothing. */
int bench_result_end(struct bench_result *result);
void bench_result_free(struct bench_result *result);

/* --- the forms it takes --------------------------------------------------------------------- */

struct bench_result {
	struct bench_result_options options;
	struct bench_machine machine;
	struct bench_summary *rows;
	size_t n, room;
};

/* Median and the rest of values, which are sorted. */
void bench_summarize(double *values, size_t n, struct bench_summary *out);
/* That under which so many of a hundred values are, which are sorted. */
double bench_percentile(double *values, size_t n, unsigned int percent);
/* What a reader of the row must know, in one line of the caller's; "" for nothing. */
const char *bench_result_note(const struct bench_result *result, const struct bench_summary *row,
			      char *buf, size_t size);
/* Room for eight NICs with rings and coalescing that could not be set, and how to by hand. */
#define BENCH_NOTE_LEN 2048
/* One more, or none if it is NULL or ""; what does not fit is cut at a word, and ends in "…". */
void bench_note_add(char *buf, size_t size, const char *note);

int bench_result_to_screen(const struct bench_result *result);
/* An array; NULL without memory. */
json_t *bench_result_to_json(const struct bench_result *result);
int bench_result_to_csv(const struct bench_result *result, const char *path);
/* BASE.svg and BASE.png by gnuplot. */
int bench_result_to_plots(const struct bench_result *result, const char *base);
/* 0 if gnuplot is there. */
int bench_plot_check(void);

#endif
