/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The source sets (sl_src_routes) read at one moment and in order, for commands that show a set as
 * a whole or the prefix in it that a source falls under, which the trie's values do not tell.
 */
#ifndef USER_CLI_SOURCES_H
#define USER_CLI_SOURCES_H

#include "../maps/maps.h"

struct source {
	struct sixlane_route_key key; /* table: the set's id; addr: the source */
	uint32_t value;
};

struct sources {
	struct source *at; /* by set, then by prefix */
	size_t n, room;
	bool read;
};

/* Read all, unless that was done before. 0 or -errno. Free with sources_free. */
int sources_read(const struct maps *maps, struct sources *sources);
void sources_free(struct sources *sources);

/* The entries of one set: the first, and how many there are. NULL and 0: none. */
const struct source *sources_of(const struct sources *sources, uint32_t set, size_t *n);

/* The entry of a set with the longest prefix around addr. NULL: none. */
const struct source *sources_match(const struct sources *sources, uint32_t set,
				   const union sixlane_addr *addr);

static inline uint32_t source_len(const struct source *source)
{
	return source->key.prefix_len - SIXLANE_TABLE_BITS;
}

#endif
