// SPDX-License-Identifier: GPL-2.0-only
/* See port.h. A slot is written before the index names it, and cleared after. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fib.h"
#include "port.h"

static const struct sixlane_port none;

/* --- tags ------------------------------------------------------------------------------------- */

static bool key_is(const struct sixlane_vlan_key *key, uint32_t lower, union sixlane_tag tag)
{
	return key->lower == lower && key->tag.word == tag.word;
}

/* If the deletion fails, the entry stays, without a port. Another port may wait for the tag. */
static void delete_vlan(struct fib *fib, struct fib_vlan *vlan)
{
	vlan->port = NULL;
	fib->unswept = true;
	if (vlan->slot && fib_write_del(fib, FIB_MAP_VLANS, &vlan->key))
		return;
	fib_hash_remove(&fib->vlans, vlan);
	free(vlan);
}

/* Call before the port is written with this content; NULL: before it is removed. */
static void vlan_before(struct fib *fib, struct fib_port *port, const struct sixlane_port *content)
{
	struct fib_vlan *vlan = port->vlan;

	if (!vlan || (content && content->flags & SIXLANE_PORT_TAGGED &&
		      key_is(&vlan->key, content->lower, content->tag)))
		return;
	port->vlan = NULL;
	delete_vlan(fib, vlan);
}

/*
 * Call after the port was written. Gives the port its tag. If another port has the tag, it is taken
 * from that one, unless this is a retry.
 */
static void vlan_after(struct fib *fib, struct fib_port *port, bool retry)
{
	const struct sixlane_vlan_key key = { .lower = port->port.lower, .tag = port->port.tag };
	struct fib_vlan *vlan;

	if (port->vlan || !(port->port.flags & SIXLANE_PORT_TAGGED))
		return;
	vlan = fib_hash_find(&fib->vlans, &key);
	if (retry && vlan && vlan->port)
		return;
	if (!vlan)
		vlan = fib_hash_add(&fib->vlans, &key, sizeof(*vlan));
	if (!vlan) {
		fib->unswept = true;
		return;
	}
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
	vlan = fib_hash_add(&fib->vlans, key, sizeof(*vlan));
	if (!vlan)
		return -ENOMEM;
	/* An entry for slot 0 is deleted like any other that no port has. */
	vlan->slot = slot ? slot : UINT32_MAX;
	vlan->adopted = true;
	return 0;
}

void fib_vlan_sweep(struct fib *fib, bool confirm)
{
	FIB_HASH_EACH(struct fib_vlan, vlan, &fib->vlans) {
		if (!vlan->port && (confirm || !vlan->adopted))
			delete_vlan(fib, vlan);
	}
}

/* --- ports ------------------------------------------------------------------------------------ */

static void insert(struct fib *fib, struct fib_port *port)
{
	fib->port_by_slot[port->slot] = port;
	fib_hash_insert(&fib->ports, port);
}

static uint32_t take_slot(struct fib *fib, uint32_t ifindex)
{
	/* The datapath looks there first. */
	const uint32_t home = sixlane_port_home(ifindex);

	return fib_ids_take_this(fib, &fib->port_ids, home) ? home
							    : fib_ids_take_one(fib, &fib->port_ids);
}

/* Returns NULL with *err: -ENOMEM, -ENOSPC, or the writer's error. */
static struct fib_port *port_new(struct fib *fib, const struct sixlane_port *content, int *err)
{
	struct fib_port *port = calloc(1, sizeof(*port));

	*err = -ENOMEM;
	if (!port)
		return NULL;
	port->port = *content;
	*err = -ENOSPC;
	port->slot = take_slot(fib, content->ifindex);
	if (!port->slot)
		goto out_free;
	fib_write_store(fib, FIB_MAP_PORTS, port->slot, content);
	*err = fib_write_set(fib, FIB_MAP_PORT_INDEX, &content->ifindex, &port->slot);
	if (*err) {
		fib_write_store(fib, FIB_MAP_PORTS, port->slot, &none);
		fib_ids_give_unused(&fib->port_ids, port->slot, 1);
		goto out_free;
	}
	insert(fib, port);
	vlan_after(fib, port, false);
	return port;
out_free:
	free(port);
	return NULL;
}

/* If its index entry cannot be deleted, the port stays, and the next sweep tries again. */
static void free_if_unused(struct fib *fib, struct fib_port *port)
{
	if (port->refs || port->known || port->adopted)
		return;
	vlan_before(fib, port, NULL);
	if (fib_write_del(fib, FIB_MAP_PORT_INDEX, &port->port.ifindex))
		return;
	/* The datapath takes a port without ifindex for one that is down, at any moment. */
	fib_write_store(fib, FIB_MAP_PORTS, port->slot, &none);
	fib->port_by_slot[port->slot] = NULL;
	fib_ids_give(&fib->port_ids, port->slot, 1);
	fib_hash_remove(&fib->ports, port);
	free(port);
}

struct fib_port *fib_port_get(struct fib *fib, uint32_t ifindex)
{
	const struct sixlane_port content = { .ifindex = ifindex };
	struct fib_port *port = fib_hash_find(&fib->ports, &ifindex);
	int err;

	if (!port)
		port = port_new(fib, &content, &err);
	if (port)
		port->refs++;
	return port;
}

void fib_port_put(struct fib *fib, struct fib_port *port)
{
	port->refs--;
	free_if_unused(fib, port);
}

bool fib_prepare_port(struct fib *fib, const struct sixlane_port *content)
{
	struct fib_port *port = fib_hash_find(&fib->ports, &content->ifindex);

	if (!port || !memcmp(&port->port, content, sizeof(*content)))
		return false;
	port->held = true;
	return fib->writer.hold_port(fib->writer.ctx, port->slot, content);
}

void fib_wait_ports(struct fib *fib)
{
	/* If this fails, fib_set_port() could not wait either. */
	fib->writer.grace(fib->writer.ctx);
}

int fib_set_port(struct fib *fib, const struct sixlane_port *content)
{
	struct fib_port *port = fib_hash_find(&fib->ports, &content->ifindex);
	int err = 0;

	if (!port && !content->flags)
		return 0;
	if (!port)
		port = port_new(fib, content, &err);
	if (!port)
		return err;
	vlan_before(fib, port, content);
	if (port->held || memcmp(&port->port, content, sizeof(*content)) != 0) {
		fib_write_store(fib, FIB_MAP_PORTS, port->slot, content);
		port->port = *content;
	}
	vlan_after(fib, port, false);
	port->known = content->flags != 0;
	port->adopted = port->held = false;
	free_if_unused(fib, port);
	return 0;
}

int fib_adopt_port(struct fib *fib, uint32_t slot, const struct sixlane_port *content)
{
	struct fib_port *port;

	fib->adopted = true;
	if (!slot || slot >= SIXLANE_MAX_PORTS || !content->ifindex || fib->port_by_slot[slot] ||
	    fib_hash_find(&fib->ports, &content->ifindex))
		return -EINVAL;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	*port = (struct fib_port){ .port = *content, .slot = slot, .adopted = true };
	insert(fib, port);
	return 0;
}

void fib_port_sweep(struct fib *fib, bool confirm)
{
	FIB_HASH_EACH(struct fib_port, port, &fib->ports) {
		const struct sixlane_port gone = { .ifindex = port->port.ifindex };

		if (confirm && port->adopted) {
			fib_set_port(fib, &gone);
			continue;
		}
		if (port->known)
			vlan_after(fib, port, true);
		free_if_unused(fib, port);
	}
}
