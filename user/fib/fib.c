// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fib as a whole: its making and end, and its figures.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "exception.h"

/* The next hop for what finds no room, there before anything can fail. */
static int reserve_full(struct fib *fib)
{
	struct fib_leaf_key key;
	int err;

	fib_key_of_verdict(&key, SIXLANE_PUNT_MAP_FULL);
	err = fib_next_hop_want(fib, &key.key, &fib->full);
	if (err)
		return err;
	return fib->full->id == FIB_ID_FULL ? 0 : -ENOMEM;
}

static int init_all(struct fib *fib)
{
	struct fib_hash *const hashes[] = { &fib->tables,    &fib->ports,
					    &fib->vlans,     &fib->neighs,
					    &fib->next_hops, &fib->objects,
					    &fib->sets,	     &fib->exceptions.by_dst };
	int err = 0;

	fib_list_init(&fib->starving);
	fib->by_id = calloc(SIXLANE_MAX_NEXT_HOPS, sizeof(*fib->by_id));
	fib->by_slot = calloc(SIXLANE_MAX_NEIGHBOURS, sizeof(*fib->by_slot));
	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++)
		err |= fib_hash_init(hashes[i]);
	err |= fib_pool_init(&fib->port_pool, SIXLANE_MAX_PORTS);
	err |= fib_pool_init(&fib->neigh_pool, SIXLANE_MAX_NEIGHBOURS);
	err |= fib_pool_init(&fib->next_hop_pool, SIXLANE_MAX_NEXT_HOPS);
	err |= fib_pool_init(&fib->set_pool, SIXLANE_MAX_SOURCES + 1); /* of one entry at least */
	err |= fib_buckets_init(&fib->buckets, SIXLANE_MAX_NH_BUCKETS);
	err |= fib_compiled_init(fib);
	return err || !fib->by_id || !fib->by_slot ? -ENOMEM : 0;
}

struct fib *fib_new(const struct fib_writer *writer, uint32_t max_routes)
{
	struct fib *fib = calloc(1, sizeof(*fib));

	if (!fib)
		return NULL;
	fib->writer = *writer;
	fib->max_routes = max_routes;
	fib->adopting = true;
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
	fib_route_free_all(fib);
	fib_exception_free_all(fib);
	if (fib->by_id)
		fib_next_hop_free_all(fib);
	fib_object_free_all(fib);
	fib_set_free_all(fib);
	fib_neigh_free_all(fib);
	fib_vlan_free_all(fib);
	fib_port_free_all(fib);
	fib_pool_free(&fib->port_pool);
	fib_pool_free(&fib->neigh_pool);
	fib_pool_free(&fib->next_hop_pool);
	fib_pool_free(&fib->set_pool);
	fib_buckets_free(&fib->buckets);
	fib_key_buffer_free(&fib->scratch);
	free(fib->by_id);
	free(fib->by_slot);
	free(fib->strays);
	free(fib);
}

void fib_freep(struct fib **fib)
{
	fib_free(*fib);
	*fib = NULL;
}

void fib_get_stats(const struct fib *fib, struct fib_stats *out)
{
	*out = (struct fib_stats){
		.routes = fib->n_written,
		.next_hops = fib->n_ids - 1, /* without the reserved one */
		.neighbours = fib->neighs.count,
		.sources = fib->n_sources,
		.buckets = fib->buckets.n_taken,
		.missing = fib->n_failed + fib->n_hungry,
		.writes = fib->writes,
		.write_errors = fib->write_errors,
		.exceptions = fib->exceptions.n_written,
	};
	if (fib->compiled)
		compiled_get_stats(fib->compiled, &out->compiled);
	out->compiled.failures += fib->n_distrusted;
}
