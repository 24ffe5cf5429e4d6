// SPDX-License-Identifier: GPL-2.0-only
/*
 * The default world and the verbs that tests arrange it with. Bad text in a test's table aborts.
 */
#include "world.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

/* No two bytes alike in any position, so that half of one MAC never looks like another. */
const uint8_t world_device_mac[N_DEVICES][6] = {
	[DEV_IN] = { 0x02, 0x11, 0x21, 0x31, 0x41, 0x51 },
	[DEV_OUT] = { 0x06, 0x12, 0x22, 0x32, 0x42, 0x52 },
	[DEV_ALT] = { 0x0a, 0x13, 0x23, 0x33, 0x43, 0x53 },
	[DEV_GENERIC] = { 0x0e, 0x14, 0x24, 0x34, 0x44, 0x54 },
	[DEV_STRANGER] = { 0x12, 0x15, 0x25, 0x35, 0x45, 0x55 },
};

const uint8_t world_neigh_mac[N_NEIGHBOURS][6] = {
	[NEIGH_GATEWAY] = { 0x22, 0x61, 0x71, 0x81, 0x91, 0xa1 },
	[NEIGH_HOST] = { 0x26, 0x62, 0x72, 0x82, 0x92, 0xa2 },
	[NEIGH_ALT] = { 0x2a, 0x63, 0x73, 0x83, 0x93, 0xa3 },
	[NEIGH_SILENT] = { 0 },
};

enum device world_neigh_device(enum neighbour neigh)
{
	return neigh == NEIGH_ALT ? DEV_ALT : DEV_OUT;
}

static void parse_addr(union sixlane_addr *addr, const char *text)
{
	int ok = inet_pton(AF_INET6, text, addr->bytes);

	assert(ok == 1);
	(void)ok;
}

void world_add_route(struct world *world, const char *prefix, uint32_t table, uint32_t next_hop)
{
	const char *slash = strchr(prefix, '/');
	char text[INET6_ADDRSTRLEN];
	struct sixlane_route_key *key = &world->routes[world->n_routes].key;
	uint32_t len;

	assert(slash && slash - prefix < INET6_ADDRSTRLEN && world->n_routes < WORLD_ROUTES);
	len = (uint32_t)atoi(slash + 1);
	snprintf(text, sizeof(text), "%.*s", (int)(slash - prefix), prefix);
	parse_addr(&key->addr, text);
	key->prefix_len = SIXLANE_TABLE_BITS + len;
	key->table = htonl(table ? table : SIXLANE_TABLE_MAIN);
	world->routes[world->n_routes++].value = sixlane_route_value(next_hop, len);
}

static void init_ports(struct world *world, const uint32_t ifindex[N_DEVICES])
{
	for (int dev = 0; dev < N_DEVICES; dev++) {
		struct sixlane_port *port = world_port(world, (enum device)dev);

		if (dev == DEV_STRANGER)
			continue;
		port->ifindex = ifindex[dev];
		port->flags = SIXLANE_PORT_INGRESS | SIXLANE_PORT_IPV6 | SIXLANE_PORT_FORWARDING |
			      SIXLANE_PORT_UP | SIXLANE_PORT_XMIT | SIXLANE_PORT_ETHER;
		port->mtu = 1500;
		port->table = SIXLANE_TABLE_MAIN;
		memcpy(port->mac.bytes, world_device_mac[dev], 6);
		world->port_index[world->n_port_index].ifindex = ifindex[dev];
		world->port_index[world->n_port_index++].slot = world_port_slot((enum device)dev);
	}
	world_port(world, DEV_GENERIC)->flags |= SIXLANE_PORT_GENERIC;
}

static void init_neighbours(struct world *world, const uint32_t ifindex[N_DEVICES])
{
	static const char *const addrs[N_NEIGHBOURS] = {
		[NEIGH_GATEWAY] = "fe80::1",
		[NEIGH_HOST] = FRAME_DST,
		[NEIGH_ALT] = "fe80::1",
		[NEIGH_SILENT] = "fe80::2",
	};

	for (int i = 0; i < N_NEIGHBOURS; i++) {
		struct sixlane_neigh *neigh = world_neigh(world, (enum neighbour)i);

		parse_addr(&neigh->key.addr, addrs[i]);
		neigh->key.ifindex = ifindex[world_neigh_device((enum neighbour)i)];
		memcpy(neigh->mac.bytes, world_neigh_mac[i], 6);
		neigh->mac.flags = i == NEIGH_SILENT ? 0 : SIXLANE_MAC_VALID;
		world->neigh_index[world->n_neigh_index].key = neigh->key;
		world->neigh_index[world->n_neigh_index++].slot =
			world_neigh_slot((enum neighbour)i);
	}
}

static struct sixlane_next_hop next_hop_by(enum device dev, uint32_t neigh_slot)
{
	return (struct sixlane_next_hop){
		.verdict = SIXLANE_FORWARD,
		.port = world_port_slot(dev),
		.neighbour = neigh_slot,
	};
}

static void init_next_hops(struct world *world)
{
	struct sixlane_next_hop *nh = world->next_hops;

	nh[NH_GATEWAY] = next_hop_by(DEV_OUT, world_neigh_slot(NEIGH_GATEWAY));
	nh[NH_ON_LINK] = next_hop_by(DEV_OUT, 0);
	nh[NH_ALT] = next_hop_by(DEV_ALT, world_neigh_slot(NEIGH_ALT));
	nh[NH_SILENT] = next_hop_by(DEV_OUT, world_neigh_slot(NEIGH_SILENT));
	nh[NH_LOCKED] = nh[NH_GATEWAY];
	nh[NH_LOCKED].mtu = 1400;
	nh[NH_BACK] = next_hop_by(DEV_IN, world_neigh_slot(NEIGH_GATEWAY));
	for (uint32_t v = 0; v < SIXLANE_MAX_VERDICTS; v++)
		nh[NH_FATE + v].verdict = v;
}

void world_init(struct world *world, const uint32_t ifindex[N_DEVICES])
{
	memset(world, 0, sizeof(*world));
	world->meta.abi = SIXLANE_ABI;
	world->meta.flags = SIXLANE_META_READY | SIXLANE_META_IN_SYNC;
	init_ports(world, ifindex);
	init_neighbours(world, ifindex);
	init_next_hops(world);
}

void world_move_ports_home(struct world *world)
{
	struct sixlane_port old[WORLD_PORTS];
	uint32_t home[WORLD_PORTS] = { 0 };

	memcpy(old, world->ports, sizeof(old));
	memset(world->ports, 0, sizeof(world->ports));
	for (uint32_t slot = 1; slot < WORLD_PORTS; slot++) {
		home[slot] = old[slot].ifindex % SIXLANE_MAX_PORTS;
		assert(home[slot] < WORLD_PORTS);
		if (home[slot])
			world->ports[home[slot]] = old[slot];
	}
	for (size_t i = 0; i < WORLD_NEXT_HOPS; i++)
		if (world->next_hops[i].port < WORLD_PORTS)
			world->next_hops[i].port = home[world->next_hops[i].port];
	world->n_port_index = 0;
}
