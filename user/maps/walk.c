// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks over whole maps: what a daemon that starts takes over, and all routes for the CLI. Maps may
 * change meanwhile, and old kernels walk them entry by entry only.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "maps_internal.h"

/* Entries a batch, but fewer of large values: a bucket of a hash must fit, which 256 see to. */
#define BATCH 4096u
#define BATCH_LEAST 256u
#define BATCH_BYTES (1u << 18)
#define SOME 1024u
#define MAX_KEY MAPS_MAX_KEY
/* A restarted walk of a changing trie may see entries twice, but not without end. */
#define MAX_WALK (4ull * SIXLANE_MAX_ROUTES)
#define WALK_RETRIES 16

#define ENOTSUPP_KERNEL 524 /* the kernel's internal ENOTSUPP, which libc does not name */

_Static_assert(sizeof(union sixlane_addr) <= MAX_KEY, "keys of all maps fit");

static size_t aligned(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* One by one, for kernels without batches for this kind of map. fn may delete what it is given. */
static int each_single(const struct maps_walk *walk)
{
	_cleanup_free_ void *value = NULL;
	_Alignas(uint64_t) uint8_t key[MAX_KEY], next[MAX_KEY];
	bool found, more;
	int rc;

	if (bpf_map_get_next_key(walk->fd, NULL, key))
		return errno == ENOENT ? 0 : -errno;
	value = malloc(aligned(walk->value_bytes));
	if (!value)
		return -ENOMEM;
	for (uint64_t n = 0; n < MAX_WALK; n++) {
		found = !bpf_map_lookup_elem(walk->fd, key, value);
		if (!found && errno != ENOENT)
			return -errno;
		more = !bpf_map_get_next_key(walk->fd, key, next);
		if (!more && errno != ENOENT)
			return -errno;
		rc = found ? walk->fn(walk->ctx, key, value) : 0;
		if (rc || !more)
			return rc;
		memcpy(key, next, walk->key_bytes);
	}
	return -EAGAIN;
}

struct batch {
	uint8_t *values;
	uint8_t keys[];
};

static struct batch *batch_new(const struct maps_walk *walk, uint32_t n)
{
	size_t keys_bytes = aligned(n * walk->key_bytes);
	struct batch *b = malloc(sizeof(*b) + keys_bytes + n * walk->value_bytes);

	if (b)
		b->values = b->keys + keys_bytes;
	return b;
}

static uint32_t batch_size(const struct maps_walk *walk)
{
	size_t n = BATCH_BYTES / walk->value_bytes;

	return n > BATCH ? BATCH : n < BATCH_LEAST ? BATCH_LEAST : (uint32_t)n;
}

static int hand_on(const struct maps_walk *walk, const struct batch *b, uint32_t n)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = walk->fn(walk->ctx, b->keys + i * walk->key_bytes,
			      b->values + i * walk->value_bytes);
	return rc;
}

/* *n: room of the batch, and then how many there were. As maps_walk_some(). */
static int next_batch(const struct maps_walk *walk, struct maps_cursor *cursor, struct batch *b,
		      uint32_t *n)
{
	int rc = bpf_map_lookup_batch(walk->fd, cursor->started ? cursor->token : NULL,
				      cursor->token, b->keys, b->values, n, NULL);
	int error = rc ? errno : 0;

	/* EINTR: an element went away just then. What came before it is good. */
	if (error && error != ENOENT && error != EINTR)
		return -error;
	rc = hand_on(walk, b, *n);
	if (rc)
		return rc;
	cursor->started |= *n != 0;
	return error != ENOENT;
}

/* cursor->started: entries were handed on already, so that it is too late for another way. */
static int each_batched(const struct maps_walk *walk, struct maps_cursor *cursor)
{
	uint32_t n = batch_size(walk), count;
	_cleanup_free_ struct batch *b = batch_new(walk, n);
	uint64_t walked = 0;
	int retries = 0, rc;

	if (!b)
		return -ENOMEM;
	while (walked < MAX_WALK) {
		count = n;
		rc = next_batch(walk, cursor, b, &count);
		if (rc <= 0)
			return rc;
		if (!count && ++retries > WALK_RETRIES)
			return -EAGAIN;
		walked += count;
	}
	return -EAGAIN;
}

