/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The measurement of exceptions, after Lau (Facebook, 2015): before Linux 4.2 each destination with
 * traffic had an entry in the routing tree, whether or not its Path MTU differed from its route's.
 * How many entries there are of many destinations, of which few have a Path MTU of their own, and
 * what packets pay for those few: in the kernel and in sixlane, by a router as of forward.h.
 *
 * Functions return 0 or -errno and say on stderr what failed; -EINTR with nothing said.
 */
#ifndef BENCH_EXCEPTIONS_H
#define BENCH_EXCEPTIONS_H

#include "../forward/forward.h"
#include "../result.h"
#include "exceptions_count.h"
#include "exceptions_peers.h"

#define EXCEPTIONS_FRAME_BYTES 64u

#define EXCEPTIONS_MOST_PACKETS GEN_TARGETS

struct exceptions_options {
	const struct bench_table *tables;
	size_t n_tables;
	uint32_t destinations; /* that have traffic */
	uint32_t exceptions;   /* so many of them have another Path MTU */
	/* Of a run that is timed: no fewer than exceptions, no more than EXCEPTIONS_MOST_PACKETS.
	 */
	uint32_t packets;
	uint32_t rounds;
	uint64_t seed;
};

/* All of it, and rows of what was measured until it was done or interrupted (-EINTR). */
int exceptions_measure(const struct exceptions_options *options, struct bench_result *result);

/* --- what comes of it ----------------------------------------------------------------------- */

/* When entries are counted. */
enum exceptions_stage {
	EXCEPTIONS_BEFORE,    /* anything was sent */
	EXCEPTIONS_TRAFFIC,   /* all destinations have had packets */
	EXCEPTIONS_LEARNT,    /* … and the few their Path MTU, and all packets once more */
	EXCEPTIONS_FORGOTTEN, /* by the kernel */
	EXCEPTIONS_N_STAGES
};

/* What there is while packets are timed. */
enum exceptions_state { EXCEPTIONS_NONE, EXCEPTIONS_ALL, EXCEPTIONS_N_STATES };

#define EXCEPTIONS_N_ENGINES 3u
extern const char *const exceptions_engines[EXCEPTIONS_N_ENGINES];

/* One list of destinations, by one engine, in one state. */
struct exceptions_series {
	double *ns; /* a packet, of each round */
	size_t n;   /* rounds that were measured */
};

struct exceptions_found {
	struct exceptions_counts counts[EXCEPTIONS_N_STAGES];
	size_t n_counts;
	struct exceptions_series cost[EXCEPTIONS_N_ENGINES][PEERS_N_LISTS][EXCEPTIONS_N_STATES];
	/* From the message to the entry: of the first one, and of all others at once. */
	struct exceptions_series one_ms, rest_ms;
};

/* Rows of all that was found. */
int exceptions_report(const struct exceptions_options *options, const struct bench_table *table,
		      const struct exceptions_found *found, struct bench_result *result);

#endif
