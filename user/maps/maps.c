// SPDX-License-Identifier: GPL-2.0-only
/* See maps.h. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "access.h"

static size_t array_bytes(size_t entry_bytes, size_t entries)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (entry_bytes * entries + page - 1) / page * page;
}

/* The arrays that the daemon stores to. */
static const struct mapped {
	enum loader_map map;
	size_t at; /* in struct maps */
	size_t entry_bytes, entries;
} mapped[] = {
	{ LOADER_META, offsetof(struct maps, meta), sizeof(struct sixlane_meta), 1 },
	{ LOADER_PORTS, offsetof(struct maps, ports), sizeof(struct sixlane_port),
	  SIXLANE_MAX_PORTS },
	{ LOADER_NEXT_HOPS, offsetof(struct maps, next_hops), sizeof(struct sixlane_next_hop),
	  SIXLANE_MAX_NEXT_HOPS },
	{ LOADER_NH_BUCKETS, offsetof(struct maps, buckets), sizeof(union sixlane_nh_bucket),
	  SIXLANE_MAX_NH_BUCKETS },
	{ LOADER_NEIGHBOURS, offsetof(struct maps, neighbours), sizeof(struct sixlane_neigh),
	  SIXLANE_MAX_NEIGHBOURS },
	{ LOADER_PUNTED, offsetof(struct maps, punted), sizeof(uint64_t), SIXLANE_PUNTED_WORDS },
	{ LOADER_FRESH, offsetof(struct maps, fresh), sizeof(uint64_t), SIXLANE_FRESH_WORDS },
	{ LOADER_RULES, offsetof(struct maps, rules), sizeof(struct sixlane_rule),
	  2 * SIXLANE_MAX_RULES },
	{ LOADER_GUARD, offsetof(struct maps, guard), sizeof(uint64_t), SIXLANE_GUARD_WORDS },
};

static int map_array(struct maps *maps, const struct mapped *array, bool writable)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	size_t bytes = array_bytes(array->entry_bytes, array->entries);
	void *at = mmap(NULL, bytes, prot, MAP_SHARED, maps->fd[array->map], 0);

	if (at == MAP_FAILED)
		return -errno;
	memcpy((char *)maps + array->at, &at, sizeof(at));
	return 0;
}

static void unmap_array(const struct maps *maps, const struct mapped *array)
{
	void *at;

	memcpy(&at, (const char *)maps + array->at, sizeof(at));
	if (at)
		munmap(at, array_bytes(array->entry_bytes, array->entries));
}

int maps_open(struct maps *maps, const struct loader_maps *fds, bool writable)
{
	struct maps opened = { 0 };
	const int n_cpus = libbpf_num_possible_cpus();
	int rc = n_cpus < 0 ? n_cpus : 0;

	opened.n_cpus = (size_t)n_cpus;
	memcpy(opened.fd, fds->fd, sizeof(opened.fd));
	for (size_t i = 0; i < ARRAY_SIZE(mapped) && !rc; i++)
		rc = map_array(&opened, &mapped[i], writable);
	rc = rc ?: maps_fib_open(&opened, fds->arena, writable);
	if (rc) {
		maps_close(&opened);
		return rc;
	}
	*maps = opened;
	return 0;
}

void maps_close(struct maps *maps)
{
	for (size_t i = 0; i < ARRAY_SIZE(mapped); i++)
		unmap_array(maps, &mapped[i]);
	maps_fib_close(maps);
	*maps = (struct maps){ 0 };
}

/* --- readers ---------------------------------------------------------------------------------- */

int maps_trie_lookup(const struct maps *maps, enum loader_map trie, uint32_t table,
		     const union sixlane_addr *addr, uint32_t *value)
{
	const struct sixlane_route_key key = {
		.prefix_len = SIXLANE_TABLE_BITS + 8 * sizeof(*addr),
		.table = htonl(table),
		.addr = *addr,
	};

	return bpf_map_lookup_elem(maps->fd[trie], &key, value) ? -errno : 0;
}

