// SPDX-License-Identifier: GPL-2.0-only
/*
 * sl_vlans: which port takes a tag off frames of a device. The datapath holds what it finds there
 * against the port's slot, so an entry that cannot be deleted is of no harm, and one that
 * could not be written only leaves packets to the kernel; both are tried again.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "fib_internal.h"

static struct fib_vlan *vlan_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_vlan, node) : NULL;
}

static bool key_is(const struct sixlane_vlan_key *key, uint32_t lower, union sixlane_tag tag)
{
	return key->lower == lower && key->tag.word == tag.word;
}

static struct fib_vlan *find(const struct fib *fib, const struct sixlane_vlan_key *key)
{
	struct fib_hash_node *node = fib_hash_first(&fib->vlans, fib_hash_of(key, sizeof(*key)));

	while (node && !key_is(&vlan_of(node)->key, key->lower, key->tag))
		node = fib_hash_next(node);
	return vlan_of(node);
}

static struct fib_vlan *vlan_new(struct fib *fib, const struct sixlane_vlan_key *key)
{
	struct fib_vlan *vlan = calloc(1, sizeof(*vlan));

	if (!vlan)
		return NULL;
	vlan->key = *key;
	fib_hash_insert(&fib->vlans, &vlan->node, fib_hash_of(key, sizeof(*key)));
	return vlan;
}

/* Out of the map. While that fails it stays, nobody's. */
static void delete_vlan(struct fib *fib, struct fib_vlan *vlan)
{
	int err = vlan->slot ? fib->writer.vlan_del(fib->writer.ctx, &vlan->key) : 0;

	vlan->port = NULL;
	if (err && err != -ENOENT) {
		fib->write_errors++;
		return;
	}
	fib_hash_remove(&fib->vlans, &vlan->node);
	free(vlan);
}

void fib_vlan_before(struct fib *fib, struct fib_port *port, const struct sixlane_port *content)
{
	struct fib_vlan *vlan = port->vlan;

	if (!vlan || (content && content->flags & SIXLANE_PORT_TAGGED &&
		      key_is(&vlan->key, content->lower, content->tag)))
		return;
	port->vlan = NULL;
	delete_vlan(fib, vlan);
}

void fib_vlan_after(struct fib *fib, struct fib_port *port, bool again)
{
	const struct sixlane_vlan_key key = { .lower = port->port.lower, .tag = port->port.tag };
	struct fib_vlan *vlan;

	if (port->vlan || !(port->port.flags & SIXLANE_PORT_TAGGED))
		return;
	vlan = find(fib, &key);
	if (again && vlan && vlan->port)
		return;
	if (!vlan)
		vlan = vlan_new(fib, &key);
	if (!vlan)
		return;
	if (vlan->slot != port->slot) {
		if (fib->writer.vlan_set(fib->writer.ctx, &key, port->slot)) {
			fib->write_errors++;
			if (!vlan->slot)
				delete_vlan(fib, vlan);
			return;
		}
		vlan->slot = port->slot;
	}
	/* Devices may come before the one that they follow is known to be gone. */
	if (vlan->port)
		vlan->port->vlan = NULL;
	vlan->port = port;
	vlan->adopted = false;
	port->vlan = vlan;
}

int fib_adopt_vlan(struct fib *fib, const struct sixlane_vlan_key *key, uint32_t slot)
{
	struct fib_vlan *vlan;

	fib->adopted = true;
	if (find(fib, key))
		return -EINVAL;
	vlan = vlan_new(fib, key);
	if (!vlan)
		return -ENOMEM;
	/* One that names no port at all is deleted as any other that nobody claims. */
	vlan->slot = slot ? slot : UINT32_MAX;
	vlan->adopted = true;
	return 0;
}

struct sweep {
	struct fib *fib;
	bool confirm;
};

static void sweep_vlan(struct fib_hash_node *node, void *ctx)
{
	struct sweep *sweep = ctx;
	struct fib_vlan *vlan = vlan_of(node);

	if (!vlan->port && (sweep->confirm || !vlan->adopted))
		delete_vlan(sweep->fib, vlan);
}

void fib_vlan_sweep(struct fib *fib, bool confirm)
{
	struct sweep sweep = { fib, confirm };

	fib_hash_each(&fib->vlans, sweep_vlan, &sweep);
}

static void free_vlan(struct fib_hash_node *node, void *ctx)
{
	(void)ctx;
	free(vlan_of(node));
}

void fib_vlan_free_all(struct fib *fib)
{
	fib_hash_each(&fib->vlans, free_vlan, NULL);
	fib_hash_free(&fib->vlans);
}
