// SPDX-License-Identifier: GPL-2.0-only
/* See entries.h. */
#include "entries.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../lib/log.h"

int entries_add(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	const struct entry entry = {
		.table = ntohl(key->table),
		.prefix = { key->addr, (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS) },
		.value = value,
	};
	struct entries *entries = ctx;
	struct entry *grown;

	if ((entries->table && entry.table != entries->table) ||
	    !prefix_covers(&entries->within, &entry.prefix))
		return 0;
	/* the size doubles whenever the number is a power of two */
	if (!(entries->n & (entries->n - 1))) {
		grown = reallocarray(entries->at, entries->n ? 2 * entries->n : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		entries->at = grown;
	}
	entries->at[entries->n++] = entry;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int rc = (x->table > y->table) - (x->table < y->table);

	return rc ?: memcmp(&x->prefix.addr, &y->prefix.addr, sizeof(x->prefix.addr))
			     ?: x->prefix.len - y->prefix.len;
}

void entries_sort(struct entries *entries)
{
	size_t n = 0;

	if (entries->n)
		qsort(entries->at, entries->n, sizeof(*entries->at), compare);
	for (size_t i = 0; i < entries->n; i++)
		if (!n || compare(&entries->at[n - 1], &entries->at[i]))
			entries->at[n++] = entries->at[i];
	entries->n = n;
	entries->sorted = true;
}

int entries_read_sources(const struct maps *maps, struct entries *entries)
{
	int rc;

	if (entries->sorted)
		return 0;
	rc = maps_source_each(maps, entries_add, entries);
	if (rc)
		log_error("cannot read the source-specific routes: %s", strerror(-rc));
	else
		entries_sort(entries);
	return rc;
}

void entries_free(struct entries *entries)
{
	free(entries->at);
	*entries = (struct entries){ 0 };
}

const struct entry *entries_of(const struct entries *entries, uint32_t table, size_t *n)
{
	size_t low = 0, high = entries->n, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries->at[middle].table < table)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < entries->n && entries->at[end].table == table; end++)
		;
	*n = end - low;
	return *n ? &entries->at[low] : NULL;
}

const struct entry *entries_match(const struct entries *entries, uint32_t table,
				  const union sixlane_addr *addr)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct entry *best = NULL, *at;
	size_t n;

	at = entries_of(entries, table, &n);
	for (size_t i = 0; i < n; i++)
		if (prefix_covers(&at[i].prefix, &host) &&
		    (!best || at[i].prefix.len > best->prefix.len))
			best = &at[i];
	return best;
}
