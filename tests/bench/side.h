/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Another object of sixlane of the same ABI, an older one or the same again, beside the one that is
 * attached: on the very trie that the daemon filled, since where a trie's nodes lie in memory is as
 * much as what versions differ by. All other maps are copies of its own.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_SIDE_H
#define BENCH_SIDE_H

#include <bpf/libbpf.h>
#include <stdint.h>

/* pins: directory of the daemon's maps. The object holds program and maps until it is closed. */
int side_open(const char *file, const char *pins, struct bpf_object **out);

/* One of the daemon's maps, for the caller to close. */
int side_open_pin(const char *pins, const char *map);

/* The program of an object, and its map of counters. */
int side_prog_fd(const struct bpf_object *object);
int side_counters_fd(const struct bpf_object *object);

struct side_counts {
	uint64_t forwarded;
	uint64_t checksum; /* passed, as their checksum looked open */
};

/* Packets that came in by the port in this slot. */
int side_counts(int counters_fd, uint32_t slot, struct side_counts *out);

#endif
