// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pinned maps in memory: stores for the daemon, reads for both tools. The datapath reads the
 * mapped arrays while they are written, so every word that it may look at is stored whole, and
 * what makes a slot usable is stored last.
 */
#include "maps.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Entries a batch, and the largest key and value of the maps that are walked. */
#define BATCH 4096u
#define MAX_KEY sizeof(struct sixlane_route_key)
/* A restarted walk of a changing trie may see entries twice, but not without end. */
#define MAX_WALK (4ull * SIXLANE_MAX_ROUTES)
#define WALK_RETRIES 16

#define ENOTSUPP_KERNEL 524 /* the kernel's internal ENOTSUPP, which libc does not name */

/* Port flags by which packets are passed when set; the others let packets be forwarded. */
#define FLAGS_FORBID (SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER | SIXLANE_PORT_PROXY_NDP)

#define ATOMIC_STORE(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELEASE)
#define ATOMIC_LOAD(ptr) __atomic_load_n(ptr, __ATOMIC_ACQUIRE)

static size_t array_bytes(size_t entry_bytes, size_t entries)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (entry_bytes * entries + page - 1) / page * page;
}

static int map_array(int fd, size_t entry_bytes, size_t entries, bool writable, void *out)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *at = mmap(NULL, array_bytes(entry_bytes, entries), prot, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*(void **)out = at;
	return 0;
}

static void unmap_array(void *at, size_t entry_bytes, size_t entries)
{
	if (at)
		munmap(at, array_bytes(entry_bytes, entries));
}

int maps_open(struct maps *maps, const struct loader_maps *fds, bool writable)
{
	struct maps opened = { 0 };
	int rc;

	memcpy(opened.fd, fds->fd, sizeof(opened.fd));
	rc = map_array(fds->fd[LOADER_META], sizeof(*opened.meta), 1, writable, &opened.meta);
	if (!rc)
		rc = map_array(fds->fd[LOADER_PORTS], sizeof(*opened.ports), SIXLANE_MAX_PORTS,
			       writable, &opened.ports);
	if (!rc)
		rc = map_array(fds->fd[LOADER_NEXT_HOPS], sizeof(*opened.next_hops),
			       SIXLANE_MAX_NEXT_HOPS, writable, &opened.next_hops);
	if (!rc)
		rc = map_array(fds->fd[LOADER_NEIGHBOURS], sizeof(*opened.neighbours),
			       SIXLANE_MAX_NEIGHBOURS, writable, &opened.neighbours);
	if (rc) {
		maps_close(&opened);
		return rc;
	}
	*maps = opened;
	return 0;
}

void maps_close(struct maps *maps)
{
	unmap_array(maps->meta, sizeof(*maps->meta), 1);
	unmap_array(maps->ports, sizeof(*maps->ports), SIXLANE_MAX_PORTS);
	unmap_array(maps->next_hops, sizeof(*maps->next_hops), SIXLANE_MAX_NEXT_HOPS);
	unmap_array(maps->neighbours, sizeof(*maps->neighbours), SIXLANE_MAX_NEIGHBOURS);
	*maps = (struct maps){ 0 };
}

/* --- the writer -------------------------------------------------------------------------- */

static int update(const struct maps *maps, enum loader_map map, const void *key, const void *value)
{
	return bpf_map_update_elem(maps->fd[map], key, value, BPF_ANY) ? -errno : 0;
}

static int erase(const struct maps *maps, enum loader_map map, const void *key)
{
	return bpf_map_delete_elem(maps->fd[map], key) ? -errno : 0;
}

static int write_route_set(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	return update(ctx, LOADER_ROUTES, key, &value);
}

static int write_route_del(void *ctx, const struct sixlane_route_key *key)
{
	return erase(ctx, LOADER_ROUTES, key);
}

static void write_next_hop(void *ctx, uint32_t id, const struct sixlane_next_hop *next_hop)
{
	struct maps *maps = ctx;

	/* No route names it yet: what counts is only that all of it is there before one does. */
	maps->next_hops[id] = *next_hop;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
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
	return update(ctx, LOADER_NEIGH_INDEX, key, &slot);
}

static int write_neigh_index_del(void *ctx, const struct sixlane_neigh_key *key)
{
	return erase(ctx, LOADER_NEIGH_INDEX, key);
}

/* A slot that goes to another device must not inherit the counts of the former one. */
static void clear_counters(const struct maps *maps, uint32_t slot)
{
	int n_cpus = libbpf_num_possible_cpus();
	struct sixlane_counters *zero;

	if (n_cpus <= 0)
		return;
	zero = calloc((size_t)n_cpus, sizeof(*zero));
	if (!zero)
		return;
	update(maps, LOADER_COUNTERS, &slot, zero);
	free(zero);
}

