// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores to the maps. The datapath reads the mapped arrays while they are written, so every word
 * that it may look at is stored whole, and what makes a slot usable is stored last.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>

#include "maps_internal.h"

/* Port flags by which packets are passed when set; the others let packets be forwarded. */
#define FLAGS_FORBID                                                                             \
	(SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER | SIXLANE_PORT_PROXY_NDP | SIXLANE_PORT_BACKUP | \
	 SIXLANE_PORT_SKIP | SIXLANE_PORT_SKIP_OBJECT | SIXLANE_PORT_NO_XMIT |                   \
	 SIXLANE_PORT_IN_HELD | SIXLANE_PORT_OUT_HELD | SIXLANE_PORT_GUARD |                     \
	 SIXLANE_PORT_OPEN_CHECKSUMS)

int maps_update(const struct maps *maps, enum loader_map map, const void *key, const void *value)
{
	return bpf_map_update_elem(maps->fd[map], key, value, BPF_ANY) ? -errno : 0;
}

int maps_erase(const struct maps *maps, enum loader_map map, const void *key)
{
	return bpf_map_delete_elem(maps->fd[map], key) ? -errno : 0;
}

static int write_route_set(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	return maps_update(ctx, LOADER_ROUTES, key, &value);
}

static int write_route_del(void *ctx, const struct sixlane_route_key *key)
{
	return maps_erase(ctx, LOADER_ROUTES, key);
}

static int write_source_set(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	return maps_update(ctx, LOADER_SOURCES, key, &value);
}

static int write_source_del(void *ctx, const struct sixlane_route_key *key)
{
	return maps_erase(ctx, LOADER_SOURCES, key);
}

