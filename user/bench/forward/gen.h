/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The packet generator's user space: destinations and the test runs. Or one frame that is given,
 * about ever other numbers (flood.h).
 * Knows nothing of who forwards the packets or how they are counted at the far end, nor how
 * destinations are chosen.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_GEN_H
#define BENCH_GEN_H

#include <stdbool.h>

#include "../bench.h"
#include "flood.h"
#include "frame.h"

struct gen_options {
	/* The CPUs that make frames at once: one, any; or several, those of bench_cpu(0 … n-1). */
	unsigned int cpus;
	uint32_t targets;      /* of each of them; a power of 2 */
	struct frame frame;    /* made by frame_make() */
	uint32_t send_ifindex; /* send out of this device; 0: into the program of gen_into() */
	/*
	 * If frame_bytes is not 0 this is the frame, of as many numbers as targets says, and sent:
	 * the other one is not looked at.
	 */
	struct flood_about about;
};

#define GEN_TARGETS 65536u

struct gen;

int gen_new(const struct gen_options *options, struct gen **out);
void gen_free(struct gen *gen);

/*
 * Where packets go, in this order: targets of the first CPU, then those of the second … Before the
 * first run, and between any two.
 */
int gen_aim(struct gen *gen, const union sixlane_addr *addresses);

/* The XDP program that the frames go into. */
int gen_into(struct gen *gen, int prog_fd);

struct gen_run {
	/* device on which the frames appear, which must have native XDP or GRO; 0: none (sending
	 * needs none) */
	uint32_t ingress;
	uint32_t count;	   /* packets of each CPU; of one CPU exactly, otherwise at least */
	uint32_t limit_ms; /* of one CPU: at most that long; 0: no limit */
	bool stamped;	   /* with the time of sending in each */
	bool one_port;	   /* all packets have the same source port */
};

struct gen_result {
	uint64_t sent;
	/*
	 * How many of these were made in how much time, while all CPUs were at work. Not the time
	 * around the system call, which holds the waits for RCU of a test run's end.
	 */
	uint64_t timed, timed_ns;
	bool interrupted; /* by a signal, that of the time limit among them */
};

/* results: one for each CPU. */
int gen_run(struct gen *gen, const struct gen_run *run, struct gen_result *results);

/* The time for all that was sent. */
static inline uint64_t gen_elapsed_ns(const struct gen_result *result)
{
	return result->timed ? (uint64_t)((double)result->timed_ns / (double)result->timed *
					  (double)result->sent)
			     : 0;
}

/* Stay on one CPU, ahead of others; -1: the last one allowed. Returns its number, or -errno. */
int gen_pin_cpu(int cpu);

#endif
