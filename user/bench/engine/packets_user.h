/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps of bench-packets. What a step makes lives until the process ends, or until another of
 * the same name replaces it. Functions return 0 or -errno (kept: plan.h).
 */
#ifndef BENCH_ENGINE_PACKETS_USER_H
#define BENCH_ENGINE_PACKETS_USER_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "packets.h"
#include "plan.h"

/* --- objects: packets_object.c -------------------------------------------------------------- */

/*
 * {"name", "object": PATH, "programs": [NAME, …], "entries": {MAP: N}, "rodata": HEX, "frags":
 * BOOL}: load these programs of an object file, or all of them. Later steps call one
 * "OBJECT.PROGRAM".
 * {"name", "device"}: take the program that a device runs. Later steps call it by the name alone.
 */
int object_load(void *ctx, json_t *arguments, json_t *answer);
/*
 * {"device", "program", "generic": BOOL, "replace": BOOL} -> {"busy": BOOL}: attach a program to a
 * device for as long as this process lives. If the device has one already it is busy, or its
 * program is replaced for good.
 */
int object_attach(void *ctx, json_t *arguments, json_t *answer);
/*
 * {"object", "map", "file": PATH or "data": HEX}: write elements, key and value of each, to a map;
 * to an mmapable array its values from the first on. "program": write that program to index 0
 * instead.
 */
int object_fill(void *ctx, json_t *arguments, json_t *answer);
/*
 * {"object", "map"} -> {"sums": [[KEY, N, …], …]}: the 64-bit numbers of a per-CPU array's
 * elements, each summed over all CPUs. Elements of zeros are left out.
 */
int object_sums(void *ctx, json_t *arguments, json_t *answer);

/* A program's descriptor, or -errno. */
int object_program(const char *name);
/* A map of the object whose name has n bytes. NULL: there is none (kept). */
struct bpf_map *object_map(const char *name, size_t n, const char *map);
/* A device's index, or -errno. */
int object_ifindex(const char *device);
/* Parse hexadecimal digits. Returns the number of bytes, at most size, or -errno. */
int object_hex(const char *text, void *out, size_t size);

/* --- runs: packets_run.c, packets_socket.c -------------------------------------------------- */

struct lane {
	struct packets_state state;
	struct lanes *all;
	pthread_t thread;
	const char *program;
	uint32_t cpu, number;
	int prog, states;	 /* descriptors of the generator's program and its map "states" */
	struct packets_run *run; /* the generator's, mapped */
	int error;
};

struct lanes {
	struct packets_run run;
	struct lane *at;
	struct socket_frame *frame; /* NULL: the lanes use generators */
	uint32_t bytes, ingress;
	uint32_t done; /* lanes of packet sockets that have made their count; atomic */
	bool over;     /* atomic */
	pthread_barrier_t begin;
	int ended; /* an eventfd that each lane writes to at its end */
};

/*
 * {"lanes": [[PROGRAM, CPU, MOST, FIRST], …], "bytes"}: each lane makes frames of so many bytes by
 * a generator's program on the CPU (plan_cpu()), at most so many, to the targets from FIRST on.
 *   "count": until every lane has made so many while all others ran, too
 *   "ns": for so long. "rate": so many frames a second by all lanes together
 *   "ingress": the device that frames seem to come in by, if they go into a program
 *   "ports": number of source ports, a power of 2. "stamped": BOOL
 *   "header": HEX, "device", "targets": PATH, "n" of a lane: by packet sockets, without PROGRAM,
 *   "ns" and "rate"
 * Input ends the run early. Answers {"lanes": [[MADE, REFUSED, FIRST_NS, FIRST_MADE, LAST_NS,
 * LAST_MADE, DONE], …]}, as in struct packets_state.
 */
int run_lanes(void *ctx, json_t *arguments, json_t *answer);

/* Lanes of packet sockets. socket_close() takes others, too. */
int socket_open(struct lanes *lanes, json_t *arguments);
int socket_lane(struct lane *lane);
void socket_close(struct lanes *lanes);
static inline bool lane_is_over(const struct lane *lane)
{
	return __atomic_load_n(&lane->all->over, __ATOMIC_ACQUIRE);
}

#endif
