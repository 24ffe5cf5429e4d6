// SPDX-License-Identifier: GPL-2.0-only
/*
 * The default world: its devices and neighbours, and the functions that tests change it by. Bad
 * text in a test's table aborts.
 */
#include "world.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

/* No two bytes alike in any position, so that half of one MAC never looks like another. */
#define DEVICE_MAC(n)                                                                       \
	{                                                                                   \
		0x02 + 4 * (n), 0x11 + (n), 0x31 + (n), 0x51 + (n), 0x71 + (n), 0x91 + (n), \
	}

const uint8_t world_device_mac[N_DEVICES][6] = {
	[DEV_IN] = FRAME_DST_MAC,	    [DEV_OUT] = { 0x06, 0x12, 0x22, 0x32, 0x42, 0x52 },
	[DEV_ALT] = DEVICE_MAC(2),	    [DEV_GENERIC] = DEVICE_MAC(3),
	[DEV_SLAVE] = DEVICE_MAC(4),	    [DEV_BACKUP] = DEVICE_MAC(5),
	[DEV_STRANGER] = DEVICE_MAC(6),	    [DEV_BOND] = DEVICE_MAC(4),
	[DEV_IN_10] = DEVICE_MAC(8),	    [DEV_IN_10_20] = DEVICE_MAC(9),
	[DEV_IN_AD30] = DEVICE_MAC(10),	    [DEV_IN_AD30_40] = DEVICE_MAC(11),
	[DEV_OUT_10] = DEVICE_MAC(12),	    [DEV_OUT_AD30] = DEVICE_MAC(13),
	[DEV_OUT_AD30_40] = DEVICE_MAC(14), [DEV_BOND_10] = DEVICE_MAC(15),
};

#define NEIGH_MAC(n)                                                                        \
	{                                                                                   \
		0x82 + 4 * (n), 0x41 + (n), 0x75 + (n), 0x95 + (n), 0xa1 + (n), 0xc1 + (n), \
	}
#define MEMBER_MAC(n) [NEIGH_MEMBER + (n)] = NEIGH_MAC(14 + (n))
#define MEMBER_MACS(n) MEMBER_MAC(n), MEMBER_MAC(n + 1), MEMBER_MAC(n + 2), MEMBER_MAC(n + 3)

const uint8_t world_neigh_mac[N_NEIGHBOURS][6] = {
	[NEIGH_GATEWAY] = { 0x22, 0x61, 0x71, 0x81, 0x91, 0xa1 },
	[NEIGH_HOST] = { 0x26, 0x62, 0x72, 0x82, 0x92, 0xa2 },
	[NEIGH_ALT] = NEIGH_MAC(2),
	[NEIGH_SILENT] = { 0 },
	[NEIGH_BOND] = NEIGH_MAC(4),
	[NEIGH_IN] = NEIGH_MAC(12),
	[NEIGH_IN_10] = NEIGH_MAC(5),
	[NEIGH_IN_10_20] = NEIGH_MAC(6),
	[NEIGH_IN_AD30] = NEIGH_MAC(7),
	[NEIGH_OUT_10] = NEIGH_MAC(8),
	[NEIGH_OUT_AD30_40] = NEIGH_MAC(9),
	[NEIGH_BOND_10] = NEIGH_MAC(10),
	[NEIGH_TAGGED_HOST] = NEIGH_MAC(11),
	[NEIGH_SENDER] = NEIGH_MAC(13),
	MEMBER_MACS(0),
	MEMBER_MACS(4),
	MEMBER_MACS(8),
	MEMBER_MACS(12),
};