int maps_walk(const struct maps_walk *walk)
{
	struct maps_cursor cursor = { 0 };
	int rc = each_batched(walk, &cursor);

	if (!cursor.started && (rc == -EINVAL || rc == -ENOTSUPP_KERNEL || rc == -EOPNOTSUPP))
		return each_single(walk);
	return rc;
}

int maps_walk_some(const struct maps_walk *walk, struct maps_cursor *cursor)
{
	uint32_t n = SOME;
	_cleanup_free_ struct batch *b = batch_new(walk, n);

	return b ? next_batch(walk, cursor, b, &n) : -ENOMEM;
}

typedef int (*entry_fn)(void *ctx, const void *key, uint32_t value);

struct entry_each {
	entry_fn fn;
	void *ctx;
};

static int each_entry(void *ctx, const void *key, const void *value)
{
	const struct entry_each *each = ctx;
	uint32_t copy;

	memcpy(&copy, value, sizeof(copy));
	return each->fn(each->ctx, key, copy);
}

/* Every entry of a map whose values are of 32 bits. */
static int entry_each(int fd, size_t key_bytes, entry_fn fn, void *ctx)
{
	struct entry_each each = { fn, ctx };

	return maps_walk(&(struct maps_walk){ fd, key_bytes, sizeof(uint32_t), each_entry, &each });
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

	return entry_each(maps->fd[LOADER_ROUTES], sizeof(struct sixlane_route_key), each_route,
			  &each);
}

int maps_source_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	struct route_each each = { fn, ctx };

	return entry_each(maps->fd[LOADER_SOURCES], sizeof(struct sixlane_route_key), each_route,
			  &each);
}

int maps_policy_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	struct route_each each = { fn, ctx };

	return entry_each(maps->fd[LOADER_POLICIES], sizeof(struct sixlane_route_key), each_route,
			  &each);
}

/* --- adopting ---------------------------------------------------------------------------- */

struct adopt {
	struct maps *maps;
	struct fib *fib;
	int rc; /* the first error, or that there is no memory */
};

static void adopt_note(struct adopt *adopt, int rc)
{
	if (rc && (!adopt->rc || rc == -ENOMEM))
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

/* The kernel's may have changed: they are punted until they are read again. */
static int adopt_exception(void *ctx, const union sixlane_addr *dst,
			   const struct sixlane_exception *value)
{
	struct adopt *adopt = ctx;

	maps_punted_add(adopt->maps->punted, dst);
	if (value->flags & SIXLANE_EXCEPTION_OPERATOR) {
		adopt_note(adopt, fib_adopt_exception(adopt->fib, dst, value));
		return 0;
	}
	adopt_note(adopt, maps_write_exception_del(adopt->maps, dst));
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

	adopt_note(&adopt, maps_fib_drop(maps));
	/* What is named comes before what names it. */
	adopt_note(&adopt,
		   entry_each(maps->fd[LOADER_PORT_INDEX], sizeof(uint32_t), adopt_port, &adopt));
	adopt_note(&adopt, entry_each(maps->fd[LOADER_NEIGH_INDEX],
				      sizeof(struct sixlane_neigh_key), adopt_neigh, &adopt));
	adopt_note(&adopt, entry_each(maps->fd[LOADER_VLANS], sizeof(struct sixlane_vlan_key),
				      adopt_vlan, &adopt));
	adopt_next_hops(&adopt);
	fib_adopt_buckets(fib, maps->buckets);
	adopt_note(&adopt, entry_each(maps->fd[LOADER_SOURCES], sizeof(struct sixlane_route_key),
				      adopt_source, &adopt));
	adopt_note(&adopt, entry_each(maps->fd[LOADER_ROUTES], sizeof(struct sixlane_route_key),
				      adopt_route, &adopt));
	adopt_note(&adopt, maps_exception_each(maps, adopt_exception, &adopt));
	return adopt.rc;
}
