// SPDX-License-Identifier: GPL-2.0-only
/* See walk.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "access.h"

/* Entries of a batch; fewer if values are large. 256 are enough for a bucket of a hash. */
#define BATCH 4096u
#define BATCH_LEAST 256u
#define BATCH_BYTES (1u << 18)
#define SOME 1024u
/* A walk of a changing trie may restart and see entries twice: this bounds it. */
#define MAX_WALK (4ull * SIXLANE_MAX_ROUTES)
#define WALK_RETRIES 16

_Static_assert(sizeof(union sixlane_addr) <= MAPS_MAX_KEY, "keys of all maps fit");

static size_t aligned(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
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

static int call_each(const struct maps_walk *walk, const struct batch *b, uint32_t n)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = walk->fn(walk->ctx, b->keys + i * walk->key_bytes,
			      b->values + i * walk->value_bytes);
	return rc;
}

/* *n: the size of the batch, then the number of entries. Returns as maps_walk_some(). */
static int next_batch(const struct maps_walk *walk, struct maps_cursor *cursor, struct batch *b,
		      uint32_t *n)
{
	int rc = bpf_map_lookup_batch(walk->fd, cursor->started ? cursor->token : NULL,
				      cursor->token, b->keys, b->values, n, NULL);
	int error = rc ? errno : 0;

	/* EINTR: an entry was deleted in between. Those before it are good. */
	if (error && error != ENOENT && error != EINTR)
		return -error;
	rc = call_each(walk, b, *n);
	if (rc)
		return rc;
	cursor->started |= *n != 0;
	return error != ENOENT;
}

int maps_walk(const struct maps_walk *walk)
{
	uint32_t n = batch_size(walk), count;
	_cleanup_free_ struct batch *b = batch_new(walk, n);
	struct maps_cursor cursor = { 0 };
	uint64_t walked = 0;
	int retries = 0, rc;

	if (!b)
		return -ENOMEM;
	while (walked < MAX_WALK) {
		count = n;
		rc = next_batch(walk, &cursor, b, &count);
		if (rc <= 0)
			return rc;
		if (!count && ++retries > WALK_RETRIES)
			return -EAGAIN;
		walked += count;
	}
	return -EAGAIN;
}

int maps_walk_some(const struct maps_walk *walk, struct maps_cursor *cursor)
{
	uint32_t n = SOME;
	_cleanup_free_ struct batch *b = batch_new(walk, n);

	return b ? next_batch(walk, cursor, b, &n) : -ENOMEM;
}

struct route_each {
	maps_route_fn fn;
	void *ctx;
};

static int each_route(void *ctx, const void *key, const void *value)
{
	const struct route_each *each = ctx;
	struct sixlane_route_key key_copy;
	uint32_t value_copy;

	memcpy(&key_copy, key, sizeof(key_copy));
	memcpy(&value_copy, value, sizeof(value_copy));
	return each->fn(each->ctx, &key_copy, value_copy);
}

static int walk_routes(const struct maps *maps, enum loader_map map, maps_route_fn fn, void *ctx)
{
	struct route_each each = { fn, ctx };

	return maps_walk(&(struct maps_walk){
		.fd = maps->fd[map],
		.key_bytes = sizeof(struct sixlane_route_key),
		.value_bytes = sizeof(uint32_t),
		.fn = each_route,
		.ctx = &each,
	});
}

int maps_route_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	return walk_routes(maps, LOADER_ROUTES, fn, ctx);
}

int maps_source_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	return walk_routes(maps, LOADER_SOURCES, fn, ctx);
}

int maps_policy_each(const struct maps *maps, maps_route_fn fn, void *ctx)
{
	return walk_routes(maps, LOADER_POLICIES, fn, ctx);
}
