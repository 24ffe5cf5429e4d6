/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps in memory for the tests of `sixlane lookup` and `sixlane explain`, in place of the readers
 * of the pinned maps. Packets from the Ethernet port IN to OUT can be forwarded.
 */
#ifndef UNIT_CLI_CMD_WORLD_H
#define UNIT_CLI_CMD_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../../../user/cli/entries.h"
#include "../../../user/cli/route_view.h"
#include "../unit.h"

#define IN 7u /* ifindexes */
#define OUT 8u
#define OTHER 9u
#define DEVICE_MTU 1500u
#define DESTINATION "2001:db8::1"
#define SOURCE "2001:db8:a::1"

#define LIVE (SIXLANE_PORT_IPV6 | SIXLANE_PORT_UP | SIXLANE_PORT_XMIT)
#define SERVED (LIVE | SIXLANE_PORT_INGRESS | SIXLANE_PORT_FORWARDING)

enum { SLOT_IN = 1, SLOT_OUT, SLOT_OTHER, SLOT_MORE };
enum { GATEWAY = 1, ON_LINK, OTHER_GATEWAY };

struct exception {
	union sixlane_addr dst;
	struct sixlane_exception value;
};

#define WORLD_ENTRIES 16
static struct sixlane_meta meta;
static struct sixlane_port ports[SIXLANE_MAX_PORTS];
static struct sixlane_next_hop next_hops[SIXLANE_MAX_NEXT_HOPS];
static struct sixlane_neigh neighbours[SIXLANE_MAX_NEIGHBOURS];
static union sixlane_nh_bucket buckets[SIXLANE_MAX_NH_BUCKETS];
static struct sixlane_rule rules[2 * SIXLANE_MAX_RULES];
static struct world_list {
	struct entry at[WORLD_ENTRIES];
	uint32_t n;
} routes, sources;
static struct exception exceptions[WORLD_ENTRIES];
static uint64_t punted[SIXLANE_PUNTED_WORDS], fresh[SIXLANE_FRESH_WORDS];
static uint32_t n_exceptions;
static bool pair_is_free, has_policy;

static const struct maps maps = { .meta = &meta,
				  .ports = ports,
				  .next_hops = next_hops,
				  .neighbours = neighbours,
				  .buckets = buckets,
				  .punted = punted,
				  .fresh = fresh,
				  .rules = rules };

static inline union sixlane_addr address(const char *text)
{
	union sixlane_addr addr = { 0 };

	assert_int_equal(inet_pton(AF_INET6, text, &addr), 1);
	return addr;
}

static inline int longest(const struct world_list *list, uint32_t table,
			  const union sixlane_addr *addr, uint32_t *value)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	int best = -1;

	for (const struct entry *at = list->at; at < list->at + list->n; at++) {
		if (at->table != table || at->prefix.len <= best ||
		    !prefix_covers(&at->prefix, &host))
			continue;
		best = at->prefix.len;
		*value = at->value;
	}
	return best < 0 ? -ENOENT : 0;
}

int maps_route_lookup(const struct maps *of, uint32_t table, const union sixlane_addr *addr,
		      uint32_t *value)
{
	return longest(&routes, table, addr, value);
}

int maps_source_lookup(const struct maps *of, uint32_t set, const union sixlane_addr *addr,
		       uint32_t *value)
{
	return longest(&sources, set, addr, value);
}

int maps_exception(const struct maps *of, const union sixlane_addr *dst,
		   struct sixlane_exception *out)
{
	for (uint32_t i = 0; i < n_exceptions; i++) {
		if (memcmp(&exceptions[i].dst, dst, sizeof(*dst)) != 0)
			continue;
		*out = exceptions[i].value;
		return 0;
	}
	return -ENOENT;
}

uint32_t maps_port_slot(const struct maps *of, uint32_t ifindex)
{
	for (uint32_t slot = 1; slot < 16; slot++) {
		if (ifindex && of->ports[slot].ifindex == ifindex)
			return slot;
	}
	return 0;
}

bool maps_pair_is_free(const struct maps *of, uint32_t in_slot, uint32_t out_slot)
{
	return pair_is_free && in_slot == SLOT_IN && out_slot == SLOT_OUT;
}

bool maps_has_policy(const struct maps *of, const union sixlane_addr *src,
		     const union sixlane_addr *dst)
{
	const union sixlane_addr wanted[] = { address(SOURCE), address(DESTINATION) };

	return has_policy && (!src || !memcmp(src, &wanted[0], sizeof(*src))) &&
	       !memcmp(dst, &wanted[1], sizeof(*dst));
}

uint32_t maps_neigh_slot(const struct maps *of, uint32_t ifindex, const union sixlane_addr *addr)
{
	union sixlane_addr wanted = address(DESTINATION);

	return ifindex == OUT && !memcmp(addr, &wanted, sizeof(wanted)) ? ON_LINK : 0;
}

/* Adds a route, or a source to a set; the value contains the destination's length in both. */
static inline void world_add(struct world_list *list, uint32_t table, const char *addr, uint8_t len,
			     uint32_t id)
{
	assert_true(list->n < WORLD_ENTRIES);
	list->at[list->n++] = (struct entry){ .table = table,
					      .prefix = { address(addr), len },
					      .value = sixlane_route_value(id, len) };
}

static inline void world_exception(uint32_t table, const char *addr, struct sixlane_exception value)
{
	assert_true(n_exceptions < WORLD_ENTRIES);
	value.table = table;
	exceptions[n_exceptions++] = (struct exception){ .dst = address(addr), .value = value };
}

static inline void world_port(uint32_t slot, uint32_t ifindex, uint32_t flags)
{
	ports[slot] = (struct sixlane_port){ .ifindex = ifindex,
					     .flags = flags,
					     .mtu = DEVICE_MTU,
					     .table = SIXLANE_TABLE_MAIN,
					     .iif = ifindex,
					     .tx_ifindex = ifindex };
}

/* A next hop of its own: out by a port, by a gateway (slot of the neighbour) or on-link (0). */
static inline void world_hop(uint32_t id, uint32_t slot, uint32_t neighbour)
{
	next_hops[id] = (struct sixlane_next_hop){ .nh_entry = { .type = SIXLANE_FORWARD,
								 .port = (uint16_t)slot,
								 .neighbour = neighbour } };
}

static inline void world_entry(uint32_t id, uint16_t kind)
{
	next_hops[id] = (struct sixlane_next_hop){ .nh_entry = { .type = kind } };
}

/* Ports, neighbours and no route at all. */
static inline void world_clear(void)
{
	memset(next_hops, 0, sizeof(next_hops));
	memset(ports, 0, sizeof(ports));
	memset(buckets, 0, sizeof(buckets));
	memset(rules, 0, sizeof(rules));
	memset(punted, 0, sizeof(punted));
	memset(fresh, 0, sizeof(fresh));
	routes.n = sources.n = n_exceptions = 0;
	meta = (struct sixlane_meta){ .abi = SIXLANE_ABI,
				      .flags = SIXLANE_META_READY | SIXLANE_META_GUARDED };
	world_port(SLOT_IN, IN, SERVED);
	world_port(SLOT_OUT, OUT, LIVE);
	for (int i = GATEWAY; i <= OTHER_GATEWAY; i++)
		neighbours[i].mac.flags = SIXLANE_MAC_VALID;
}

#endif
