// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next hops: one object, one id for each different target. An object that finds no id, slot
 * or port is kept without ("starved"), so that its prefixes are punted and it can be fed later.
 * Knows nothing of prefixes but how many want it and how many name it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "fib_internal.h"

#define MIN_MTU 1280u

static struct fib_next_hop *next_hop_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_next_hop, node) : NULL;
}

static struct fib_next_hop *find(const struct fib *fib, const struct fib_target *target)
{
	struct fib_hash_node *node;

	node = fib_hash_first(&fib->next_hops, fib_hash_of(target, sizeof(*target)));
	while (node && memcmp(&next_hop_of(node)->target, target, sizeof(*target)))
		node = fib_hash_next(node);
	return next_hop_of(node);
}

static void insert(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct fib_target *target = &next_hop->target;

	fib_hash_insert(&fib->next_hops, &next_hop->node, fib_hash_of(target, sizeof(*target)));
	next_hop->hashed = true;
}

/* One content for one meaning: fields that the verdict leaves unused are zero. */
static struct fib_target normal_form(const struct fib_target *target)
{
	struct fib_target out = { .verdict = target->verdict };

	if (target->verdict != SIXLANE_FORWARD)
		return out;
	out = *target;
	out.has_gateway = target->has_gateway != 0;
	if (!out.has_gateway)
		memset(&out.gateway, 0, sizeof(out.gateway));
	return out;
}

static void set_id(struct fib *fib, struct fib_next_hop *next_hop, uint32_t id)
{
	next_hop->id = id;
	fib->by_id[id] = next_hop;
	fib->n_ids++;
}

static void write_content(struct fib *fib, const struct fib_next_hop *next_hop, bool poisoned)
{
	struct sixlane_next_hop content = next_hop->content;

	if (poisoned)
		content.verdict = SIXLANE_PUNT_MAP_FULL;
	fib->writer.next_hop_set(fib->writer.ctx, next_hop->id, &content);
}

/* Give back what the next hop names. */
static void drop_parts(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->neigh)
		fib_neigh_put(fib, next_hop->neigh);
	if (next_hop->port)
		fib_port_put(fib, next_hop->port);
	next_hop->neigh = NULL;
	next_hop->port = NULL;
}

/* Get all that the target needs, what is named first; with less than all, get nothing. */
static void feed(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct fib_target *target = &next_hop->target;
	uint32_t id;

	if (target->verdict == SIXLANE_FORWARD) {
		next_hop->port = fib_port_get(fib, target->ifindex);
		if (next_hop->port && target->has_gateway)
			next_hop->neigh = fib_neigh_get(fib, target->ifindex, &target->gateway);
		if (!next_hop->port || (target->has_gateway && !next_hop->neigh)) {
			drop_parts(fib, next_hop);
			return;
		}
	}
	id = fib_pool_take(fib, &fib->next_hop_pool);
	if (!id) {
		drop_parts(fib, next_hop);
		return;
	}
	set_id(fib, next_hop, id);
	next_hop->content = (struct sixlane_next_hop){
		.verdict = target->verdict,
		.port = next_hop->port ? next_hop->port->slot : 0,
		.neighbour = next_hop->neigh ? next_hop->neigh->slot : 0,
		.mtu = target->mtu,
	};
	write_content(fib, next_hop, false);
}

int fib_next_hop_want(struct fib *fib, const struct fib_target *target, struct fib_next_hop **out)
{
	struct fib_target normal = normal_form(target);
	struct fib_next_hop *next_hop = find(fib, &normal);

	if (!next_hop) {
		next_hop = calloc(1, sizeof(*next_hop));
		if (!next_hop)
			return -ENOMEM;
		next_hop->target = normal;
		next_hop->valid = true;
		insert(fib, next_hop);
		feed(fib, next_hop);
	}
	next_hop->wanted++;
	*out = next_hop;
	return 0;
}

static void release(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->wanted || next_hop->named)
		return;
	if (next_hop->hashed)
		fib_hash_remove(&fib->next_hops, &next_hop->node);
	if (next_hop->id) {
		fib->by_id[next_hop->id] = NULL;
		fib->n_ids--;
		fib_pool_give(&fib->next_hop_pool, next_hop->id);
	}
	drop_parts(fib, next_hop);
	free(next_hop);
}

void fib_next_hop_unwant(struct fib *fib, struct fib_next_hop *next_hop)
{
	next_hop->wanted--;
	release(fib, next_hop);
}

void fib_next_hop_rename(struct fib *fib, uint32_t old, uint32_t new)
{
	if (new)
		fib->by_id[new]->named++;
	if (!old)
		return;
	fib->by_id[old]->named--;
	release(fib, fib->by_id[old]);
}

