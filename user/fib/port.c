// SPDX-License-Identifier: GPL-2.0-only
/* See port.h. A slot is written before the index names it, and cleared after. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fib.h"
#include "grace.h"
#include "port.h"
#include "vlan.h"
#include "write.h"

static const struct sixlane_port none;

static void insert(struct fib *fib, struct fib_port *port)
{
	fib->port_by_slot[port->slot] = port;
	fib_hash_insert(&fib->ports, port);
}

static uint32_t take_slot(struct fib *fib, uint32_t ifindex)
{
	/* The datapath looks there first. */
	const uint32_t home = sixlane_port_home(ifindex);

	return fib_take_this_id(fib, &fib->port_pool, home) ? home
							    : fib_take_id(fib, &fib->port_pool);
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
		fib_pool_give_unused(&fib->port_pool, port->slot);
		goto out_free;
	}
	insert(fib, port);
	fib_vlan_after(fib, port, false);
	return port;
out_free:
	free(port);
	return NULL;
}

/* If the index cannot be written, the port stays, and the next sweep tries again. */
static void free_if_unused(struct fib *fib, struct fib_port *port)
{
	if (port->refs || port->known || port->adopted)
		return;
	fib_vlan_before(fib, port, NULL);
	if (fib_write_del(fib, FIB_MAP_PORT_INDEX, &port->port.ifindex))
		return;
	/* The datapath takes a port without ifindex for one that is down, at any moment. */
	fib_write_store(fib, FIB_MAP_PORTS, port->slot, &none);
	fib->port_by_slot[port->slot] = NULL;
	fib_pool_give(&fib->port_pool, port->slot);
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
	fib_vlan_before(fib, port, content);
	if (port->held || memcmp(&port->port, content, sizeof(*content)) != 0) {
		fib_write_store(fib, FIB_MAP_PORTS, port->slot, content);
		port->port = *content;
	}
	fib_vlan_after(fib, port, false);
	port->known = content->flags != 0;
	port->adopted = port->held = false;
	free_if_unused(fib, port);
	return 0;
}

uint32_t fib_port_slot(const struct fib *fib, uint32_t ifindex)
{
	const struct fib_port *port = fib_hash_find(&fib->ports, &ifindex);

	return port ? port->slot : 0;
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
	struct fib_port *port, *after;

	FIB_HASH_EACH(port, after, &fib->ports)
	{
		port->adopted &= !confirm;
		if (port->known)
			fib_vlan_after(fib, port, true);
		free_if_unused(fib, port);
	}
}
