// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writer of fib/ (fib/writer.h). The datapath reads the mapped arrays while they are written,
 * so every word that it may read is stored whole, and what makes a slot usable is stored last.
 */
#include <string.h>

#include "access.h"

static const enum loader_map loader_maps[] = {
	[FIB_MAP_ROUTES] = LOADER_ROUTES,
	[FIB_MAP_SOURCES] = LOADER_SOURCES,
	[FIB_MAP_NEIGH_INDEX] = LOADER_NEIGH_INDEX,
	[FIB_MAP_PORT_INDEX] = LOADER_PORT_INDEX,
	[FIB_MAP_VLANS] = LOADER_VLANS,
};

static int set_entry(void *ctx, enum fib_map map, const void *key, const void *value)
{
	if (map == FIB_MAP_EXCEPTIONS)
		return maps_write_exception(ctx, key, value);
	return maps_update(ctx, loader_maps[map], key, value);
}

static int del_entry(void *ctx, enum fib_map map, const void *key)
{
	if (map == FIB_MAP_EXCEPTIONS)
		return maps_write_exception_del(ctx, key);
	return maps_erase(ctx, loader_maps[map], key);
}

/* --- ports ------------------------------------------------------------------------------------ */

/* Port flags that make packets pass when set. The others allow forwarding. */
#define FLAGS_FORBID                                                                             \
	(SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER | SIXLANE_PORT_PROXY_NDP | SIXLANE_PORT_BACKUP | \
	 SIXLANE_PORT_SKIP | SIXLANE_PORT_SKIP_OBJECT | SIXLANE_PORT_NO_XMIT |                   \
	 SIXLANE_PORT_IN_HELD | SIXLANE_PORT_OUT_HELD | SIXLANE_PORT_GUARD |                     \
	 SIXLANE_PORT_OPEN_CHECKSUMS)

/* A new device in a slot must not inherit the counts of the former one. */
static void clear_counters(const struct maps *maps, uint32_t slot)
{
	struct sixlane_counters *zero = calloc(maps->n_cpus, sizeof(*zero));

	if (!zero)
		return;
	maps_update(maps, LOADER_COUNTERS, &slot, zero);
	free(zero);
}

/* A packet under way could combine these fields with others that it read before the change. */
static bool port_changes_meaning(const struct sixlane_port *from, const struct sixlane_port *to)
{
	return from->ifindex != to->ifindex || from->table != to->table || from->iif != to->iif ||
	       from->lower != to->lower || from->tx_ifindex != to->tx_ifindex ||
	       from->tag.word != to->tag.word || from->tags[0].word != to->tags[0].word ||
	       from->tags[1].word != to->tags[1].word ||
	       (from->flags ^ to->flags) & SIXLANE_PORT_SLAVES;
}

static bool source_goes(const struct sixlane_port *from, const struct sixlane_port *to)
{
	return from->source.halves[0] && memcmp(&from->source, &to->source, sizeof(to->source));
}

/* Readers may see a part of both lists: each of their slaves is, or was a moment before, active. */
static void write_slaves(struct sixlane_port *to, const struct sixlane_port *port)
{
	for (size_t i = 0; i < ARRAY_SIZE(to->slaves); i++)
		ATOMIC_STORE(&to->slaves[i], port->slaves[i]);
	ATOMIC_STORE(&to->n_slaves, port->n_slaves);
	ATOMIC_STORE(&to->slaves_by, port->slaves_by);
	ATOMIC_STORE(&to->slaves_type, port->slaves_type);
}

/*
 * While a port changes, it does what both its old and its new value allow. other: parts of both
 * would mean something else, so packets pass until those that saw the old value are gone.
 *
 * The source address is two words; a first word of 0 means that there is none. A packet that has
 * read the first word of the old source must not find the second word of the new one: hence a grace
 * period between removing a source and writing another. Returns whether to wait for it.
 */
static bool tighten(struct sixlane_port *to, const struct sixlane_port *port, bool other)
{
	bool renumbered = source_goes(to, port);
	uint32_t strict = (to->flags & port->flags & ~FLAGS_FORBID) |
			  ((to->flags | port->flags) & FLAGS_FORBID);
	bool live = to->flags != 0;

	ATOMIC_STORE(&to->flags, other ? 0 : renumbered ? strict & ~SIXLANE_PORT_SOURCE : strict);
	if (renumbered)
		ATOMIC_STORE(&to->source.halves[0], 0);
	return (other || renumbered) && live;
}