enum device world_neigh_device(enum neighbour neigh)
{
	static const enum device devices[N_NEIGHBOURS] = {
		[NEIGH_GATEWAY] = DEV_OUT,
		[NEIGH_HOST] = DEV_OUT,
		[NEIGH_ALT] = DEV_ALT,
		[NEIGH_SILENT] = DEV_OUT,
		[NEIGH_BOND] = DEV_BOND,
		[NEIGH_IN] = DEV_IN,
		[NEIGH_IN_10] = DEV_IN_10,
		[NEIGH_IN_10_20] = DEV_IN_10_20,
		[NEIGH_IN_AD30] = DEV_IN_AD30,
		[NEIGH_OUT_10] = DEV_OUT_10,
		[NEIGH_OUT_AD30_40] = DEV_OUT_AD30_40,
		[NEIGH_BOND_10] = DEV_BOND_10,
		[NEIGH_TAGGED_HOST] = DEV_OUT_10,
		[NEIGH_SENDER] = DEV_IN,
	};
	static const enum device members[] = { DEV_OUT, DEV_ALT, DEV_GENERIC, DEV_BOND };

	return neigh < NEIGH_MEMBER ? devices[neigh] : members[(neigh - NEIGH_MEMBER) % 4];
}

struct stack {
	enum device lower; /* of a VLAN device */
	uint32_t tags[WORLD_TAGS];
	enum device tx;
};

static const struct stack stacks[N_DEVICES] = {
	[DEV_IN_10] = { DEV_IN, { 0x8100000a }, DEV_IN },
	[DEV_IN_10_20] = { DEV_IN_10, { 0x8100000a, 0x81000014 }, DEV_IN },
	[DEV_IN_AD30] = { DEV_IN, { 0x88a8001e }, DEV_IN },
	[DEV_IN_AD30_40] = { DEV_IN_AD30, { 0x88a8001e, 0x81000028 }, DEV_IN },
	[DEV_OUT_10] = { DEV_OUT, { 0x8100000a }, DEV_OUT },
	[DEV_OUT_AD30] = { DEV_OUT, { 0x88a8001e }, DEV_OUT },
	[DEV_OUT_AD30_40] = { DEV_OUT_AD30, { 0x88a8001e, 0x81000028 }, DEV_OUT },
	[DEV_BOND_10] = { DEV_BOND, { 0x8100000a }, DEV_BOND },
};

const uint32_t *world_device_tags(enum device dev)
{
	return stacks[dev].tags;
}

enum device world_device_xmit(enum device dev)
{
	return stacks[dev].tags[0] ? stacks[dev].tx : dev;
}

const union sixlane_addr *world_source(enum device dev)
{
	static union sixlane_addr addrs[N_DEVICES];

	addrs[dev] = (union sixlane_addr){ .bytes = { 0x20, 0x01, 0x0d, 0xb8, 0, 0xff } };
	addrs[dev].bytes[15] = (uint8_t)(dev + 1);
	return &addrs[dev];
}

enum device world_device_lower(enum device dev)
{
	return stacks[dev].lower;
}

static union sixlane_tag make_tag(uint32_t tag)
{
	return (union sixlane_tag){
		.tpid = htons((uint16_t)(tag >> 16)),
		.tci = htons((uint16_t)tag),
	};
}

static void stack_port(struct world *world, enum device dev)
{
	const uint32_t *tags = world_device_tags(dev);
	struct sixlane_port *port = world_port(world, dev);

	port->tx_ifindex = WORLD_IFINDEX(world_device_xmit(dev));
	if (dev == DEV_SLAVE || dev == DEV_BACKUP) {
		port->lower = WORLD_IFINDEX(DEV_BOND);
		port->flags |= dev == DEV_SLAVE ? SIXLANE_PORT_SLAVE : SIXLANE_PORT_BACKUP;
	}
	if (!tags[0])
		return;
	port->flags |= SIXLANE_PORT_TAGGED;
	port->lower = WORLD_IFINDEX(world_device_lower(dev));
	port->tag = make_tag(tags[1] ? tags[1] : tags[0]);
	for (size_t i = 0; i < WORLD_TAGS; i++)
		port->tags[i] = make_tag(tags[i]);
	world->vlans[world->n_vlans].key.lower = port->lower;
	world->vlans[world->n_vlans].key.tag = port->tag;
	world->vlans[world->n_vlans++].slot = world_port_slot(dev);
}

