/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the harness stands on: a network namespace with devices, and the object loaded with maps
 * that no one else sees. Only harness.c and figures.c include this.
 */
#ifndef TESTS_BPF_SETUP_H
#define TESTS_BPF_SETUP_H

#include <bpf/libbpf.h>

#include "harness.h"

enum setup_map {
	MAP_META,
	MAP_ROUTES,
	MAP_FIB,
	MAP_FIB_FIRST,
	MAP_FIB_ARENA, /* not in every object */
	MAP_SOURCES,
	MAP_NEXT_HOPS,
	MAP_BUCKETS,
	MAP_EXCEPTIONS,
	MAP_PUNTED,
	MAP_FRESH,
	MAP_OPERATOR,
	MAP_ICMP_EVENTS,
	MAP_CPU,
	MAP_NEIGH_INDEX,
	MAP_NEIGHBOURS,
	MAP_SAMPLES,
	MAP_PORT_INDEX,
	MAP_PORTS,
	MAP_VLANS,
	MAP_RULES,
	MAP_GUARD,
	MAP_POLICIES,
	MAP_COUNTERS,
	N_MAPS
};

struct setup {
	const char *path; /* of the object */
	const char *frags_path;
	const char *trace_path; /* NULL: without PROG_TRACE */
	uint32_t ifindex[N_DEVICES];
	struct bpf_object *objects[N_PROGS];
	int prog_fd[N_PROGS];
	int map_fd[N_MAPS];	   /* of objects[PROG_AS_IS] */
	struct sixlane_meta *meta; /* the mapped arrays */
	struct sixlane_port *ports;
	struct sixlane_next_hop *next_hops;
	union sixlane_nh_bucket *buckets;
	struct sixlane_rule *rules;
	struct sixlane_neigh *neighbours;
	uint64_t *punted, *guard;
	uint8_t *fresh; /* [SIXLANE_FRESH_WORDS * 8] */
	int n_cpus;	/* possible ones */
};

/* 0 or -errno, which stderr explains. */
int setup_open(struct setup *setup, const char *object, const char *frags_object,
	       const char *trace_object);
void setup_close(struct setup *setup);

/* An arena of the map's own, there. 0 or -errno. */
int setup_arena(struct bpf_map *map, uint64_t at);

/* Whatever a test asserts, it cannot go on without this: 0, or the end. */
void setup_must(int err, const char *what);

#endif
