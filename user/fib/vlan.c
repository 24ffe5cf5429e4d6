// SPDX-License-Identifier: GPL-2.0-only
/* See vlan.h. */
#include <errno.h>
#include <stdlib.h>

#include "adopt.h"
#include "port.h"
#include "vlan.h"
#include "write.h"

static bool key_is(const struct sixlane_vlan_key *key, uint32_t lower, union sixlane_tag tag)
{
	return key->lower == lower && key->tag.word == tag.word;
}

static struct fib_vlan *vlan_new(struct fib *fib, const struct sixlane_vlan_key *key)
{
	struct fib_vlan *vlan = calloc(1, sizeof(*vlan));

	if (!vlan)
		return NULL;
	vlan->key = *key;
	fib_hash_insert(&fib->vlans, vlan);
	return vlan;
}

/* If this fails, the entry stays without a port. */
static void delete_vlan(struct fib *fib, struct fib_vlan *vlan)
{
	vlan->port = NULL;
	if (vlan->slot && fib_write_del(fib, FIB_MAP_VLANS, &vlan->key))
		return;
	fib_hash_remove(&fib->vlans, vlan);
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

void fib_vlan_after(struct fib *fib, struct fib_port *port, bool retry)
{
	const struct sixlane_vlan_key key = { .lower = port->port.lower, .tag = port->port.tag };
	struct fib_vlan *vlan;

	if (port->vlan || !(port->port.flags & SIXLANE_PORT_TAGGED))
		return;
	vlan = fib_hash_find(&fib->vlans, &key);
	if (retry && vlan && vlan->port)
		return;
	if (!vlan)
		vlan = vlan_new(fib, &key);
	if (!vlan)
		return;
	if (vlan->slot != port->slot) {
		if (fib_write_set(fib, FIB_MAP_VLANS, &key, &port->slot)) {
			if (!vlan->slot)
				delete_vlan(fib, vlan);
			return;
		}
		vlan->slot = port->slot;
	}
	/* A device may be announced before the removal of its predecessor. */
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
	if (fib_hash_find(&fib->vlans, key))
		return -EINVAL;
	vlan = vlan_new(fib, key);
	if (!vlan)
		return -ENOMEM;
	/* An entry for slot 0 is deleted like any other that no port has. */
	vlan->slot = slot ? slot : UINT32_MAX;
	vlan->adopted = true;
	return 0;
}

void fib_vlan_sweep(struct fib *fib, bool confirm)
{
	struct fib_vlan *vlan, *after;

	FIB_HASH_EACH(vlan, after, &fib->vlans)
	{
		if (!vlan->port && (confirm || !vlan->adopted))
			delete_vlan(fib, vlan);
	}
}
