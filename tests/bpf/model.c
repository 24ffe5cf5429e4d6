// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model of the datapath, written from the verdicts' meanings in bpf/sixlane.h and from what
 * the kernel's IPv6 input and forwarding do, not from the XDP program.
 */
#include "model.h"

#include <stdbool.h>
#include <string.h>

struct walk {
	const struct world *world;
	const struct frame *in;
	uint32_t ingress;
	const struct sixlane_port *port;
	const struct sixlane_next_hop *next_hop;
	const struct sixlane_port *egress;
	const struct sixlane_neigh *neigh;
};

static const struct sixlane_port *port_of_slot(const struct world *world, uint32_t slot)
{
	static const struct sixlane_port empty;

	if (slot >= SIXLANE_MAX_PORTS)
		return NULL;
	return slot < WORLD_PORTS ? &world->ports[slot] : &empty;
}

static bool slot_is_of(const struct world *world, uint32_t slot, uint32_t ifindex)
{
	const struct sixlane_port *port = port_of_slot(world, slot);

	return slot && port && port->ifindex == ifindex;
}

static uint32_t find_slot(const struct world *world, uint32_t ifindex)
{
	if (slot_is_of(world, ifindex % SIXLANE_MAX_PORTS, ifindex))
		return ifindex % SIXLANE_MAX_PORTS;
	for (size_t i = 0; i < world->n_port_index; i++)
		if (world->port_index[i].ifindex == ifindex &&
		    slot_is_of(world, world->port_index[i].slot, ifindex))
			return world->port_index[i].slot;
	return 0;
}

static bool has(const struct sixlane_port *port, uint32_t flags)
{
	return (port->flags & flags) == flags;
}

static enum sixlane_verdict judge_port(const struct walk *w)
{
	const struct sixlane_meta *meta = &w->world->meta;

	if (meta->abi != SIXLANE_ABI || !(meta->flags & SIXLANE_META_READY))
		return SIXLANE_PASS_NOT_READY;
	if (meta->flags & SIXLANE_META_PASS_ALL)
		return SIXLANE_PASS_ALL;
	if (meta->flags & SIXLANE_META_RULES)
		return SIXLANE_PUNT_RULES;
	if (!w->port || !has(w->port, SIXLANE_PORT_INGRESS))
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (has(w->port, SIXLANE_PORT_PASS))
		return SIXLANE_PASS_PORT;
	if (has(w->port, SIXLANE_PORT_UPPER))
		return SIXLANE_PASS_PORT_UPPER;
	return SIXLANE_FORWARD;
}

static enum sixlane_verdict judge_frame(const struct walk *w)
{
	uint16_t type = frame_get16(w->in, AT_ETHERTYPE);

	if (type == 0x8100 || type == 0x88a8 || type == 0x9100)
		return SIXLANE_PUNT_VLAN;
	if (type != 0x86dd)
		return SIXLANE_PASS_NOT_IPV6;
	if (w->in->len < AT_PAYLOAD)
		return SIXLANE_PASS_TRUNCATED;
	if ((w->in->bytes[AT_VERSION] & 0xf0) != 0x60)
		return SIXLANE_PASS_NOT_IPV6;
	if (AT_PAYLOAD + (size_t)frame_get16(w->in, AT_PAYLOAD_LEN) > w->in->len)
		return SIXLANE_PASS_TRUNCATED;
	if (memcmp(w->in->bytes + AT_DST_MAC, w->port->mac.bytes, 6))
		return SIXLANE_PASS_OTHER_MAC;
	if (!has(w->port, SIXLANE_PORT_IPV6))
		return SIXLANE_PASS_IPV6_OFF;
	return SIXLANE_FORWARD;
}

static bool addr_stays(const uint8_t *addr)
{
	bool zeros = true;

	for (int i = 0; i < 15; i++)
		zeros = zeros && !addr[i];
	if (zeros && addr[15] <= 1)
		return true; /* :: and ::1 */
	return addr[0] == 0xff || (addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80);
}

static enum sixlane_verdict judge_header(const struct walk *w)
{
	uint8_t next = w->in->bytes[AT_NEXT_HEADER];

	if (next == 0)
		return SIXLANE_PASS_HOP_BY_HOP;
	if (addr_stays(w->in->bytes + AT_SRC))
		return SIXLANE_PASS_SOURCE;
	if (addr_stays(w->in->bytes + AT_DST))
		return SIXLANE_PASS_DESTINATION;
	/* routing, fragment, authentication, ICMPv6, no next header, destination options */
	if (has(w->port, SIXLANE_PORT_PROXY_NDP) &&
	    (next == 43 || next == 44 || next == 51 || next == 58 || next == 59 || next == 60))
		return SIXLANE_PASS_PROXY_NDP;
	return SIXLANE_FORWARD;
}

