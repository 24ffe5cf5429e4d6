/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The measurement of a router of real NICs: what it forwards without loss, how long that takes, and
 * what it loses when something changes. The devices are made ready by nic_machine.h; the agent of
 * nic_agent.h sends and counts; each packet is accounted for by nic_counts.h.
 *
 * Of each round every engine has its turn, and in it everything is measured (nic_measures[]), by
 * trials: the generator sends so fast for so long, and all counters are read before and after.
 *
 * Functions return 0, or -errno after having said on stderr what failed; -EINTR with nothing said.
 */
#ifndef USER_BENCH_NIC_H
#define USER_BENCH_NIC_H

#include "../daemon.h"
#include "../progress.h"
#include "../result.h"
#include "nic_agent.h"
#include "nic_machine.h"
#include "nic_router.h"

struct nic_engine {
	const char *name;
	bool is_sixlane;
	uint32_t choice; /* SIXLANE_ENGINE_* */
};
extern const struct nic_engine nic_engines[];
extern const size_t nic_n_engines;

struct nic_bench;
struct nic_measure {
	const char *name;
	unsigned int weight; /* how long it takes, beside others */
	bool is_by_default;
	int (*run)(struct nic_bench *bench);
};
extern const struct nic_measure nic_measures[];
extern const size_t nic_n_measures;

#define NIC_MOST 8u

/* What is asked for. */
struct nic_options {
	struct nic_machine machine;
	const char *in, *out; /* devices or bonds of the machine */
	char in_name[IFNAMSIZ], out_name[IFNAMSIZ];
	const char *generator;	/* a command: nic_agent.h */
	const char *prefixes;	/* the table's file as the generator sees it; NULL: as it is here */
	const char *table_file; /* where it is here; NULL: the table is in no file */
	const struct bench_table *table;
	const char *pattern; /* generator_pattern_names[] */
	const struct nic_engine *engines[NIC_MOST];
	size_t n_engines;
	const struct nic_measure *measures[2 * NIC_MOST];
	size_t n_measures;
	uint32_t sizes[NIC_MOST];	/* of frames, with FCS */
	size_t n_sizes;			/* 0: the least that the generator sends */
	uint32_t churn_rates[NIC_MOST]; /* changes a second */
	size_t n_churn_rates;
	double trial_s;	   /* a trial that counts */
	double sum_s;	   /* of trials at one rate */
	double width;	   /* of the search's end, as a ratio */
	double most_pps;   /* of all ports; 0: what the generator can */
	bool hides_losses; /* nic_counts.h */
	uint32_t rounds;
	uint64_t seed;
};

/* The bond whose last slave leaves it and comes back: the egress one, or else the ingress one.
 * NULL: neither has two. */
const struct nic_bond_want *nic_bond_that_loses(const struct nic_options *options);

/* All of it, and rows of what was measured until it was done or interrupted (-EINTR). Everything is
 * as before on return. */
int nic_measure(const struct nic_options *options, struct bench_result *result);

/* --- what the files share ------------------------------------------------------------------- */

/* Of one engine, size and mode: a number a round. */
struct nic_figure {
	const struct nic_engine *engine;
	uint32_t size, writer_rate;
	const char *mode, *unit; /* static strings */
	double *values;		 /* room for all rounds */
	size_t n;
	char note[BENCH_NOTE_LEN];
	bool is_invalid; /* counts did not add up */
	bool is_limited; /* nic_limit() was a round's note */
};

struct nic_bench {
	const struct nic_options *options;
	struct nic_agent *agent;
	struct nic_agent_facts generator;
	struct nic_setup *setup;
	struct nic_router router;
	struct bench_daemon daemon; /* pid 0: none runs */
	char prefixes[64];	    /* by which a generator of this machine reads … */
	int prefixes_fd;	    /* … this file of ours; -1: none */
	bool is_veth;		    /* no NICs at all */
	unsigned int queues;	    /* of a device, before drivers add some for XDP */
	struct nic_run before, now;

	/* whose turn it is */
	const struct nic_engine *engine;
	uint32_t size;
	uint32_t writer_rate;
	double most_pps;     /* that the generator sends, or is to */
	bool has_ndr;	     /* the rate without loss is known, … */
	double ndr_pps;	     /* … and is this; 0: there is none */
	bool is_ndr_limited; /* or more: nothing was lost at the highest rate */
	const struct nic_measure *measure;
	unsigned int steps; /* of its weight that are done */

