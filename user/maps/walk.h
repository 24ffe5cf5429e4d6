/* SPDX-License-Identifier: GPL-2.0-only */
/* Walks in batches over whole maps, which may change meanwhile. */
#ifndef USER_MAPS_WALK_H
#define USER_MAPS_WALK_H

#include "../rib/prefix.h"

struct maps;

/* The largest key, and what a walk needs to go on: a key or a bucket's number. */
#define MAPS_MAX_KEY sizeof(struct sixlane_route_key)

typedef int (*maps_route_fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value);
/* Call fn for each entry of sl_routes or sl_src_routes, in the trie's order. As maps_walk(). */
int maps_route_each(const struct maps *maps, maps_route_fn fn, void *ctx);
int maps_source_each(const struct maps *maps, maps_route_fn fn, void *ctx);

/* value_bytes as bpf_map_lookup_elem() fills them: of a map per CPU those of all CPUs. */
struct maps_walk {
	int fd;
	size_t key_bytes, value_bytes;
	/* 0 or -errno, which ends the walk. Keys and values of whole 8 bytes are aligned to 8. */
	int (*fn)(void *ctx, const void *key, const void *value);
	void *ctx;
};

/* All entries, in no order; fn may delete the entry that it is given. 0, -errno, or fn's return. */
int maps_walk(const struct maps_walk *walk);

/* The position of a walk in pieces; all 0: at the beginning. */
struct maps_cursor {
	uint8_t token[MAPS_MAX_KEY];
	bool started;
};
/*
 * About a thousand more entries of a hash, which may change between the calls. An entry that stays
 * is usually met once. 1: there may be more; else as maps_walk().
 */
int maps_walk_some(const struct maps_walk *walk, struct maps_cursor *cursor);

#endif