static void parse_addr(union sixlane_addr *addr, const char *text)
{
	const int ok = inet_pton(AF_INET6, text, addr->bytes);

	assert(ok == 1);
}

union sixlane_addr world_addr(const char *text)
{
	union sixlane_addr addr = { 0 };

	if (text)
		parse_addr(&addr, text);
	return addr;
}

/* "2001:db8::/32"; returns the length. */
static uint32_t parse_prefix(union sixlane_addr *addr, const char *prefix)
{
	const char *slash = strchr(prefix, '/');
	char text[INET6_ADDRSTRLEN];

	assert(slash && slash - prefix < INET6_ADDRSTRLEN);
	snprintf(text, sizeof(text), "%.*s", (int)(slash - prefix), prefix);
	parse_addr(addr, text);
	return (uint32_t)atoi(slash + 1);
}

static struct world_route *add_prefix(struct world_route *list, size_t *n, size_t max,
				      uint32_t table, const char *prefix)
{
	struct world_route *entry = &list[(*n)++];

	assert(*n <= max);
	entry->key.prefix_len = SIXLANE_TABLE_BITS + parse_prefix(&entry->key.addr, prefix);
	entry->key.table = htonl(table);
	return entry;
}

void world_add_route(struct world *world, const char *prefix, uint32_t table, uint32_t next_hop)
{
	struct world_route *route = add_prefix(world->routes, &world->n_routes, WORLD_ROUTES,
					       table ? table : SIXLANE_TABLE_MAIN, prefix);

	route->value = sixlane_route_value(next_hop, route->key.prefix_len - SIXLANE_TABLE_BITS);
}

void world_add_source(struct world *world, uint32_t set, const char *prefix, uint32_t next_hop,
		      uint32_t len)
{
	add_prefix(world->sources, &world->n_sources, WORLD_SOURCES, set, prefix)->value =
		sixlane_route_value(next_hop, len);
}

void world_add_policy(struct world *world, uint32_t table, const char *prefix, uint32_t value)
{
	add_prefix(world->policies, &world->n_policies, WORLD_POLICIES, table, prefix)->value =
		value;
}

void world_add_exception(struct world *world, const char *dst,
			 const struct sixlane_exception *value)
{
	struct world_exception *exception = &world->exceptions[world->n_exceptions++];

	assert(world->n_exceptions <= WORLD_EXCEPTIONS);
	parse_addr(&exception->dst, dst);
	exception->value = *value;
	exception->value.check = sixlane_exception_check(&exception->dst);
	if (!value->table)
		exception->value.table = SIXLANE_TABLE_MAIN;
}

void world_add_punted(struct world *world, const char *dst)
{
	union sixlane_addr *punted = &world->punted[world->n_punted++];

	assert(world->n_punted <= WORLD_EXCEPTIONS);
	parse_addr(punted, dst);
}

void world_add_fresh(struct world *world, const char *dst, uint32_t half, uint32_t last_half)
{
	struct world_fresh *fresh = &world->fresh[world->n_fresh++];

	assert(world->n_fresh <= WORLD_EXCEPTIONS);
	parse_addr(&fresh->dst, dst);
	for (uint32_t number = 0; number < SIXLANE_FRESH_NUMBERS; number++)
		fresh->halves[number] = half;
	fresh->halves[SIXLANE_FRESH_NUMBERS - 1] = last_half;
}

void world_add_exception_and_ways(struct world *world, const struct sixlane_exception *value)
{
	world_add_route(world, "2001:db8:2::/48", 0, NH_GATEWAY);
	world->routes[0].value |= SIXLANE_ROUTE_EXCEPTIONS;
	world_add_route(world, "2001:db8:1::/48", 0, NH_VIA(NEIGH_IN));
	world_add_exception(world, FRAME_DST, value);
}

