/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The packet generator's user space: targets from a list of prefixes, the frame, the test run. Or
 * one frame that is given, about ever other numbers (flood.h).
 * Knows nothing of who forwards the packets or how they are counted at the far end.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_GEN_H
#define BENCH_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "flood.h"

struct gen_options {
	const char
		*prefixes; /* file with a prefix a line; destinations are random in random ones */
	uint32_t targets;  /* how many different destinations; rounded up to a power of 2 */
	uint64_t seed;
	uint32_t frame_bytes; /* without the checksum of Ethernet */
	uint8_t src_mac[6], dst_mac[6];
	uint8_t src_addr[16];
	uint32_t send_ifindex; /* send out of this device; 0: into the program of gen_into() */
	/*
	 * If frame_bytes is not 0 this is the frame, of as many numbers as targets says, and sent:
	 * nothing else of the above but send_ifindex is looked at.
	 */
	struct flood_about about;
};

#define GEN_FRAME_BYTES 64
#define GEN_FRAME_BYTES_MIN 62
#define GEN_FRAME_BYTES_MAX 1514
#define GEN_TARGETS 65536u

struct gen;

int gen_new(const struct gen_options *options, struct gen **out);
void gen_free(struct gen *gen);

/* The XDP program that flood_into continues with. */
int gen_into(struct gen *gen, int prog_fd);

struct gen_result {
	uint64_t sent;
	/*
	 * From the first packet made to the last. Not the time around the system call, which
	 * holds the waits for RCU of a test run's end.
	 */
	uint64_t elapsed_ns;
	bool interrupted; /* by a signal, that of the time limit among them */
};

/*
 * Make count packets, for at most limit_ms (0: no limit). ingress: device on which the
 * frames appear, which must have native XDP or GRO; 0: none (sending needs none).
 */
int gen_run(struct gen *gen, uint32_t ingress, uint32_t count, uint32_t limit_ms,
	    struct gen_result *result);

/* Stay on one CPU, ahead of others; -1: the last one allowed. Returns its number, or -errno. */
int gen_pin_cpu(int cpu);

/* Parse "02:00:00:00:00:01". */
int gen_parse_mac(const char *text, uint8_t mac[6]);

/* Path of a file next to this executable. Static storage. */
const char *gen_beside(const char *name);

#endif
