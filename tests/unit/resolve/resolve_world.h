/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of the resolver: routes written as text, and a plain list of what it said last of each
 * prefix, looked up as the datapath does: the longest destination, then the longest source.
 */
#ifndef UNIT_RESOLVE_RESOLVE_WORLD_H
#define UNIT_RESOLVE_RESOLVE_WORLD_H

#include "../unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/lib/util.h"
#include "../../../user/resolve/resolve.h"

#define WORLD_MAX_ENTRIES 1024
#define WORLD_MAX_HOPS ROUTE_MAX_HOPS

/* Devices: WORLD_DOWN has no carrier and its ignore_routes_with_linkdown is set. */
#define WORLD_LO 1
#define WORLD_DOWN 7
#define WORLD_ALSO_DOWN 8
#define WORLD_VRF 9
#define WORLD_DEVICES 9

/* A target, or a source of one, with memory of its own. */
struct world_result {
	struct prefix src;
	uint8_t dst_len;
	struct fib_target target;
	struct fib_hop hops[WORLD_MAX_HOPS];
};

struct world_entry {
	uint32_t table;
	struct prefix dst;
	size_t n_results; /* 1 and src ::/0 unless it is FIB_SOURCES */
	struct world_result *results;
	bool by_source;
};

struct world {
	struct rib *rib;
	struct links links;
	struct resolve_view view;
	struct resolve *resolve;
	struct world_entry entries[WORLD_MAX_ENTRIES];
	size_t n_entries;
	/* What resolve_affected() and resolve_each() visited last. */
	struct world_visited {
		uint32_t table;
		struct prefix dst;
	} visited[WORLD_MAX_ENTRIES];
	size_t n_visited;
};

struct world *world_new(bool local_first);
void world_free(struct world *world);

/*
 * "[TYPE] DST [from SRC] [table N] [metric N] [pref N] [proto N] [mtu N] [nhid N] [expires N]
 * [encap] [unknown] [truncated]" and hops: "dev N" on-link, "via N" by a gateway on device N,
 * "weight N" of the hop before. expires: seconds. Fails the test if it makes no sense.
 */
void world_parse(const char *text, struct route *out, struct route_hop hops[ROUTE_MAX_HOPS]);
void world_add(struct world *world, const char *text);
void world_del(struct world *world, const char *text);
struct prefix world_prefix(const char *text);

/* The result of a prefix into the list, or out of it. A callback of resolve_affected(). */
void world_resolved(void *ctx, uint32_t table, const struct prefix *dst, int error,
		    const struct fib_target *target);
/* The same for all that a change there affects; checks order and that nothing is visited twice. */
void world_update(struct world *world, uint32_t table, const struct prefix *dst);
/* Resolve everything again. */
void world_resolve_all(struct world *world);

/* What the datapath finds; NULL: no entry. */
const struct world_entry *world_find(const struct world *world, uint32_t table,
				     const union sixlane_addr *dst);
const struct world_result *world_lookup(const struct world *world, uint32_t table,
					const union sixlane_addr *dst,
					const union sixlane_addr *src);

/*
 * The answer of resolve_prefix(): "-", a verdict, or a kind, hops ("via 3*WEIGHT"), mtu, expiry. Of
 * sources "SRC TARGET @LENGTH;" for each, the length only if it counts.
 */
#define WORLD_TEXT 1024
void world_describe(struct world *world, uint32_t table, const char *dst, char text[WORLD_TEXT]);

#endif