static void set_mask(union sixlane_addr *mask, uint32_t len)
{
	memset(mask, 0, sizeof(*mask));
	for (uint32_t bit = 0; bit < len; bit++)
		mask->bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

void world_add_rule(struct world *world, const struct sixlane_rule *rule, const char *src,
		    const char *dst)
{
	union sixlane_rules *list = &world->meta.rules;
	struct sixlane_rule *to = &world->rules[list->first + list->n++];

	assert(list->n <= SIXLANE_MAX_RULES);
	*to = *rule;
	if (src) {
		to->flags |= SIXLANE_RULE_SOURCE;
		set_mask(&to->src_mask, parse_prefix(&to->src, src));
	}
	if (dst) {
		to->flags |= SIXLANE_RULE_DESTINATION;
		set_mask(&to->dst_mask, parse_prefix(&to->dst, dst));
	}
	for (uint32_t slot = 1; slot < WORLD_PORTS; slot++)
		if (world->ports[slot].ifindex)
			world->ports[slot].flags |= SIXLANE_PORT_RULES;
}

void world_set_bucket(union sixlane_nh_bucket *bucket, uint32_t member)
{
	bucket->word =
		(union sixlane_nh_bucket){ .below = (uint16_t)member, .above = (uint16_t)member }
			.word;
}

void world_set_buckets(struct world *world, uint32_t id, uint32_t first_bucket,
		       const uint32_t *members, uint16_t n)
{
	assert(first_bucket + n <= WORLD_BUCKETS);
	world->next_hops[id].nh_entry = (union sixlane_nh_entry){
		.type = SIXLANE_NH_GROUP,
		.n_buckets = n,
		.first_bucket = first_bucket,
	};
	for (size_t i = 0; i < n; i++)
		world_set_bucket(&world->buckets[first_bucket + i], members[i]);
}

void world_enslave(struct world *world, enum device dev)
{
	struct sixlane_port *port = world_port(world, dev);

	port->flags |= SIXLANE_PORT_VRF;
	port->table = WORLD_VRF;
	port->iif = WORLD_VRF_IFINDEX;
}

static void init_ports(struct world *world)
{
	for (int i = 0; i < N_DEVICES; i++) {
		enum device dev = (enum device)i;
		struct sixlane_port *port = world_port(world, dev);

		if (dev == DEV_STRANGER)
			continue;
		port->ifindex = port->iif = WORLD_IFINDEX(dev);
		port->flags = SIXLANE_PORT_INGRESS | SIXLANE_PORT_IPV6 | SIXLANE_PORT_FORWARDING |
			      SIXLANE_PORT_UP | SIXLANE_PORT_XMIT | SIXLANE_PORT_XMIT_FRAGS |
			      SIXLANE_PORT_SOURCE;
		port->source = *world_source(dev);
		port->hop_limit = WORLD_HOP_LIMIT(dev);
		port->mtu = 1500;
		port->table = SIXLANE_TABLE_MAIN;
		memcpy(port->mac.bytes, world_device_mac[dev], 6);
		stack_port(world, dev);
		world->port_index[world->n_port_index].ifindex = WORLD_IFINDEX(dev);
		world->port_index[world->n_port_index++].slot = world_port_slot(dev);
	}
	world_port(world, DEV_GENERIC)->flags |= SIXLANE_PORT_GENERIC;
}

static void name_neighbour(union sixlane_addr *addr, enum neighbour neigh)
{
	char text[INET6_ADDRSTRLEN];

	if (neigh == NEIGH_HOST || neigh == NEIGH_TAGGED_HOST)
		snprintf(text, sizeof(text), "%s", FRAME_DST);
	else if (neigh == NEIGH_SENDER)
		snprintf(text, sizeof(text), "%s", FRAME_SRC);
	else if (neigh >= NEIGH_MEMBER)
		snprintf(text, sizeof(text), "fe80::1%02x", (unsigned int)(neigh - NEIGH_MEMBER));
	else
		snprintf(text, sizeof(text), neigh == NEIGH_SILENT ? "fe80::2" : "fe80::1");
	parse_addr(addr, text);
}

static void init_neighbours(struct world *world)
{
	for (int i = 0; i < N_NEIGHBOURS; i++) {
		struct sixlane_neigh *neigh = world_neigh(world, (enum neighbour)i);

		name_neighbour(&neigh->key.addr, (enum neighbour)i);
		neigh->key.ifindex = WORLD_IFINDEX(world_neigh_device((enum neighbour)i));
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
		.nh_entry = {
			.type = SIXLANE_FORWARD,
			.port = (uint16_t)world_port_slot(dev),
			.neighbour = neigh_slot,
		},
	};
}

static void init_next_hops(struct world *world)
{
	struct sixlane_next_hop *nh = world->next_hops;

	for (int i = 0; i < N_NEIGHBOURS; i++)
		nh[NH_VIA(i)] = next_hop_by(world_neigh_device((enum neighbour)i),
					    world_neigh_slot((enum neighbour)i));
	nh[NH_ON_LINK] = next_hop_by(DEV_OUT, 0);
	nh[NH_ON_LINK_10] = next_hop_by(DEV_OUT_10, 0);
	nh[NH_ON_LINK_IN] = next_hop_by(DEV_IN, 0);
	nh[NH_LOCKED] = nh[NH_GATEWAY];
	nh[NH_LOCKED].mtu = 1400;
	nh[NH_LOCKED].flags = SIXLANE_NEXT_HOP_LOCKED;
	nh[NH_BACK] = next_hop_by(DEV_IN, world_neigh_slot(NEIGH_GATEWAY));
	nh[NH_SOURCES].nh_entry.type = SIXLANE_NH_SOURCES;
	nh[NH_SOURCES].nh_entry.source_table = WORLD_SET;
	for (uint32_t v = 0; v < SIXLANE_MAX_VERDICTS; v++)
		nh[NH_ENTRY + v].nh_entry.type = (uint16_t)v;
}

void world_init(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->meta.abi = SIXLANE_ABI;
	world->meta.flags = SIXLANE_META_READY | SIXLANE_META_GUARDED | SIXLANE_META_IN_SYNC;
	world->meta.hash_seed = 0x5eed;
	init_ports(world);
	init_neighbours(world);
	init_next_hops(world);
}

void world_move_ports_home(struct world *world)
{
	struct sixlane_port old[WORLD_PORTS];
	bool held[WORLD_PORTS][WORLD_PORTS];
	uint32_t home[WORLD_PORTS] = { 0 };

	memcpy(old, world->ports, sizeof(old));
	memcpy(held, world->held, sizeof(held));
	memset(world->ports, 0, sizeof(world->ports));
	memset(world->held, 0, sizeof(world->held));
	for (uint32_t slot = 1; slot < WORLD_PORTS; slot++) {
		home[slot] = old[slot].ifindex % SIXLANE_MAX_PORTS;
		assert(home[slot] < WORLD_PORTS);
		if (home[slot])
			world->ports[home[slot]] = old[slot];
	}
	for (uint32_t in = 0; in < WORLD_PORTS; in++)
		for (uint32_t out = 0; out < WORLD_PORTS; out++)
			world->held[home[in]][home[out]] |= held[in][out];
	for (size_t i = 0; i < WORLD_NEXT_HOPS; i++) {
		union sixlane_nh_entry *nh_entry = &world->next_hops[i].nh_entry;

		if (nh_entry->type == SIXLANE_FORWARD && nh_entry->port < WORLD_PORTS)
			nh_entry->port = (uint16_t)home[nh_entry->port];
	}
	for (size_t i = 0; i < world->n_vlans; i++)
		if (world->vlans[i].slot < WORLD_PORTS)
			world->vlans[i].slot = home[world->vlans[i].slot];
	world->n_port_index = 0;
}
