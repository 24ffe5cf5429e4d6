// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ports: slots of devices. A port that a next hop names before the daemon has described its
 * device has flags 0, and packets to it pass. Knows nothing of what the flags mean.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "fib_internal.h"

static struct fib_port *port_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_port, node) : NULL;
}

struct fib_port *fib_port_find(const struct fib *fib, uint32_t ifindex)
{
	uint32_t value = fib_hash_of(&ifindex, sizeof(ifindex));
	struct fib_hash_node *node = fib_hash_first(&fib->ports, value);

	while (node && port_of(node)->port.ifindex != ifindex)
		node = fib_hash_next(node);
	return port_of(node);
}

static void insert(struct fib *fib, struct fib_port *port)
{
	uint32_t ifindex = port->port.ifindex;

	fib_hash_insert(&fib->ports, &port->node, fib_hash_of(&ifindex, sizeof(ifindex)));
}

/* Write a new port and make it found. NULL and *err: -ENOMEM, -ENOSPC, or the writer's. */
static struct fib_port *port_new(struct fib *fib, const struct sixlane_port *content, int *err)
{
	static const struct sixlane_port none;
	struct fib_port *port = calloc(1, sizeof(*port));

	*err = -ENOMEM;
	if (!port)
		return NULL;
	port->port = *content;
	*err = -ENOSPC;
	/* where the datapath looks first */
	port->slot = sixlane_port_home(content->ifindex);
	if (!fib_pool_take_this(fib, &fib->port_pool, port->slot))
		port->slot = fib_pool_take(fib, &fib->port_pool);
	if (!port->slot)
		goto out_free;
	fib->writer.port_set(fib->writer.ctx, port->slot, content);
	*err = fib->writer.port_index_set(fib->writer.ctx, content->ifindex, port->slot);
	if (*err) {
		fib->write_errors++;
		fib->writer.port_set(fib->writer.ctx, port->slot, &none);
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

/* Out of the maps, if nobody needs it; while the index cannot be written it stays and waits. */
static void release(struct fib *fib, struct fib_port *port)
{
	static const struct sixlane_port none;
	int err;

	if (port->refs || port->known || port->adopted)
		return;
	fib_vlan_before(fib, port, NULL);
	err = fib->writer.port_index_del(fib->writer.ctx, port->port.ifindex);
	if (err && err != -ENOENT) {
		fib->write_errors++;
		return;
	}
	/* Readers take a port without ifindex for one that is down, at any moment. */
	fib->writer.port_set(fib->writer.ctx, port->slot, &none);
	fib_pool_give(&fib->port_pool, port->slot);
	fib_hash_remove(&fib->ports, &port->node);
	free(port);
}

struct fib_port *fib_port_get(struct fib *fib, uint32_t ifindex)
{
	const struct sixlane_port content = { .ifindex = ifindex };
	struct fib_port *port = fib_port_find(fib, ifindex);
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
	release(fib, port);
}

bool fib_hold_port(struct fib *fib, const struct sixlane_port *content)
{
	struct fib_port *port = fib_port_find(fib, content->ifindex);

	if (!port || !memcmp(&port->port, content, sizeof(*content)))
		return false;
	port->held = true;
	return fib->writer.port_hold(fib->writer.ctx, port->slot, content);
}

/* Where that fails, fib_set_port() could not wait either. */
void fib_held_ports(struct fib *fib)
{
	fib->writer.grace(fib->writer.ctx);
}

int fib_set_port(struct fib *fib, const struct sixlane_port *content)
{
	struct fib_port *port;
	int err = 0;

	fib_adopt_finish(fib);
	port = fib_port_find(fib, content->ifindex);
	if (!port && !content->flags)
		return 0;
	if (!port)
		port = port_new(fib, content, &err);
	if (!port)
		return err;
	fib_vlan_before(fib, port, content);
	if (port->held || memcmp(&port->port, content, sizeof(*content))) {
		fib->writer.port_set(fib->writer.ctx, port->slot, content);
		port->port = *content;
	}
	fib_vlan_after(fib, port, false);
	port->known = content->flags != 0;
	port->adopted = port->held = false;
	release(fib, port);
	return 0;
}

uint32_t fib_port_slot(const struct fib *fib, uint32_t ifindex)
{
	const struct fib_port *port = fib_port_find(fib, ifindex);

	return port ? port->slot : 0;
}

struct finder {
	uint32_t slot;
	struct fib_port *port;
};

static void match_slot(struct fib_hash_node *node, void *ctx)
{
	struct finder *finder = ctx;

	if (port_of(node)->slot == finder->slot)
		finder->port = port_of(node);
}

struct fib_port *fib_port_at(const struct fib *fib, uint32_t slot)
{
	struct finder finder = { .slot = slot };

	fib_hash_each(&fib->ports, match_slot, &finder);
	return finder.port;
}

int fib_adopt_port(struct fib *fib, uint32_t slot, const struct sixlane_port *content)
{
	struct fib_port *port;

	fib->adopted = true;
	if (!slot || slot >= SIXLANE_MAX_PORTS || !content->ifindex ||
	    fib_port_find(fib, content->ifindex) || fib_port_at(fib, slot))
		return -EINVAL;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->port = *content;
	port->slot = slot;
	port->adopted = true;
	insert(fib, port);
	return 0;
}

struct sweep {
	struct fib *fib;
	bool confirm;
};

static void sweep_port(struct fib_hash_node *node, void *ctx)
{
	struct sweep *sweep = ctx;
	struct fib_port *port = port_of(node);

	if (sweep->confirm)
		port->adopted = false;
	if (port->known)
		fib_vlan_after(sweep->fib, port, true);
	release(sweep->fib, port);
}

void fib_port_sweep(struct fib *fib, bool confirm)
{
	struct sweep sweep = { fib, confirm };

	fib_hash_each(&fib->ports, sweep_port, &sweep);
}

static void free_port(struct fib_hash_node *node, void *ctx)
{
	(void)ctx;
	free(port_of(node));
}

void fib_port_free_all(struct fib *fib)
{
	fib_hash_each(&fib->ports, free_port, NULL);
	fib_hash_free(&fib->ports);
}
