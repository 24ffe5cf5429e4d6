// SPDX-License-Identifier: GPL-2.0-only
/*
 * See sources.h.
 */
#include "sources.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static int collect(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct sources *sources = ctx;
	struct source *grown;

	if (sources->n == sources->room) {
		sources->room = sources->room ? 2 * sources->room : 64;
		grown = reallocarray(sources->at, sources->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		sources->at = grown;
	}
	sources->at[sources->n++] = (struct source){ *key, value };
	return 0;
}

static int by_set(const void *a, const void *b)
{
	const struct source *x = a, *y = b;
	int rc = memcmp(&x->key.table, &y->key.table, sizeof(x->key.table));

	if (!rc)
		rc = memcmp(&x->key.addr, &y->key.addr, sizeof(x->key.addr));
	if (rc)
		return rc;
	return (x->key.prefix_len > y->key.prefix_len) - (x->key.prefix_len < y->key.prefix_len);
}

int sources_read(const struct maps *maps, struct sources *sources)
{
	size_t kept = 0;
	int rc;

	if (sources->read)
		return 0;
	sources->n = 0;
	rc = maps_source_each(maps, collect, sources);
	if (rc)
		return rc;
	if (sources->n)
		qsort(sources->at, sources->n, sizeof(*sources->at), by_set);
	/* A walk of a trie that changes meanwhile may meet an entry twice. */
	for (size_t i = 0; i < sources->n; i++) {
		if (!kept || by_set(&sources->at[kept - 1], &sources->at[i]))
			sources->at[kept++] = sources->at[i];
	}
	sources->n = kept;
	sources->read = true;
	return 0;
}

void sources_free(struct sources *sources)
{
	free(sources->at);
	*sources = (struct sources){ 0 };
}

const struct source *sources_of(const struct sources *sources, uint32_t set, size_t *n)
{
	size_t low = 0, high = sources->n, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ntohl(sources->at[middle].key.table) < set)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < sources->n && ntohl(sources->at[end].key.table) == set; end++)
		;
	*n = end - low;
	return *n ? &sources->at[low] : NULL;
}

static bool covers(const struct source *source, const union sixlane_addr *addr)
{
	uint32_t len = source_len(source), bytes = len / 8, bits = len % 8;
	const uint8_t *mine = source->key.addr.bytes;

	if (memcmp(mine, addr->bytes, bytes) != 0)
		return false;
	return !bits || !((mine[bytes] ^ addr->bytes[bytes]) >> (8 - bits));
}

const struct source *sources_match(const struct sources *sources, uint32_t set,
				   const union sixlane_addr *addr)
{
	const struct source *best = NULL, *at;
	size_t n;

	at = sources_of(sources, set, &n);
	for (size_t i = 0; i < n; i++) {
		if (covers(&at[i], addr) && (!best || source_len(&at[i]) > source_len(best)))
			best = &at[i];
	}
	return best;
}
