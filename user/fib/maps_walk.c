// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks over whole maps: what a daemon that starts takes over, and all routes for the CLI. Maps may
 * change meanwhile, and old kernels walk them entry by entry only.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "maps_internal.h"

/* Entries a batch, and the largest key and value of the maps that are walked. */
#define BATCH 4096u
#define MAX_KEY sizeof(struct sixlane_route_key)
/* A restarted walk of a changing trie may see entries twice, but not without end. */
#define MAX_WALK (4ull * SIXLANE_MAX_ROUTES)
#define WALK_RETRIES 16

#define ENOTSUPP_KERNEL 524 /* the kernel's internal ENOTSUPP, which libc does not name */

/* One by one, for kernels without batches for this kind of map. */
static int each_single(int fd, size_t key_size, maps_entry_fn fn, void *ctx)
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
static int each_batched(int fd, size_t key_size, maps_entry_fn fn, void *ctx, bool *started)
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

int maps_entry_each(int fd, size_t key_size, maps_entry_fn fn, void *ctx)
{
	bool started = false;
	int rc = each_batched(fd, key_size, fn, ctx, &started);

	if (!started && (rc == -EINVAL || rc == -ENOTSUPP_KERNEL || rc == -EOPNOTSUPP))
		return each_single(fd, key_size, fn, ctx);
	return rc;
}

struct route_each {
	maps_route_fn fn;
	void *ctx;
};

static int each_route(void *ctx, const void *key, uint32_t value)
{
	const struct route_each *each = ctx;
	struct sixlane_route_key copy;

	memcpy(&copy, key, sizeof(copy));
	return each->fn(each->ctx, &copy, value);
}

int maps_route_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	struct route_each each = { fn, ctx };

	return maps_entry_each(maps->fd[LOADER_ROUTES], sizeof(struct sixlane_route_key),
			       each_route, &each);
}

int maps_source_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	struct route_each each = { fn, ctx };

	return maps_entry_each(maps->fd[LOADER_SOURCES], sizeof(struct sixlane_route_key),
			       each_route, &each);
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
		adopt_note(adopt, maps_erase(adopt->maps, LOADER_NEIGH_INDEX, key));
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
		adopt_note(adopt, maps_erase(adopt->maps, LOADER_PORT_INDEX, key));
	else
		adopt_note(adopt, fib_adopt_port(adopt->fib, slot, &adopt->maps->ports[slot]));
	return 0;
}

static int adopt_vlan(void *ctx, const void *key, uint32_t slot)
{
	struct adopt *adopt = ctx;
	struct sixlane_vlan_key copy;

	memcpy(&copy, key, sizeof(copy));
	adopt_note(adopt, fib_adopt_vlan(adopt->fib, &copy, slot));
	return 0;
}

static int adopt_source(void *ctx, const void *key, uint32_t value)
{
	struct adopt *adopt = ctx;
	struct sixlane_route_key copy;

	memcpy(&copy, key, sizeof(copy));
	adopt_note(adopt, fib_adopt_source(adopt->fib, &copy, value));
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
	adopt_note(&adopt, maps_entry_each(maps->fd[LOADER_PORT_INDEX], sizeof(uint32_t),
					   adopt_port, &adopt));
	adopt_note(&adopt, maps_entry_each(maps->fd[LOADER_NEIGH_INDEX],
					   sizeof(struct sixlane_neigh_key), adopt_neigh, &adopt));
	adopt_note(&adopt, maps_entry_each(maps->fd[LOADER_VLANS], sizeof(struct sixlane_vlan_key),
					   adopt_vlan, &adopt));
	adopt_next_hops(&adopt);
	fib_adopt_cells(fib, maps->cells);
	adopt_note(&adopt, maps_entry_each(maps->fd[LOADER_SOURCES],
					   sizeof(struct sixlane_route_key), adopt_source, &adopt));
	adopt_note(&adopt, maps_entry_each(maps->fd[LOADER_ROUTES],
					   sizeof(struct sixlane_route_key), adopt_route, &adopt));
	return adopt.rc;
}
