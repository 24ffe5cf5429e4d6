// SPDX-License-Identifier: GPL-2.0-only
/* The desired state as a whole: making and freeing it, and its figures. */
#include <errno.h>
#include <stdlib.h>

#include "entry.h"
#include "fib.h"
#include "neigh.h"
#include "object.h"
#include "port.h"
#include "source.h"

/* The next hop for what finds no room, made before anything can fail. */
static int reserve_full(struct fib *fib)
{
	fib->full = fib_leaf_get(fib, fib_key_of_verdict(SIXLANE_PUNT_MAP_FULL));
	return fib->full && fib->full->id == FIB_ID_FULL ? 0 : -ENOMEM;
}

#define HASH_INIT(hash, type, key) \
	fib_hash_init(hash, offsetof(struct type, key), sizeof(((struct type *)0)->key))

static int init_hashes(struct fib *fib)
{
	return HASH_INIT(&fib->tables, fib_table, id) |
	       HASH_INIT(&fib->ports, fib_port, port.ifindex) |
	       HASH_INIT(&fib->vlans, fib_vlan, key) | HASH_INIT(&fib->neighs, fib_neigh, key) |
	       HASH_INIT(&fib->objects, fib_object_state, id) |
	       HASH_INIT(&fib->source_tables, fib_source_table, id) |
	       fib_hash_init(&fib->next_hops, offsetof(struct fib_next_hop, key), 0) |
	       fib_exception_init(fib);
}

static int init_ids(struct fib *fib)
{
	return fib_ids_init(&fib->port_ids, 1, SIXLANE_MAX_PORTS) |
	       fib_ids_init(&fib->neigh_ids, 1, SIXLANE_MAX_NEIGHBOURS) |
	       fib_ids_init(&fib->next_hop_ids, 1, SIXLANE_MAX_NEXT_HOPS) |
	       /* A table has at least one entry. */
	       fib_ids_init(&fib->source_ids, 1, SIXLANE_MAX_SOURCES + 1) |
	       fib_ids_init(&fib->buckets, 0, SIXLANE_MAX_NH_BUCKETS);
}

static int init_all(struct fib *fib)
{
	const struct compiled_memory memory = { .ctx = fib->writer.ctx,
						.chunk = fib->writer.chunk,
						.publish = fib->writer.publish,
						.grace = fib->writer.grace };
	int err = init_hashes(fib) | init_ids(fib);

	fib->compiled = compiled_new(&memory, fib_entry_value);
	fib_list_init(&fib->retry);
	fib_list_init(&fib->unused);
	fib->by_id = calloc(SIXLANE_MAX_NEXT_HOPS, sizeof(*fib->by_id));
	fib->neigh_by_slot = calloc(SIXLANE_MAX_NEIGHBOURS, sizeof(*fib->neigh_by_slot));
	fib->port_by_slot = calloc(SIXLANE_MAX_PORTS, sizeof(*fib->port_by_slot));
	fib->written_buckets = calloc(SIXLANE_MAX_NH_BUCKETS, sizeof(*fib->written_buckets));
	return err || !fib->compiled || !fib->by_id || !fib->neigh_by_slot || !fib->port_by_slot ||
			       !fib->written_buckets
		       ? -ENOMEM
		       : 0;
}

struct fib *fib_new(const struct fib_writer *writer, uint32_t max_routes)
{
	struct fib *fib = calloc(1, sizeof(*fib));

	if (!fib)
		return NULL;
	fib->writer = *writer;
	fib->max_routes = max_routes;
	if (init_all(fib) || reserve_full(fib)) {
		fib_free(fib);
		return NULL;
	}
	return fib;
}

void fib_free(struct fib *fib)
{
	if (!fib)
		return;
	compiled_free(fib->compiled);
	fib_hash_free(&fib->tables, fib_table_free);
	fib_hash_free(&fib->exceptions, free);
	if (fib->by_id)
		fib_next_hop_free_all(fib);
	fib_hash_free(&fib->objects, fib_object_free);
	fib_hash_free(&fib->source_tables, free);
	fib_hash_free(&fib->neighs, free);
	fib_hash_free(&fib->vlans, free);
	fib_hash_free(&fib->ports, free);
	fib_ids_free(&fib->port_ids);
	fib_ids_free(&fib->neigh_ids);
	fib_ids_free(&fib->next_hop_ids);
	fib_ids_free(&fib->source_ids);
	fib_ids_free(&fib->buckets);
	free(fib->scratch.bytes);
	free(fib->by_id);
	free(fib->neigh_by_slot);
	free(fib->port_by_slot);
	free(fib->written_buckets);
	free(fib->orphans);
	free(fib);
}

void fib_get_stats(const struct fib *fib, struct fib_stats *out)
{
	*out = (struct fib_stats){
		.routes = fib->n_written,
		.next_hops = fib->n_ids - 1, /* without FIB_ID_FULL */
		.neighbours = fib->neighs.count,
		.sources = fib->n_sources,
		.buckets = fib->buckets.n_taken,
		.missing = fib->n_failed + fib->n_pending,
		.writes = fib->writes,
		.write_errors = fib->write_errors,
		.exceptions = fib->exceptions.count,
	};
	compiled_get_stats(fib->compiled, &out->compiled);
	out->compiled.failures += fib->n_distrusted;
}
