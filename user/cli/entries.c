// SPDX-License-Identifier: GPL-2.0-only
/* See entries.h. */
#include "entries.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../lib/log.h"

int entries_add(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct entry entry = {
		.table = ntohl(key->table),
		.prefix = { key->addr, (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS) },
		.value = value,
	};
	struct entries *entries = ctx;
	struct entry *grown;

	/* the daemon ignores such a key, too */
	if (key->prefix_len < SIXLANE_TABLE_BITS)
		return 0;
	prefix_mask(&entry.prefix);
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

static bool covers(const struct entry *entry, const struct entry *other)
{
	return entry->table == other->table && prefix_covers(&entry->prefix, &other->prefix);
}

/* Sets all parents. The entry before one is its parent, or is itself covered by its parent. */
static void set_parents(struct entries *entries)
{
	struct entry *at = entries->at;

	for (size_t i = 0; i < entries->n; i++) {
		size_t parent = i;

		while (parent && !covers(&at[parent - 1], &at[i]))
			parent = at[parent - 1].parent;
		at[i].parent = parent;
	}
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
	set_parents(entries);
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

/* How many entries come before the key. */
static size_t count_before(const struct entries *entries, const struct entry *key)
{
	size_t low = 0, high = entries->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&entries->at[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct entry *entries_of(const struct entries *entries, uint32_t table, size_t *n)
{
	const size_t low = count_before(entries, &(struct entry){ .table = table });
	size_t end;

	for (end = low; end < entries->n && entries->at[end].table == table; end++)
		;
	*n = end - low;
	return *n ? &entries->at[low] : NULL;
}

const struct entry *entries_match(const struct entries *entries, uint32_t table,
				  const union sixlane_addr *addr)
{
	const struct entry host = { .table = table, .prefix = { *addr, 128 } };
	size_t n = count_before(entries, &host);

	n += n < entries->n && !compare(&entries->at[n], &host);
	while (n && !covers(&entries->at[n - 1], &host))
		n = entries->at[n - 1].parent;
	return n ? &entries->at[n - 1] : NULL;
}