static void write_port(void *ctx, uint32_t slot, const struct sixlane_port *port)
{
	struct maps *maps = ctx;
	struct sixlane_port *to = &maps->ports[slot];

	if (port->ifindex && port->ifindex != to->ifindex)
		clear_counters(maps, slot);
	/* While the rest changes, the stricter of before and after holds. */
	ATOMIC_STORE(&to->flags, (to->flags & port->flags & ~FLAGS_FORBID) |
					 ((to->flags | port->flags) & FLAGS_FORBID));
	ATOMIC_STORE(&to->ifindex, port->ifindex);
	ATOMIC_STORE(&to->mtu, port->mtu);
	ATOMIC_STORE(&to->table, port->table);
	ATOMIC_STORE(&to->mac.word, port->mac.word);
	ATOMIC_STORE(&to->flags, port->flags);
}

static int write_port_index(void *ctx, uint32_t ifindex, uint32_t slot)
{
	return update(ctx, LOADER_PORT_INDEX, &ifindex, &slot);
}

static int write_port_index_del(void *ctx, uint32_t ifindex)
{
	return erase(ctx, LOADER_PORT_INDEX, &ifindex);
}

/*
 * The global barrier is synchronize_rcu(). XDP programs run inside RCU read-side sections (with
 * softirqs off, which counts as one since Linux 5.0), so afterwards every packet that might have
 * seen an old id has left its program. On one CPU the kernel does nothing, and need not: this
 * process does not run while a program does. -EINVAL with nohz_full: slots are then kept out of
 * use.
 */
static int write_grace(void *ctx)
{
	(void)ctx;
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0;
}

struct fib_writer maps_writer(struct maps *maps)
{
	return (struct fib_writer){
		.ctx = maps,
		.route_set = write_route_set,
		.route_del = write_route_del,
		.next_hop_set = write_next_hop,
		.neigh_set = write_neigh,
		.neigh_set_mac = write_neigh_mac,
		.neigh_index_set = write_neigh_index,
		.neigh_index_del = write_neigh_index_del,
		.port_set = write_port,
		.port_index_set = write_port_index,
		.port_index_del = write_port_index_del,
		.grace = write_grace,
	};
}

/* --- walking a map ----------------------------------------------------------------------- */

typedef int (*entry_fn)(void *ctx, const void *key, uint32_t value);

/* One by one, for kernels without batches for this kind of map. */
static int each_single(int fd, size_t key_size, entry_fn fn, void *ctx)
{
	uint8_t key[MAX_KEY], prev[MAX_KEY];
	bool first = true;
	uint32_t value;
	int rc;

	for (uint64_t n = 0; n < MAX_WALK; n++) {
		if (bpf_map_get_next_key(fd, first ? NULL : prev, key))
			return errno == ENOENT ? 0 : -errno;
		if (!bpf_map_lookup_elem(fd, key, &value)) {
			rc = fn(ctx, key, value);
			if (rc)
				return rc;
		} else if (errno != ENOENT) {
			return -errno;
		}
		memcpy(prev, key, key_size);
		first = false;
	}
	return -EAGAIN;
}

struct batch {
	uint8_t keys[BATCH * MAX_KEY];
	uint32_t values[BATCH];
	uint8_t token[MAX_KEY]; /* where the kernel goes on: a key or a bucket's number */
};

/* *started: entries were handed on already, so that it is too late for another way. */
static int each_batched(int fd, size_t key_size, entry_fn fn, void *ctx, bool *started)
{
	_cleanup_free_ struct batch *b = malloc(sizeof(*b));
	uint64_t walked = 0;
	uint32_t count;
	int error, retries = 0, rc;

	if (!b)
		return -ENOMEM;
	while (walked < MAX_WALK) {
		count = BATCH;
		rc = bpf_map_lookup_batch(fd, *started ? b->token : NULL, b->token, b->keys,
					  b->values, &count, NULL);
		error = rc ? errno : 0;
		/* EINTR: an element went away just then. What came before it is good. */
		if (error && error != ENOENT && error != EINTR)
			return -error;
		if (error == EINTR && !count && ++retries > WALK_RETRIES)
			return -EAGAIN;
		for (uint32_t i = 0; i < count; i++) {
			rc = fn(ctx, b->keys + i * key_size, b->values[i]);
			if (rc)
				return rc;
		}
		if (error == ENOENT)
			return 0;
		if (count)
			*started = true;
		walked += count;
	}
	return -EAGAIN;
}

static int each_entry(int fd, size_t key_size, entry_fn fn, void *ctx)
{
	bool started = false;
	int rc = each_batched(fd, key_size, fn, ctx, &started);

	if (!started && (rc == -EINVAL || rc == -ENOTSUPP_KERNEL || rc == -EOPNOTSUPP))
		return each_single(fd, key_size, fn, ctx);
	return rc;
}