void fib_next_hop_poison(struct fib *fib, uint32_t id)
{
	struct fib_next_hop *next_hop = fib->by_id[id];

	if (next_hop->stuck++ == 0)
		write_content(fib, next_hop, true);
}

void fib_next_hop_cure(struct fib *fib, uint32_t id)
{
	struct fib_next_hop *next_hop = fib->by_id[id];

	if (--next_hop->stuck == 0 && next_hop->valid)
		write_content(fib, next_hop, false);
}

static void feed_starved(struct fib_hash_node *node, void *ctx)
{
	if (!next_hop_of(node)->id)
		feed(ctx, next_hop_of(node));
}

void fib_next_hop_feed(struct fib *fib)
{
	fib_hash_each(&fib->next_hops, feed_starved, fib);
}

/* --- adopting ------------------------------------------------------------------------------- */

struct fib_next_hop *fib_next_hop_adopt(struct fib *fib, uint32_t id)
{
	struct fib_next_hop *next_hop = fib->by_id[id];

	if (next_hop)
		return next_hop;
	next_hop = calloc(1, sizeof(*next_hop));
	if (next_hop)
		set_id(fib, next_hop, id);
	return next_hop;
}

int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *content)
{
	struct fib_next_hop *next_hop;

	fib->adopted = true;
	if (!id || id >= SIXLANE_MAX_NEXT_HOPS)
		return -EINVAL;
	if (id == FIB_ID_FULL) /* written by fib_new() already */
		return 0;
	next_hop = fib_next_hop_adopt(fib, id);
	if (!next_hop)
		return -ENOMEM;
	next_hop->content = *content;
	return 0;
}

/* True and *target, if content is what this daemon could have written. */
static bool understand(const struct fib *fib, const struct sixlane_next_hop *content,
		       struct fib_target *target)
{
	const struct fib_neigh *neigh = NULL;
	const struct fib_port *port;

	memset(target, 0, sizeof(*target));
	target->verdict = content->verdict;
	if (content->reserved[0] || content->reserved[1])
		return false;
	if (content->verdict != SIXLANE_FORWARD)
		return content->verdict < SIXLANE_N_VERDICTS && !content->port &&
		       !content->neighbour && !content->mtu;
	port = content->port ? fib_port_at(fib, content->port) : NULL;
	if (!port || (content->mtu && content->mtu < MIN_MTU))
		return false;
	target->ifindex = port->port.ifindex;
	target->mtu = content->mtu;
	if (!content->neighbour)
		return true;
	if (content->neighbour < SIXLANE_MAX_NEIGHBOURS)
		neigh = fib->by_slot[content->neighbour];
	if (!neigh || neigh->key.ifindex != port->port.ifindex)
		return false;
	target->gateway = neigh->key.addr;
	target->has_gateway = 1;
	return true;
}

/*
 * One that is not understood is poisoned: the slots that it names may be given to others, and its
 * routes are punted until they are written anew. Of two with one meaning the first is used
 * for new routes; the other lives as long as adopted routes name it.
 */
static void understand_one(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (!next_hop->named) {
		release(fib, next_hop);
		return;
	}
	if (!understand(fib, &next_hop->content, &next_hop->target)) {
		write_content(fib, next_hop, true);
		return;
	}
	next_hop->valid = true;
	if (next_hop->target.verdict == SIXLANE_FORWARD)
		next_hop->port = fib_port_get(fib, next_hop->target.ifindex);
	if (next_hop->target.has_gateway)
		next_hop->neigh =
			fib_neigh_get(fib, next_hop->target.ifindex, &next_hop->target.gateway);
	if (!find(fib, &next_hop->target))
		insert(fib, next_hop);
}

void fib_next_hop_understand(struct fib *fib)
{
	for (uint32_t id = FIB_ID_FULL + 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (fib->by_id[id])
			understand_one(fib, fib->by_id[id]);
	}
}

/* Starved ones have no id, those that are not understood are not hashed. */
static void free_starved(struct fib_hash_node *node, void *ctx)
{
	(void)ctx;
	if (!next_hop_of(node)->id)
		free(next_hop_of(node));
}

void fib_next_hop_free_all(struct fib *fib)
{
	fib_hash_each(&fib->next_hops, free_starved, NULL);
	for (uint32_t id = 1; id < SIXLANE_MAX_NEXT_HOPS && fib->n_ids; id++) {
		if (!fib->by_id[id])
			continue;
		free(fib->by_id[id]);
		fib->n_ids--;
	}
	fib_hash_free(&fib->next_hops);
}