static bool prefix_holds(const uint8_t *prefix, uint32_t len, const uint8_t *addr)
{
	for (uint32_t bit = 0; bit < len; bit++)
		if ((prefix[bit / 8] ^ addr[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

static uint32_t table_of(const struct sixlane_route_key *key)
{
	const uint8_t *b = (const uint8_t *)&key->table;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static enum sixlane_verdict judge_route(struct walk *w)
{
	static const struct sixlane_next_hop empty;
	const struct world *world = w->world;
	long best = -1;
	uint32_t id;

	for (size_t i = 0; i < world->n_routes; i++) {
		const struct sixlane_route_key *key = &world->routes[i].key;

		if (table_of(key) != w->port->table ||
		    !prefix_holds(key->addr.bytes, key->prefix_len - 32, w->in->bytes + AT_DST))
			continue;
		if (best < 0 || key->prefix_len > world->routes[best].key.prefix_len)
			best = (long)i;
	}
	if (best < 0)
		return SIXLANE_PASS_NO_ROUTE;
	id = sixlane_route_next_hop(world->routes[best].value);
	if (id >= SIXLANE_MAX_NEXT_HOPS)
		return SIXLANE_PUNT_ROUTE;
	w->next_hop = id < WORLD_NEXT_HOPS ? &world->next_hops[id] : &empty;
	if (w->next_hop->verdict >= SIXLANE_N_VERDICTS)
		return SIXLANE_PUNT_ROUTE;
	return (enum sixlane_verdict)w->next_hop->verdict;
}

static enum sixlane_verdict judge_egress(struct walk *w)
{
	size_t length = 40 + (size_t)frame_get16(w->in, AT_PAYLOAD_LEN);

	if (!has(w->port, SIXLANE_PORT_FORWARDING))
		return SIXLANE_PASS_NO_FORWARDING;
	if (w->in->bytes[AT_HOP_LIMIT] <= 1)
		return SIXLANE_PASS_HOP_LIMIT;
	w->egress = port_of_slot(w->world, w->next_hop->port);
	if (!w->egress)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (w->egress->ifindex == w->ingress)
		return SIXLANE_PASS_SAME_PORT;
	if (!w->egress->ifindex || !has(w->egress, SIXLANE_PORT_UP | SIXLANE_PORT_IPV6))
		return SIXLANE_PASS_EGRESS_DOWN;
	if (!has(w->egress, SIXLANE_PORT_ETHER))
		return SIXLANE_PASS_EGRESS_DEVICE;
	if (!has(w->egress, SIXLANE_PORT_XMIT) && !has(w->port, SIXLANE_PORT_GENERIC))
		return SIXLANE_PASS_EGRESS_DEVICE;
	if (length > w->egress->mtu || (w->next_hop->mtu && length > w->next_hop->mtu))
		return SIXLANE_PASS_TOO_BIG;
	return SIXLANE_FORWARD;
}

static uint32_t find_on_link(const struct walk *w)
{
	const struct world *world = w->world;

	for (size_t i = 0; i < world->n_neigh_index; i++)
		if (world->neigh_index[i].key.ifindex == w->egress->ifindex &&
		    !memcmp(world->neigh_index[i].key.addr.bytes, w->in->bytes + AT_DST, 16))
			return world->neigh_index[i].slot;
	return 0;
}

static enum sixlane_verdict judge_neighbour(struct walk *w)
{
	uint32_t slot = w->next_hop->neighbour;
	bool on_link = !slot;

	if (on_link)
		slot = find_on_link(w);
	if (!slot || slot >= WORLD_NEIGHBOURS)
		return SIXLANE_PASS_UNRESOLVED;
	w->neigh = &w->world->neighbours[slot];
	if (on_link && (w->neigh->key.ifindex != w->egress->ifindex ||
			memcmp(w->neigh->key.addr.bytes, w->in->bytes + AT_DST, 16)))
		return SIXLANE_PASS_UNRESOLVED;
	return w->neigh->mac.flags & SIXLANE_MAC_VALID ? SIXLANE_FORWARD : SIXLANE_PASS_UNRESOLVED;
}

static enum sixlane_verdict judge(struct walk *w)
{
	enum sixlane_verdict verdict = judge_port(w);

	if (verdict == SIXLANE_FORWARD)
		verdict = judge_frame(w);
	if (verdict == SIXLANE_FORWARD)
		verdict = judge_header(w);
	if (verdict == SIXLANE_FORWARD)
		verdict = judge_route(w);
	if (verdict == SIXLANE_FORWARD)
		verdict = judge_egress(w);
	if (verdict == SIXLANE_FORWARD)
		verdict = judge_neighbour(w);
	return verdict;
}

void model_run(const struct world *world, uint32_t ingress, const struct frame *in,
	       struct model_result *result)
{
	struct walk w = { .world = world, .in = in, .ingress = ingress };

	result->slot = find_slot(world, ingress);
	w.port = result->slot ? &world->ports[result->slot] : NULL;
	result->verdict = judge(&w);
	result->out = *in;
	result->egress = 0;
	if (result->verdict != SIXLANE_FORWARD)
		return;
	result->egress = w.egress->ifindex;
	frame_route(&result->out, w.neigh->mac.bytes, w.egress->mac.bytes);
}