static void write_next_hop(void *ctx, uint32_t id, const struct sixlane_next_hop *next_hop)
{
	struct maps *maps = ctx;

	/* Nothing names it yet: what counts is only that all of it is there before something does.
	 */
	maps->next_hops[id] = *next_hop;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void write_entry(void *ctx, uint32_t id, union sixlane_nh_entry nh_entry)
{
	struct maps *maps = ctx;

	ATOMIC_STORE(&maps->next_hops[id].nh_entry.word, nh_entry.word);
}

static void write_bucket(void *ctx, uint32_t index, union sixlane_nh_bucket bucket)
{
	struct maps *maps = ctx;

	ATOMIC_STORE(&maps->buckets[index].word, bucket.word);
}

static void write_neigh_mac(void *ctx, uint32_t slot, union sixlane_mac mac)
{
	struct maps *maps = ctx;

	ATOMIC_STORE(&maps->neighbours[slot].mac.word, mac.word);
}

static void write_neigh(void *ctx, uint32_t slot, const struct sixlane_neigh *neigh)
{
	struct maps *maps = ctx;
	struct sixlane_neigh *to = &maps->neighbours[slot];

	/* Unresolved while the key changes, so that no MAC is ever taken for another's. */
	ATOMIC_STORE(&to->mac.word, 0);
	for (size_t i = 0; i < ARRAY_SIZE(to->key.addr.halves); i++)
		ATOMIC_STORE(&to->key.addr.halves[i], neigh->key.addr.halves[i]);
	ATOMIC_STORE(&to->key.ifindex, neigh->key.ifindex);
	ATOMIC_STORE(&to->key.zero, 0);
	ATOMIC_STORE(&to->used, neigh->used);
	ATOMIC_STORE(&to->mac.word, neigh->mac.word);
}

static int write_neigh_index(void *ctx, const struct sixlane_neigh_key *key, uint32_t slot)
{
	return maps_update(ctx, LOADER_NEIGH_INDEX, key, &slot);
}

static int write_neigh_index_del(void *ctx, const struct sixlane_neigh_key *key)
{
	return maps_erase(ctx, LOADER_NEIGH_INDEX, key);
}

/* A slot that goes to another device must not inherit the counts of the former one. */
static void clear_counters(const struct maps *maps, uint32_t slot)
{
	struct sixlane_counters *zero = calloc(maps->n_cpus, sizeof(*zero));

	if (!zero)
		return;
	maps_update(maps, LOADER_COUNTERS, &slot, zero);
	free(zero);
}

/* What a packet that is under way may combine with what it has read of the port before. */
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

/* Any mixture of two lists leads to a slave that is, or was a moment before, in use. */
static void write_slaves(struct sixlane_port *to, const struct sixlane_port *port)
{
	for (size_t i = 0; i < ARRAY_SIZE(to->slaves); i++)
		ATOMIC_STORE(&to->slaves[i], port->slaves[i]);
	ATOMIC_STORE(&to->n_slaves, port->n_slaves);
	ATOMIC_STORE(&to->slaves_by, port->slaves_by);
	ATOMIC_STORE(&to->slaves_type, port->slaves_type);
}

/*
 * While the rest changes, the stricter of before and after holds. Where half of the old and half of
 * the new meaning would be a third one, packets pass until those that saw the old one are gone.
 *
 * The source is two words, of which the first says whether there are any. The second one must not
 * change for a packet that has read the first one before it became 0: hence a grace period between
 * taking a source back and writing another.
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

/* What changes its meaning is not held: before it waits, its VLAN has to be out of the index. */
static bool hold_port(void *ctx, uint32_t slot, const struct sixlane_port *port)
{
	struct maps *maps = ctx;
	struct sixlane_port *to = &maps->ports[slot];

	return !port_changes_meaning(to, port) && tighten(to, port, false);
}

static void write_port(void *ctx, uint32_t slot, const struct sixlane_port *port)
{
	struct maps *maps = ctx;
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

static int write_port_index(void *ctx, uint32_t ifindex, uint32_t slot)
{
	return maps_update(ctx, LOADER_PORT_INDEX, &ifindex, &slot);
}

static int write_port_index_del(void *ctx, uint32_t ifindex)
{
	return maps_erase(ctx, LOADER_PORT_INDEX, &ifindex);
}

static int write_vlan(void *ctx, const struct sixlane_vlan_key *key, uint32_t slot)
{
	return maps_update(ctx, LOADER_VLANS, key, &slot);
}

static int write_vlan_del(void *ctx, const struct sixlane_vlan_key *key)
{
	return maps_erase(ctx, LOADER_VLANS, key);
}

/* The other flags of sl_meta are the daemon's, of which another thread may clear one. */
static void write_gaps(void *ctx, bool gaps)
{
	struct maps *maps = ctx;

	if (gaps)
		__atomic_fetch_or(&maps->meta->flags, SIXLANE_META_GAPS, __ATOMIC_ACQ_REL);
	else
		__atomic_fetch_and(&maps->meta->flags, ~SIXLANE_META_GAPS, __ATOMIC_ACQ_REL);
}

/*
 * The global barrier is synchronize_rcu(). XDP programs run inside RCU read-side sections (with
 * softirqs off, which counts as one since Linux 5.0), so afterwards every packet that might have
 * seen an old id has left its program. On one CPU the kernel does nothing, and need not: this
 * process does not run while a program does. -EINVAL with nohz_full: slots are then kept out of
 * use.
 */
int maps_write_grace(void *ctx)
{
	(void)ctx;
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0;
}

int maps_fresh_turn(struct maps *maps)
{
	ATOMIC_STORE(&maps->meta->fresh, maps->meta->fresh ^ 1);
	return maps_write_grace(maps);
}

struct fib_writer maps_writer(struct maps *maps)
{
	return (struct fib_writer){
		.ctx = maps,
		.route_set = write_route_set,
		.route_del = write_route_del,
		.fib_chunk = maps_write_fib_chunk,
		.fib_publish = maps_write_fib,
		.source_set = write_source_set,
		.source_del = write_source_del,
		.next_hop_set = write_next_hop,
		.next_hop_set_entry = write_entry,
		.bucket_set = write_bucket,
		.neigh_set = write_neigh,
		.neigh_set_mac = write_neigh_mac,
		.neigh_index_set = write_neigh_index,
		.neigh_index_del = write_neigh_index_del,
		.port_hold = hold_port,
		.port_set = write_port,
		.port_index_set = write_port_index,
		.port_index_del = write_port_index_del,
		.vlan_set = write_vlan,
		.vlan_del = write_vlan_del,
		.gaps_set = write_gaps,
		.exception_set = maps_write_exception,
		.exception_del = maps_write_exception_del,
		.grace = maps_write_grace,
	};
}

bool maps_has_rules(const struct maps *maps, const struct sixlane_rule *rules, uint32_t n)
{
	const union sixlane_rules list = { .word = maps->meta->rules.word };

	return list.n == n && n <= SIXLANE_MAX_RULES && list.first <= SIXLANE_MAX_RULES &&
	       !memcmp(&maps->rules[list.first], rules, n * sizeof(*rules));
}

/*
 * The list beside the one in use may still be walked by packets that came before the last change:
 * hence the grace period first. Packets that came before the caller had them punted go by the
 * tables as they were: hence one for a list that stays, too.
 */
int maps_set_rules(struct maps *maps, const struct sixlane_rule *rules, uint32_t n)
{
	union sixlane_rules list = { .word = maps->meta->rules.word };
	int rc;

	if (n > SIXLANE_MAX_RULES)
		return -E2BIG;
	rc = maps_write_grace(maps);
	if (rc || maps_has_rules(maps, rules, n))
		return rc;
	list.first = list.first ? 0 : SIXLANE_MAX_RULES;
	list.n = n;
	memcpy(&maps->rules[list.first], rules, n * sizeof(*rules));
	ATOMIC_STORE(&maps->meta->rules.word, list.word);
	return 0;
}