	char event_note[BENCH_NOTE_LEN]; /* of what happened in the last event; "": nothing */
	struct nic_figure *figures;
	size_t n_figures;
	struct bench_progress progress;
};

/* This part of the present measure is done, from 0 to 1. */
void nic_progress(struct nic_bench *bench, double part);

/* --- turns: nic_turn.c ---------------------------------------------------------------------- */

/* The engine forwards from now on, and is seen to. */
int nic_turn_begin(struct nic_bench *bench, const struct nic_engine *engine);
/* sixlaned as it is to be started. */
struct bench_daemon_want nic_daemon_want(const struct nic_bench *bench);

/* --- trials: nic_trial.c -------------------------------------------------------------------- */

struct nic_trial {
	double pps;	/* of all ports; 0: as fast as the generator can */
	double seconds; /* or, if not 0, … */
	uint64_t count; /* … so many frames */
	bool latency;
	bool loses_device; /* one of the router's leaves its bond meanwhile */
};

struct nic_outcome {
	uint64_t sent, received;
	double seconds; /* at least those that were asked for */
	double pps;	/* sent / seconds */
	/* Frames beside these by which the latency is told; those that arrived, … */
	uint64_t probes_sent, probes;
	double p50_ns, p99_ns, max_ns;
	struct nic_forwarded forwarded; /* of sixlane's engines */
	bool is_valid;			/* the counts add up; else … */
	char fault[NIC_FAULT_LEN];
	char note[BENCH_NOTE_LEN]; /* of the generator; "": nothing */
};

/* What is wrong with it; only the first that is found is kept. */
void nic_outcome_refuse(struct nic_outcome *out, const char *fmt, ...) _printf_(2, 3);
/* Less was sent than was asked for, by more than NIC_RATE_TOLERANCE. */
bool nic_trial_is_slow(const struct nic_trial *trial, const struct nic_outcome *outcome);

int nic_trial_run(struct nic_bench *bench, const struct nic_trial *trial, struct nic_outcome *out);
/* The same in two steps, for what is to happen meanwhile. */
int nic_trial_begin(struct nic_bench *bench, const struct nic_trial *trial);
/* Frames of it arrive by now. */
int nic_trial_has_begun(struct nic_bench *bench, bool *out);
int nic_trial_end(struct nic_bench *bench, const struct nic_trial *trial, bool at_once,
		  struct nic_outcome *out);
/* The generator is to end what was begun, and nothing is to be known of it. */
void nic_trial_abandon(struct nic_bench *bench);

/* Less of what was asked for is not sent at that rate. */
#define NIC_RATE_TOLERANCE 0.99

/* --- figures: nic_report.c ------------------------------------------------------------------ */

/* Notes that this figure is none of the router … */
extern const char nic_generator_limit[], nic_rate_limit[];
/* … whichever holds if all that could be sent was forwarded. */
const char *nic_limit(const struct nic_bench *bench);
/* One of this turn. outcome: that makes it invalid, or has a note; may be NULL. */
int nic_figure_add(struct nic_bench *bench, const char *mode, const char *unit, double value,
		   const struct nic_outcome *outcome, const char *note);
int nic_report(const struct nic_bench *bench, struct bench_result *result);
void nic_figures_free(struct nic_bench *bench);

/* The rate without loss of this turn; 0: there is none. Where it is not known, the highest one;
 * with a note of that, or NULL. */
double nic_base_pps(const struct nic_bench *bench, const char **note);
/* Say that there is none. 0. */
int nic_skip(const struct nic_bench *bench, const char *measure);

/* --- measures ------------------------------------------------------------------------------- */

int nic_measure_ndr(struct nic_bench *bench);	     /* nic_rate.c */
int nic_measure_throughput(struct nic_bench *bench); /* nic_rate.c */
int nic_measure_flood(struct nic_bench *bench);	     /* nic_rate.c */
int nic_measure_latency(struct nic_bench *bench);    /* nic_rate.c */
int nic_measure_bursts(struct nic_bench *bench);     /* nic_burst.c */
int nic_measure_churn(struct nic_bench *bench);	     /* nic_event.c */
int nic_measure_slave(struct nic_bench *bench);	     /* nic_event.c */
int nic_measure_next_hop(struct nic_bench *bench);   /* nic_event.c */
int nic_measure_restart(struct nic_bench *bench);    /* nic_event.c */

#endif
