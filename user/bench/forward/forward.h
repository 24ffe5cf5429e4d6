/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The measurement of forwarding: a router of the bench's own (forward_net.h, daemon.h),
 * packets (gen.h, forward_socket.h) into each engine's program in turn, and a sink that must get
 * all of them.
 *
 * Functions return 0 or -errno and say on stderr what failed; -EINTR with nothing said.
 */
#ifndef BENCH_FORWARD_H
#define BENCH_FORWARD_H

#include "../bench.h"
#include "../daemon.h"
#include "../result.h"
#include "forward_net.h"
#include "forward_pattern.h"
#include "forward_rules.h"
#include "gen.h"
#include "sink.h"

#define FORWARD_FCS_BYTES 4u
#define FORWARD_SIZE_MIN (FLOOD_FRAME_BYTES_MIN + FORWARD_FCS_BYTES)
/* Frames from the first size to the second have UDP, but no room for a stamp. */
#define FORWARD_SIZE_NO_STAMP (FLOOD_HEADER_BYTES + FORWARD_FCS_BYTES)
#define FORWARD_SIZE_UDP (FLOOD_UDP_BYTES_MIN + FORWARD_FCS_BYTES)
/* Of frames that a test run makes. Larger ones are sent by a socket. */
#define FORWARD_SIZE_LIVE (FLOOD_FRAME_BYTES_MAX + FORWARD_FCS_BYTES)
#define FORWARD_SIZE_MAX (FORWARD_MTU_LARGE + 14u + FORWARD_FCS_BYTES)
#define FORWARD_MTU 1500u
#define FORWARD_MTU_LARGE 9000u
/* Since the generator takes the time once in so many packets. */
#define FORWARD_COUNT_MIN (4 * FLOOD_STAMP_EVERY)

struct forward_engine {
	const char *name;
	bool is_sixlane;
	uint32_t choice;	  /* of sixlane: SIXLANE_ENGINE_* */
	enum forward_rules rules; /* of its router */
	bool looks_up;		  /* can tell that there is no route */
	bool counts_passed;	  /* what it passes to the stack, in forward.bpf.c */
	bool needs_load;	  /* from as much memory as the compiled FIB has */
	bool by_default;
};

extern const struct forward_engine forward_engines[];
extern const size_t forward_n_engines;
/* NULL: there is none of this name. */
const struct forward_engine *forward_engine_named(const char *name);

#define FORWARD_MOST 16u

struct forward {
	const struct bench_table *tables;
	size_t n_tables;
	const struct forward_engine *engines[FORWARD_MOST];
	size_t n_engines;
	struct forward_pattern patterns[FORWARD_MOST];
	size_t n_patterns;
	uint32_t sizes[FORWARD_MOST]; /* of frames with their FCS */
	size_t n_sizes;
	uint32_t threads[FORWARD_MOST];
	size_t n_threads;
	uint32_t count; /* packets of a run, of each thread */
	uint32_t rounds;
	uint64_t seed;
};

/* All of it, and rows of what was measured until it was done or interrupted (-EINTR). */
int forward_measure(const struct forward *forward, struct bench_result *result);
/* One of its engines is flowtable: only sixlane's can be measured beside it. */
bool forward_has_flows(const struct forward *forward);

/* --- one router with one table -------------------------------------------------------------- */

/* Frames of one size, by so many CPUs at once. */
struct forward_source {
	uint32_t size, threads;
	struct gen *gen; /* NULL: by sockets */
	struct forward_sockets *sockets;
};

struct forward_router {
	const struct bench_table *table; /* NULL: not open */
	bool large; /* MTU 9000, frames by sockets, programs for several buffers */
	/* Frames come by sockets to sixlane's program where it is attached: one that was extended
	 * for flowtables cannot be called by the generator's. */
	bool attached;
	bool has_load;
	struct forward_net net;
	struct sink sink;
	struct bench_daemon daemon;
	struct bpf_object *sides;
	enum forward_rules rules; /* that are loaded */
	int sixlane_fd;		  /* the program that the daemon attached */
	uint32_t slot;		  /* of p0 in sixlane's maps */
};

int forward_router_open(const struct bench_table *table, bool large, bool attached,
			struct forward_router *out);
void forward_router_close(struct forward_router *router);
/* The program of an engine, which is the one that answers from now on; or -errno. */
int forward_router_choose(struct forward_router *router, const struct forward_engine *engine);

int forward_source_open(const struct forward_router *router, uint32_t size, uint32_t threads,
			struct forward_source *out);
void forward_source_close(struct forward_source *source);
/*
 * Destinations for so many CPUs, GEN_TARGETS of each, for the caller to free; NULL, which was said.
 * A flow is of one queue of a NIC, and so of one CPU: each has its own.
 */
union sixlane_addr *forward_draw(const struct forward_pattern *pattern,
				 const struct bench_table *table, uint32_t threads, uint64_t seed);

/* --- one run -------------------------------------------------------------------------------- */

struct forward_figures {
	double ns;	 /* a packet, of one CPU */
	double mpps;	 /* all CPUs together */
	double p50, p99; /* latency in ns, if it was a stamped run */
};

struct forward_run {
	const struct forward_engine *engine;
	const struct forward_pattern *pattern;
	const union sixlane_addr *addresses; /* of forward_draw(), for the source's CPUs */
	uint32_t count;
	bool stamped;
};

/* Checked: every packet went where it should, by whom it should. */
int forward_run(struct forward_router *router, struct forward_source *source,
		const struct forward_run *run, struct forward_figures *out);

/* What measures is called on one CPU and ahead of others; 0 or -errno, as it returns. */
int forward_on_one_cpu(int (*measure)(void *ctx), void *ctx);

#endif
