/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the harness needs: a network namespace with devices, the object loaded with maps of its own,
 * and what a packet leaves behind in these (figures.c). Tests include harness.h instead.
 */
#ifndef TESTS_BPF_SETUP_H
#define TESTS_BPF_SETUP_H

#include <bpf/libbpf.h>

#include "harness.h"

/* Name, and of those that are mapped the field of harness_maps and how many elements. */
#define SETUP_MAPS(X, MAPPED)                                                   \
	MAPPED(META, "sl_meta", meta, 1)                                        \
	X(ROUTES, "sl_routes")                                                  \
	X(FIB, "sl_fib")                                                        \
	X(FIB_FIRST, "sl_fib_first")                                            \
	X(FIB_ARENA, "sl_fib_arena") /* not in every object */                  \
	X(SOURCES, "sl_src_routes")                                             \
	MAPPED(NEXT_HOPS, "sl_next_hops", next_hops, SIXLANE_MAX_NEXT_HOPS)     \
	MAPPED(BUCKETS, "sl_nh_buckets", buckets, SIXLANE_MAX_NH_BUCKETS)       \
	X(EXCEPTIONS, "sl_exceptions")                                          \
	MAPPED(PUNTED, "sl_punted", punted, SIXLANE_PUNTED_WORDS)               \
	MAPPED(FRESH, "sl_fresh", fresh, SIXLANE_FRESH_WORDS * 8)               \
	X(OPERATOR, "sl_operator")                                              \
	X(ICMP_EVENTS, "sl_icmp_events")                                        \
	X(CPU, "sl_cpu")                                                        \
	X(NEIGH_INDEX, "sl_neigh_index")                                        \
	MAPPED(NEIGHBOURS, "sl_neighbours", neighbours, SIXLANE_MAX_NEIGHBOURS) \
	X(SAMPLES, "sl_samples")                                                \
	X(PORT_INDEX, "sl_port_index")                                          \
	MAPPED(PORTS, "sl_ports", ports, SIXLANE_MAX_PORTS)                     \
	X(VLANS, "sl_vlans")                                                    \
	MAPPED(RULES, "sl_rules", rules, WORLD_RULES)                           \
	MAPPED(GUARD, "sl_guard", guard, SIXLANE_GUARD_WORDS)                   \
	X(POLICIES, "sl_policies")                                              \
	X(COUNTERS, "sl_counters")

#define SETUP_MAP_NUMBER(number, ...) MAP_##number,
enum setup_map { SETUP_MAPS(SETUP_MAP_NUMBER, SETUP_MAP_NUMBER) N_MAPS };

struct setup {
	const char *path; /* of the object */
	const char *frags_path;
	const char *trace_path; /* NULL: without PROG_TRACE */
	struct bpf_object *objects[N_PROGS];
	int prog_fd[N_PROGS];
	int map_fd[N_MAPS]; /* of objects[PROG_AS_IS] */
	int n_cpus;	    /* possible ones */
};

/* 0 or -errno, which stderr explains. */
int setup_open(struct setup *setup, const char *object, const char *frags_object,
	       const char *trace_object);
void setup_close(struct setup *setup);

/* An arena of the map's own, there. 0 or -errno. */
int setup_arena(struct bpf_map *map, uint64_t at);

/* Whatever a test asserts, it cannot go on without this: 0, or the end. */
void setup_must(int err, const char *what);

/*
 * What a packet leaves behind: one counter that rose, the figures of the exception that it hit, on
 * one CPU, and an ICMP event.
 */

/* 0 or -errno. The setup must outlive it. */
int figures_open(const struct setup *setup);
void figures_close(void);

/* Put the world's exceptions in the place of the last one's, and empty the CPUs' buckets. */
void figures_install(const struct world *world);

/* Take note of what is there before a frame, and of what it has changed. */
void figures_begin(void);
void figures_end(const struct frame *in, enum harness_sweep sweep);
/* A packet runs between these calls and the next. */
void figures_miss(void);

/* Whether that is just what is expected; if not, what it is, on stderr. */
bool figures_are(const struct frame *in, const struct expected *expected);
void figures_explain(const struct expected *expected);

#endif
