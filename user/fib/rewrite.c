// SPDX-License-Identifier: GPL-2.0-only
/*
 * For a prefix whose entries in the maps are in question: which one it is, and writing again what
 * its next hop consists of. Every word gets the value that it should have anyway, so that packets
 * under way are safe. Changes nothing of what the fib remembers.
 */
#include "fib_internal.h"

static struct fib_entry *find_entry(const struct fib *fib, uint32_t table,
				    const struct prefix *prefix)
{
	const struct fib_table *in = fib_table_find(fib, table);
	struct radix_node *node = in ? radix_match(&in->entries, prefix) : NULL;

	while (node && !fib_entry_of(node)->wanted)
		node = radix_cover(node);
	return node ? fib_entry_of(node) : NULL;
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
	const struct fib_set *set = entry ? entry->wanted->set : NULL;

	for (size_t i = 0; set && i < set->n; i++)
		if (set->entries[i].next_hop && object_of(set->entries[i].next_hop))
			return false;
	*object = entry ? object_of(entry->wanted) : 0;
	return true;
}

static void rewrite_neigh(struct fib *fib, const struct fib_neigh *neigh)
{
	const struct sixlane_neigh content = { .mac = neigh->mac, .key = neigh->key };

	fib->writer.neigh_set(fib->writer.ctx, neigh->slot, &content);
}

static void rewrite_next_hop(struct fib *fib, const struct fib_next_hop *next_hop)
{
	if (next_hop->neigh)
		rewrite_neigh(fib, next_hop->neigh);
	if (next_hop->port)
		fib->writer.port_set(fib->writer.ctx, next_hop->port->slot, &next_hop->port->port);
	if (next_hop->id && !next_hop->stuck)
		fib->writer.next_hop_set_entry(fib->writer.ctx, next_hop->id,
					       next_hop->content.nh_entry);
}

static void rewrite_group(struct fib *fib, const struct fib_group *group)
{
	for (uint32_t i = 0; i < group->n_members; i++)
		rewrite_next_hop(fib, group->members[i]);
	for (uint32_t i = group->first_bucket; i < group->first_bucket + group->n_buckets; i++)
		fib->writer.bucket_set(fib->writer.ctx, i, fib->buckets.written[i]);
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

static void rewrite_set(struct fib *fib, const struct fib_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct fib_set_entry *entry = &set->entries[i];

		if (!entry->next_hop || !entry->id)
			continue;
		rewrite_parts(fib, entry->next_hop);
		/* On failure packets find what is there, as before. */
		(void)fib->writer.source_set(fib->writer.ctx, &entry->key,
					     sixlane_route_value(entry->id, entry->dst_len));
	}
}

void fib_rewrite(struct fib *fib, uint32_t table, const struct prefix *dst)
{
	const struct fib_entry *entry = find_entry(fib, table, dst);

	if (!entry)
		return;
	if (entry->wanted->set)
		rewrite_set(fib, entry->wanted->set);
	rewrite_parts(fib, entry->wanted);
}
