// SPDX-License-Identifier: GPL-2.0-only
/* See neigh.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fib.h"
#include "neigh.h"

static const union sixlane_mac unresolved;

static void insert(struct fib *fib, struct fib_neigh *neigh)
{
	fib->neigh_by_slot[neigh->slot] = neigh;
	fib_hash_insert(&fib->neighs, neigh);
}

/* Returns NULL with *err: -ENOMEM, -ENOSPC, or the writer's error. */
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
	neigh->slot = fib_ids_take_one(fib, &fib->neigh_ids);
	if (!neigh->slot)
		goto out_free;
	fib_write_store(fib, FIB_MAP_NEIGHS, neigh->slot, &content);
	*err = fib_write_set(fib, FIB_MAP_NEIGH_INDEX, key, &neigh->slot);
	if (*err) {
		fib_ids_give_unused(&fib->neigh_ids, neigh->slot, 1);
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
	fib_write_word(fib, FIB_MAP_NEIGHS, neigh->slot, mac.word);
	neigh->mac = mac;
}

/* An unused one has no MAC. If its index entry cannot be deleted, it stays until the next sweep. */
static void free_if_unused(struct fib *fib, struct fib_neigh *neigh)
{
	if (neigh->refs || neigh->known || neigh->adopted)
		return;
	if (fib_write_del(fib, FIB_MAP_NEIGH_INDEX, &neigh->key))
		return;
	fib->neigh_by_slot[neigh->slot] = NULL;
	fib_ids_give(&fib->neigh_ids, neigh->slot, 1);
	fib_hash_remove(&fib->neighs, neigh);
	free(neigh);
}

struct fib_neigh *fib_neigh_get(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr)
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };
	struct fib_neigh *neigh = fib_hash_find(&fib->neighs, &key);
	int err;

	if (!neigh)
		neigh = neigh_new(fib, &key, unresolved, &err);
	if (neigh)
		neigh->refs++;
	return neigh;
}

void fib_neigh_put(struct fib *fib, struct fib_neigh *neigh)
{
	neigh->refs--;
	free_if_unused(fib, neigh);
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
	struct fib_neigh *neigh = fib_hash_find(&fib->neighs, &key);
	int err = 0;

	if (!neigh && !mac)
		return 0;
	if (!neigh)
		neigh = neigh_new(fib, &key, mac_word(mac), &err);
	if (!neigh)
		return err;
	neigh->known = mac != NULL;
	neigh->adopted = false;
	neigh->generation = fib->generation;
	set_mac(fib, neigh, mac ? mac_word(mac) : unresolved);
	free_if_unused(fib, neigh);
	return 0;
}

int fib_adopt_neigh(struct fib *fib, uint32_t slot, const struct sixlane_neigh *content)
{
	struct fib_neigh *neigh;

	fib->adopted = true;
	if (!slot || slot >= SIXLANE_MAX_NEIGHBOURS || fib->neigh_by_slot[slot] ||
	    !content->key.ifindex || content->key.zero ||
	    fib_hash_find(&fib->neighs, &content->key))
		return -EINVAL;
	neigh = calloc(1, sizeof(*neigh));
	if (!neigh)
		return -ENOMEM;
	*neigh = (struct fib_neigh){
		.key = content->key, .mac = content->mac, .slot = slot, .adopted = true
	};
	insert(fib, neigh);
	return 0;
}

void fib_neigh_sweep(struct fib *fib, bool confirm)
{
	FIB_HASH_EACH(struct fib_neigh, neigh, &fib->neighs) {
		if (confirm && neigh->generation != fib->generation) {
			neigh->known = neigh->adopted = false;
			set_mac(fib, neigh, unresolved);
		}
		free_if_unused(fib, neigh);
	}
}
