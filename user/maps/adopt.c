// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a daemon that starts takes over from the maps: see fib/fib.h. A daemon that was killed
 * between two writes may have left index entries that contradict their slots. They are deleted,
 * since nothing would remember them.
 */
#include <errno.h>
#include <string.h>

#include "access.h"

struct adopt {
	struct maps *maps;
	struct fib *fib;
	int rc; /* the first error, or -ENOMEM */
};

static void add_error(struct adopt *adopt, int rc)
{
	if (rc && (!adopt->rc || rc == -ENOMEM))
		adopt->rc = rc;
}

/* The value of an index map. */
static uint32_t slot_of(const void *value)
{
	uint32_t slot;

	memcpy(&slot, value, sizeof(slot));
	return slot;
}

static int adopt_neigh(void *ctx, const void *key, const void *value)
{
	const uint32_t slot = slot_of(value);
	struct adopt *adopt = ctx;

	if (!slot || slot >= SIXLANE_MAX_NEIGHBOURS ||
	    memcmp(&adopt->maps->neighbours[slot].key, key, sizeof(struct sixlane_neigh_key)) != 0)
		add_error(adopt, maps_erase(adopt->maps, LOADER_NEIGH_INDEX, key));
	else
		add_error(adopt, fib_adopt_neigh(adopt->fib, slot, &adopt->maps->neighbours[slot]));
	return 0;
}

static int adopt_port(void *ctx, const void *key, const void *value)
{
	const uint32_t slot = slot_of(value);
	struct adopt *adopt = ctx;

	if (!slot || slot >= SIXLANE_MAX_PORTS ||
	    memcmp(&adopt->maps->ports[slot].ifindex, key, sizeof(uint32_t)) != 0)
		add_error(adopt, maps_erase(adopt->maps, LOADER_PORT_INDEX, key));
	else
		add_error(adopt, fib_adopt_port(adopt->fib, slot, &adopt->maps->ports[slot]));
	return 0;
}

static int adopt_vlan(void *ctx, const void *key, const void *value)
{
	struct adopt *adopt = ctx;
	struct sixlane_vlan_key copy;

	memcpy(&copy, key, sizeof(copy));
	add_error(adopt, fib_adopt_vlan(adopt->fib, &copy, slot_of(value)));
	return 0;
}

static int adopt_source(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct adopt *adopt = ctx;

	add_error(adopt, fib_adopt_source(adopt->fib, key, value));
	return 0;
}

static int adopt_route(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct adopt *adopt = ctx;

	add_error(adopt, fib_adopt_route(adopt->fib, key, value));
	return 0;
}

/* Those of the kernel may have changed: they are punted until they are read again. */
static int adopt_exception(void *ctx, const union sixlane_addr *dst,
			   const struct sixlane_exception *value)
{
	struct adopt *adopt = ctx;

	maps_punted_add(adopt->maps->punted, dst);
	if (value->flags & SIXLANE_EXCEPTION_OPERATOR)
		add_error(adopt, fib_adopt_exception(adopt->fib, dst, value));
	else
		add_error(adopt, maps_write_exception_del(adopt->maps, dst));
	return 0;
}

static void adopt_next_hops(struct adopt *adopt)
{
	static const struct sixlane_next_hop none;
	const struct sixlane_next_hop *next_hops = adopt->maps->next_hops;

	for (uint32_t id = 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (memcmp(&next_hops[id], &none, sizeof(none)) != 0)
			add_error(adopt, fib_adopt_next_hop(adopt->fib, id, &next_hops[id]));
	}
}

static void adopt_index(struct adopt *adopt, enum loader_map map, size_t key_bytes,
			int (*fn)(void *ctx, const void *key, const void *value))
{
	add_error(adopt, maps_walk(&(struct maps_walk){ .fd = adopt->maps->fd[map],
							.key_bytes = key_bytes,
							.value_bytes = sizeof(uint32_t),
							.fn = fn,
							.ctx = adopt }));
}

int maps_adopt(struct maps *maps, struct fib *fib)
{
	struct adopt adopt = { .maps = maps, .fib = fib };

	add_error(&adopt, maps_fib_drop(maps));
	/* Parts come before what names them. */
	adopt_index(&adopt, LOADER_PORT_INDEX, sizeof(uint32_t), adopt_port);
	adopt_index(&adopt, LOADER_NEIGH_INDEX, sizeof(struct sixlane_neigh_key), adopt_neigh);
	adopt_index(&adopt, LOADER_VLANS, sizeof(struct sixlane_vlan_key), adopt_vlan);
	adopt_next_hops(&adopt);
	add_error(&adopt, maps_source_each(maps, adopt_source, &adopt));
	add_error(&adopt, maps_route_each(maps, adopt_route, &adopt));
	add_error(&adopt, maps_exception_each(maps, adopt_exception, &adopt));
	fib_adopt_end(fib, maps->buckets);
	return adopt.rc;
}
