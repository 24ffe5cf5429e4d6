// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding the prefix that decides for an address, and writing again what its next hop consists of.
 * Every word gets the value that it should have anyway, so packets under way are safe. Changes
 * nothing of what was remembered.
 */
#include "entry.h"
#include "fib.h"
#include "neigh.h"
#include "object.h"
#include "port.h"
#include "source.h"

static struct fib_entry *find_entry(const struct fib *fib, uint32_t table,
				    const struct prefix *prefix)
{
	struct fib_entry *entry = fib_entry_match(fib, table, prefix);

	while (entry && !entry->next_hop)
		entry = fib_entry_cover(entry);
	return entry;
}

bool fib_find_prefix(const struct fib *fib, uint32_t table, const union sixlane_addr *addr,
		     struct prefix *out)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct fib_entry *entry = find_entry(fib, table, &host);

	if (entry)
		*out = entry->node.prefix;
	return entry != NULL;
}

static uint32_t object_of(const struct fib_next_hop *next_hop)
{
	return next_hop->key.kind == FIB_OBJECT ? next_hop->key.object : 0;
}

bool fib_find_object(const struct fib *fib, uint32_t table, const union sixlane_addr *addr,
		     uint32_t *object)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct fib_entry *entry = find_entry(fib, table, &host);
	const struct fib_source_table *sources = entry ? entry->next_hop->sources : NULL;

	for (size_t i = 0; sources && i < sources->n; i++) {
		if (sources->entries[i].next_hop && object_of(sources->entries[i].next_hop))
			return false;
	}
	*object = entry ? object_of(entry->next_hop) : 0;
	return true;
}

static void rewrite_next_hop(struct fib *fib, const struct fib_next_hop *next_hop)
{
	if (next_hop->neigh) {
		const struct sixlane_neigh content = { .mac = next_hop->neigh->mac,
						       .key = next_hop->neigh->key };

		fib_write_store(fib, FIB_MAP_NEIGHS, next_hop->neigh->slot, &content);
	}
	if (next_hop->port)
		fib_write_store(fib, FIB_MAP_PORTS, next_hop->port->slot, &next_hop->port->port);
	if (next_hop->id && !next_hop->stuck)
		fib_write_word(fib, FIB_MAP_NEXT_HOPS, next_hop->id,
			       next_hop->content.nh_entry.word);
}

static void rewrite_group(struct fib *fib, const struct fib_group *group)
{
	for (uint32_t i = 0; i < group->n_members; i++)
		rewrite_next_hop(fib, group->members[i]);
	for (uint32_t i = group->first_bucket; i < group->first_bucket + group->n_buckets; i++)
		fib_write_bucket(fib, i, fib->written_buckets[i]);
}

static void rewrite_parts(struct fib *fib, const struct fib_next_hop *next_hop)
{
	const struct fib_group *group = next_hop->group;

	if (!group && next_hop->object)
		group = next_hop->object->group;
	if (group)
		rewrite_group(fib, group);
	rewrite_next_hop(fib, next_hop);
}

static void rewrite_sources(struct fib *fib, const struct fib_source_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct fib_source_entry *entry = &table->entries[i];
		const uint32_t value = sixlane_route_value(entry->id, entry->dst_len);

		if (!entry->next_hop || !entry->id)
			continue;
		rewrite_parts(fib, entry->next_hop);
		/* After an error packets find what is there, as before. */
		(void)fib_write_set(fib, FIB_MAP_SOURCES, &entry->key, &value);
	}
}

void fib_rewrite(struct fib *fib, uint32_t table, const struct prefix *dst)
{
	const struct fib_entry *entry = find_entry(fib, table, dst);

	if (!entry)
		return;
	if (entry->next_hop->sources)
		rewrite_sources(fib, entry->next_hop->sources);
	rewrite_parts(fib, entry->next_hop);
}
