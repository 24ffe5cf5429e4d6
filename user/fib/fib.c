// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fib as a whole: its making and end, the change from adopting to serving, and its figures.
 */
#include <errno.h>
#include <stdlib.h>

#include "fib_internal.h"

/* The next hop for what finds no room, there before anything can fail. */
static int reserve_full(struct fib *fib)
{
	const struct fib_target target = { .verdict = SIXLANE_PUNT_MAP_FULL };
	int err = fib_next_hop_want(fib, &target, &fib->full);

	if (err)
		return err;
	return fib->full->id == FIB_ID_FULL ? 0 : -ENOMEM;
}

struct fib *fib_new(const struct fib_writer *writer, uint32_t max_routes)
{
	struct fib *fib = calloc(1, sizeof(*fib));
	int err = 0;

	if (!fib)
		return NULL;
	fib->writer = *writer;
	fib->max_routes = max_routes;
	fib->adopting = true;
	fib->by_id = calloc(SIXLANE_MAX_NEXT_HOPS, sizeof(*fib->by_id));
	fib->by_slot = calloc(SIXLANE_MAX_NEIGHBOURS, sizeof(*fib->by_slot));
	err |= fib_hash_init(&fib->ports);
	err |= fib_hash_init(&fib->neighs);
	err |= fib_hash_init(&fib->next_hops);
	err |= fib_pool_init(&fib->port_pool, SIXLANE_MAX_PORTS);
	err |= fib_pool_init(&fib->neigh_pool, SIXLANE_MAX_NEIGHBOURS);
	err |= fib_pool_init(&fib->next_hop_pool, SIXLANE_MAX_NEXT_HOPS);
	if (err || !fib->by_id || !fib->by_slot || reserve_full(fib)) {
		fib_free(fib);
		return NULL;
	}
	return fib;
}

void fib_free(struct fib *fib)
{
	if (!fib)
		return;
	fib_route_free_all(fib);
	if (fib->by_id && fib->next_hops.buckets)
		fib_next_hop_free_all(fib);
	if (fib->neighs.buckets)
		fib_neigh_free_all(fib);
	if (fib->ports.buckets)
		fib_port_free_all(fib);
	fib_pool_free(&fib->port_pool);
	fib_pool_free(&fib->neigh_pool);
	fib_pool_free(&fib->next_hop_pool);
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

static bool port_taken(const struct fib *fib, uint32_t slot)
{
	return fib_port_at(fib, slot) != NULL;
}

static bool neigh_taken(const struct fib *fib, uint32_t slot)
{
	return fib->by_slot[slot] != NULL;
}

static bool next_hop_taken(const struct fib *fib, uint32_t id)
{
	return fib->by_id[id] != NULL;
}

/*
 * What is not taken goes into quarantine before anything is understood, since that gives back
 * what turns out to be of no use, and no id may be there twice.
 */
void fib_adopt_finish(struct fib *fib)
{
	if (!fib->adopting)
		return;
	fib->adopting = false;
	if (!fib->adopted)
		return;
	fib_pool_adopt(&fib->port_pool, port_taken, fib);
	fib_pool_adopt(&fib->neigh_pool, neigh_taken, fib);
	fib_pool_adopt(&fib->next_hop_pool, next_hop_taken, fib);
	fib_next_hop_understand(fib);
	fib_route_understand(fib);
}

void fib_adopt_drop_strays(struct fib *fib)
{
	size_t kept = 0;

	for (size_t i = 0; i < fib->n_strays; i++) {
		int err = fib->writer.route_del(fib->writer.ctx, &fib->strays[i]);

		fib->writes++;
		if (!err || err == -ENOENT)
			continue;
		fib->write_errors++;
		fib->strays[kept++] = fib->strays[i];
	}
	fib->n_strays = kept;
}

void fib_get_stats(const struct fib *fib, struct fib_stats *out)
{
	*out = (struct fib_stats){
		.routes = fib->n_written,
		.next_hops = fib->n_ids - 1, /* without the reserved one */
		.neighbours = fib->neighs.count,
		.missing = fib->n_failed,
		.writes = fib->writes,
		.write_errors = fib->write_errors,
	};
}
