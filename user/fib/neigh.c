// SPDX-License-Identifier: GPL-2.0-only
/*
 * Neighbours: slots of (address, device), shared by the gateways of next hops and by what the
 * kernel has resolved. A slot is written whole before the index or a next hop names it; after
 * that only its MAC changes, in one store.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "fib_internal.h"

static struct fib_neigh *neigh_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_neigh, node) : NULL;
}

static struct fib_neigh *find(const struct fib *fib, const struct sixlane_neigh_key *key)
{
	struct fib_hash_node *node = fib_hash_first(&fib->neighs, fib_hash_of(key, sizeof(*key)));

	while (node && memcmp(&neigh_of(node)->key, key, sizeof(*key)))
		node = fib_hash_next(node);
	return neigh_of(node);
}

static void insert(struct fib *fib, struct fib_neigh *neigh)
{
	fib->by_slot[neigh->slot] = neigh;
	fib_hash_insert(&fib->neighs, &neigh->node, fib_hash_of(&neigh->key, sizeof(neigh->key)));
}

/* Write a new neighbour and make it found. NULL and *err: -ENOMEM, -ENOSPC, or the writer's. */
static struct fib_neigh *neigh_new(struct fib *fib, const struct sixlane_neigh_key *key,
				   union sixlane_mac mac, int *err)
{
	const struct sixlane_neigh content = { .mac = mac, .key = *key };
	struct fib_neigh *neigh = calloc(1, sizeof(*neigh));

	*err = -ENOMEM;
	if (!neigh)
		return NULL;
	neigh->key = *key;
	neigh->mac = mac;
	*err = -ENOSPC;
	neigh->slot = fib_pool_take(fib, &fib->neigh_pool);
	if (!neigh->slot)
		goto out_free;
	fib->writer.neigh_set(fib->writer.ctx, neigh->slot, &content);
	*err = fib->writer.neigh_index_set(fib->writer.ctx, key, neigh->slot);
	if (*err) {
		fib->write_errors++;
		fib_pool_give_unused(&fib->neigh_pool, neigh->slot);
		goto out_free;
	}
	insert(fib, neigh);
	return neigh;
out_free:
	free(neigh);
	return NULL;
}

static void set_mac(struct fib *fib, struct fib_neigh *neigh, union sixlane_mac mac)
{
	if (neigh->mac.word == mac.word)
		return;
	fib->writer.neigh_set_mac(fib->writer.ctx, neigh->slot, mac);
	neigh->mac = mac;
}

/* Out of the maps, if nobody needs it; while the index cannot be written it stays unresolved. */
static void release(struct fib *fib, struct fib_neigh *neigh)
{
	int err;

	if (neigh->refs || neigh->known || neigh->adopted)
		return;
	set_mac(fib, neigh, (union sixlane_mac){ 0 });
	err = fib->writer.neigh_index_del(fib->writer.ctx, &neigh->key);
	if (err && err != -ENOENT) {
		fib->write_errors++;
		return;
	}
	fib->by_slot[neigh->slot] = NULL;
	fib_pool_give(&fib->neigh_pool, neigh->slot);
	fib_hash_remove(&fib->neighs, &neigh->node);
	free(neigh);
}

struct fib_neigh *fib_neigh_get(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr)
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };
	struct fib_neigh *neigh = find(fib, &key);
	int err;

	if (!neigh)
		neigh = neigh_new(fib, &key, (union sixlane_mac){ 0 }, &err);
	if (neigh)
		neigh->refs++;
	return neigh;
}

void fib_neigh_put(struct fib *fib, struct fib_neigh *neigh)
{
	neigh->refs--;
	release(fib, neigh);
}

static union sixlane_mac mac_word(const uint8_t mac[6])
{
	union sixlane_mac out = { .flags = SIXLANE_MAC_VALID };

	memcpy(out.bytes, mac, sizeof(out.bytes));
	return out;
}

int fib_set_neigh(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr,
		  const uint8_t mac[6])
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };
	struct fib_neigh *neigh;
	int err = 0;

	fib_adopt_finish(fib);
	neigh = find(fib, &key);
	if (!neigh && !mac)
		return 0;
	if (!neigh)
		neigh = neigh_new(fib, &key, mac_word(mac), &err);
	if (!neigh)
		return err;
	neigh->known = mac != NULL;
	neigh->adopted = false;
	neigh->generation = fib->generation;
	set_mac(fib, neigh, mac ? mac_word(mac) : (union sixlane_mac){ 0 });
	release(fib, neigh);
	return 0;
}

int fib_adopt_neigh(struct fib *fib, uint32_t slot, const struct sixlane_neigh *content)
{
	struct fib_neigh *neigh;

	fib->adopted = true;
	if (!slot || slot >= SIXLANE_MAX_NEIGHBOURS || fib->by_slot[slot] ||
	    !content->key.ifindex || content->key.zero || find(fib, &content->key))
		return -EINVAL;
	neigh = calloc(1, sizeof(*neigh));
	if (!neigh)
		return -ENOMEM;
	neigh->key = content->key;
	neigh->mac = content->mac;
	neigh->slot = slot;
	neigh->adopted = true;
	insert(fib, neigh);
	return 0;
}

struct sweep {
	struct fib *fib;
	bool confirm;
};

static void sweep_neigh(struct fib_hash_node *node, void *ctx)
{
	struct sweep *sweep = ctx;
	struct fib_neigh *neigh = neigh_of(node);

	if (sweep->confirm && neigh->generation != sweep->fib->generation) {
		neigh->known = neigh->adopted = false;
		set_mac(sweep->fib, neigh, (union sixlane_mac){ 0 });
	}
	release(sweep->fib, neigh);
}

void fib_neigh_sweep(struct fib *fib, bool confirm)
{
	struct sweep sweep = { fib, confirm };

	fib_hash_each(&fib->neighs, sweep_neigh, &sweep);
}

static void free_neigh(struct fib_hash_node *node, void *ctx)
{
	(void)ctx;
	free(neigh_of(node));
}

void fib_neigh_free_all(struct fib *fib)
{
	fib_hash_each(&fib->neighs, free_neigh, NULL);
	fib_hash_free(&fib->neighs);
}