/* A port that becomes another one is not held: its VLAN must leave the index before the wait. */
static bool hold_port(void *ctx, uint32_t slot, const struct sixlane_port *port)
{
	struct maps *maps = ctx;
	struct sixlane_port *to = &maps->ports[slot];

	return !port_changes_meaning(to, port) && tighten(to, port, false);
}

static void store_port(struct maps *maps, uint32_t slot, const struct sixlane_port *port)
{
	struct sixlane_port *to = &maps->ports[slot];
	bool other = port_changes_meaning(to, port);
	bool sourced = port->source.halves[0] && (source_goes(to, port) || !to->source.halves[0]);

	if (port->ifindex && port->ifindex != to->ifindex)
		clear_counters(maps, slot);
	if (tighten(to, port, other))
		maps_write_grace(maps);
	if (port->ifindex != to->ifindex)
		maps_guard_clear(maps, slot);
	ATOMIC_STORE(&to->ifindex, port->ifindex);
	ATOMIC_STORE(&to->mtu, port->mtu);
	ATOMIC_STORE(&to->table, port->table);
	ATOMIC_STORE(&to->mac.word, port->mac.word);
	ATOMIC_STORE(&to->iif, port->iif);
	ATOMIC_STORE(&to->lower, port->lower);
	ATOMIC_STORE(&to->tx_ifindex, port->tx_ifindex);
	ATOMIC_STORE(&to->tag.word, port->tag.word);
	ATOMIC_STORE(&to->tags[0].word, port->tags[0].word);
	ATOMIC_STORE(&to->tags[1].word, port->tags[1].word);
	write_slaves(to, port);
	ATOMIC_STORE(&to->source.halves[1], port->source.halves[1]);
	ATOMIC_STORE(&to->hop_limit, port->hop_limit);
	if (!LOADS_IN_ORDER && port->flags && (other || sourced))
		maps_write_grace(maps);
	ATOMIC_STORE(&to->source.halves[0], port->source.halves[0]);
	ATOMIC_STORE(&to->flags, port->flags);
}

static void store_neigh(struct sixlane_neigh *to, const struct sixlane_neigh *neigh)
{
	/* Unresolved while the key changes, so that no packet uses the MAC of another key. */
	ATOMIC_STORE(&to->mac.word, 0);
	for (size_t i = 0; i < ARRAY_SIZE(to->key.addr.halves); i++)
		ATOMIC_STORE(&to->key.addr.halves[i], neigh->key.addr.halves[i]);
	ATOMIC_STORE(&to->key.ifindex, neigh->key.ifindex);
	ATOMIC_STORE(&to->key.zero, 0);
	ATOMIC_STORE(&to->used, neigh->used);
	ATOMIC_STORE(&to->mac.word, neigh->mac.word);
}

/* Another thread may change other flags of sl_meta at the same time. */
static void set_gaps(void *ctx, bool gaps)
{
	struct maps *maps = ctx;

	if (gaps)
		__atomic_fetch_or(&maps->meta->flags, SIXLANE_META_GAPS, __ATOMIC_ACQ_REL);
	else
		__atomic_fetch_and(&maps->meta->flags, ~SIXLANE_META_GAPS, __ATOMIC_ACQ_REL);
}

/* --- all arrays ------------------------------------------------------------------------------- */

static void store(void *ctx, enum fib_map map, uint32_t index, const void *value)
{
	struct maps *maps = ctx;

	if (map == FIB_MAP_PORTS) {
		store_port(maps, index, value);
	} else if (map == FIB_MAP_NEIGHS) {
		store_neigh(&maps->neighbours[index], value);
	} else {
		/* Nothing names it yet: all of it must only be there before something does. */
		maps->next_hops[index] = *(const struct sixlane_next_hop *)value;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
}

static void store_word(void *ctx, enum fib_map map, uint32_t index, uint64_t word)
{
	struct maps *maps = ctx;

	if (map == FIB_MAP_NEXT_HOPS)
		ATOMIC_STORE(&maps->next_hops[index].nh_entry.word, word);
	else if (map == FIB_MAP_BUCKETS)
		ATOMIC_STORE(&maps->buckets[index].word, word);
	else
		ATOMIC_STORE(&maps->neighbours[index].mac.word, word);
}

struct fib_writer maps_writer(struct maps *maps)
{
	return (struct fib_writer){
		.ctx = maps,
		.set = set_entry,
		.del = del_entry,
		.store = store,
		.store_word = store_word,
		.hold_port = hold_port,
		.set_gaps = set_gaps,
		.chunk = maps_write_fib_chunk,
		.publish = maps_write_fib,
		.grace = maps_write_grace,
	};
}