/* --- adopting ---------------------------------------------------------------------------- */

struct adopt {
	const struct maps *maps;
	struct fib *fib;
	int rc; /* the first error */
};

static void adopt_note(struct adopt *adopt, int rc)
{
	if (rc && !adopt->rc)
		adopt->rc = rc;
}

/*
 * An index entry whose slot is out of range or another's is of a daemon that died in between.
 * Readers refuse it already; it is removed, since nobody would know that it is there.
 */
static int adopt_neigh(void *ctx, const void *key, uint32_t slot)
{
	struct adopt *adopt = ctx;

	if (!slot || slot >= SIXLANE_MAX_NEIGHBOURS ||
	    memcmp(&adopt->maps->neighbours[slot].key, key, sizeof(struct sixlane_neigh_key)) != 0)
		adopt_note(adopt, erase(adopt->maps, LOADER_NEIGH_INDEX, key));
	else
		adopt_note(adopt,
			   fib_adopt_neigh(adopt->fib, slot, &adopt->maps->neighbours[slot]));
	return 0;
}

static int adopt_port(void *ctx, const void *key, uint32_t slot)
{
	struct adopt *adopt = ctx;

	if (!slot || slot >= SIXLANE_MAX_PORTS ||
	    memcmp(&adopt->maps->ports[slot].ifindex, key, sizeof(uint32_t)) != 0)
		adopt_note(adopt, erase(adopt->maps, LOADER_PORT_INDEX, key));
	else
		adopt_note(adopt, fib_adopt_port(adopt->fib, slot, &adopt->maps->ports[slot]));
	return 0;
}

static int adopt_route(void *ctx, const void *key, uint32_t value)
{
	struct adopt *adopt = ctx;
	struct sixlane_route_key copy;

	memcpy(&copy, key, sizeof(copy));
	adopt_note(adopt, fib_adopt_route(adopt->fib, &copy, value));
	return 0;
}

static void adopt_next_hops(struct adopt *adopt)
{
	static const struct sixlane_next_hop none;
	const struct sixlane_next_hop *next_hops = adopt->maps->next_hops;

	for (uint32_t id = 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (memcmp(&next_hops[id], &none, sizeof(none)) != 0)
			adopt_note(adopt, fib_adopt_next_hop(adopt->fib, id, &next_hops[id]));
	}
}

int maps_adopt(struct maps *maps, struct fib *fib)
{
	struct adopt adopt = { .maps = maps, .fib = fib };

	/* What is named comes before what names it. */
	adopt_note(&adopt,
		   each_entry(maps->fd[LOADER_PORT_INDEX], sizeof(uint32_t), adopt_port, &adopt));
	adopt_note(&adopt, each_entry(maps->fd[LOADER_NEIGH_INDEX],
				      sizeof(struct sixlane_neigh_key), adopt_neigh, &adopt));
	adopt_next_hops(&adopt);
	adopt_note(&adopt, each_entry(maps->fd[LOADER_ROUTES], sizeof(struct sixlane_route_key),
				      adopt_route, &adopt));
	return adopt.rc;
}

/* --- readers ----------------------------------------------------------------------------- */

int maps_route_lookup(const struct maps *maps, uint32_t table, const union sixlane_addr *addr,
		      uint32_t *value)
{
	struct sixlane_route_key key = {
		.prefix_len = SIXLANE_TABLE_BITS + 8 * sizeof(*addr),
		.table = htonl(table),
		.addr = *addr,
	};

	return bpf_map_lookup_elem(maps->fd[LOADER_ROUTES], &key, value) ? -errno : 0;
}

struct route_each {
	int (*fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value);
	void *ctx;
};

static int each_route(void *ctx, const void *key, uint32_t value)
{
	const struct route_each *each = ctx;
	struct sixlane_route_key copy;

	memcpy(&copy, key, sizeof(copy));
	return each->fn(each->ctx, &copy, value);
}

int maps_route_each(const struct maps *maps,
		    int (*fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value),
		    void *ctx)
{
	struct route_each each = { fn, ctx };

	return each_entry(maps->fd[LOADER_ROUTES], sizeof(struct sixlane_route_key), each_route,
			  &each);
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
	int n_cpus = libbpf_num_possible_cpus();
	struct sixlane_counters total = { 0 };

	if (n_cpus < 0)
		return n_cpus;
	cpus = calloc((size_t)n_cpus, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	if (bpf_map_lookup_elem(maps->fd[LOADER_COUNTERS], &slot, cpus))
		return -errno;
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		for (size_t v = 0; v < SIXLANE_MAX_VERDICTS; v++) {
			total.verdicts[v].packets += cpus[cpu].verdicts[v].packets;
			total.verdicts[v].bytes += cpus[cpu].verdicts[v].bytes;
		}
	}
	*sum = total;
	return 0;
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