int maps_route_lookup(const struct maps *maps, uint32_t table, const union sixlane_addr *addr,
		      uint32_t *value)
{
	return maps_trie_lookup(maps, LOADER_ROUTES, table, addr, value);
}

int maps_default_route(const struct maps *maps, uint32_t table, uint32_t *value)
{
	/* A key without bits of an address finds no longer prefix. */
	struct sixlane_route_key key = { .prefix_len = SIXLANE_TABLE_BITS, .table = htonl(table) };

	return bpf_map_lookup_elem(maps->fd[LOADER_ROUTES], &key, value) ? -errno : 0;
}

int maps_source_lookup(const struct maps *maps, uint32_t id, const union sixlane_addr *addr,
		       uint32_t *value)
{
	return maps_trie_lookup(maps, LOADER_SOURCES, id, addr, value);
}

uint32_t maps_neigh_slot(const struct maps *maps, uint32_t ifindex, const union sixlane_addr *addr)
{
	struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };
	uint32_t slot;

	if (bpf_map_lookup_elem(maps->fd[LOADER_NEIGH_INDEX], &key, &slot))
		return 0;
	if (slot >= SIXLANE_MAX_NEIGHBOURS ||
	    memcmp(&maps->neighbours[slot].key, &key, sizeof(key)) != 0)
		return 0;
	return slot;
}

uint32_t maps_port_slot(const struct maps *maps, uint32_t ifindex)
{
	uint32_t slot;

	if (bpf_map_lookup_elem(maps->fd[LOADER_PORT_INDEX], &ifindex, &slot))
		return 0;
	if (slot >= SIXLANE_MAX_PORTS || maps->ports[slot].ifindex != ifindex)
		return 0;
	return slot;
}

int maps_counters(const struct maps *maps, uint32_t slot, struct sixlane_counters *sum)
{
	_cleanup_free_ struct sixlane_counters *cpus = NULL;
	struct sixlane_counters total = { 0 };

	cpus = calloc(maps->n_cpus, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	if (bpf_map_lookup_elem(maps->fd[LOADER_COUNTERS], &slot, cpus))
		return -errno;
	for (size_t cpu = 0; cpu < maps->n_cpus; cpu++) {
		for (size_t v = 0; v < SIXLANE_MAX_VERDICTS; v++) {
			total.verdicts[v].packets += cpus[cpu].verdicts[v].packets;
			total.verdicts[v].bytes += cpus[cpu].verdicts[v].bytes;
		}
	}
	*sum = total;
	return 0;
}

int maps_icmp_events_lost(const struct maps *maps, uint64_t *lost)
{
	_cleanup_free_ struct sixlane_cpu *cpus = NULL;
	const uint32_t zero = 0;
	uint64_t sum = 0;

	cpus = calloc(maps->n_cpus, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	if (bpf_map_lookup_elem(maps->fd[LOADER_CPU], &zero, cpus))
		return -errno;
	for (size_t cpu = 0; cpu < maps->n_cpus; cpu++)
		sum += cpus[cpu].icmp_events_lost;
	*lost = sum;
	return 0;
}

/* A packet that finds `used` at 0 checks `sample`. */
bool maps_sample_draw(struct maps *maps, uint32_t slot)
{
	ATOMIC_STORE(&maps->neighbours[slot].sample, 1);
	return __atomic_exchange_n(&maps->neighbours[slot].used, 0, __ATOMIC_ACQ_REL) != 0;
}

void maps_take_used(struct maps *maps, void (*fn)(void *ctx, uint32_t slot), void *ctx)
{
	for (uint32_t slot = 1; slot < SIXLANE_MAX_NEIGHBOURS; slot++) {
		if (!ATOMIC_LOAD(&maps->neighbours[slot].used))
			continue;
		ATOMIC_STORE(&maps->neighbours[slot].used, 0);
		fn(ctx, slot);
	}
}
