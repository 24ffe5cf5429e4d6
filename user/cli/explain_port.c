// SPDX-License-Identifier: GPL-2.0-only
/* See explain.h. */
#include "explain.h"

#include <arpa/inet.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"

/* The sender if its MAC is unknown: locally administered. */
static const uint8_t unknown_mac[6] = { 0x02, 0, 0, 0, 0, 0x01 };

static const struct sixlane_port *slot_of(const struct explain *explain, uint32_t ifindex)
{
	const struct maps *maps = &explain->view.maps;

	return &maps->ports[maps_port_slot(maps, ifindex)];
}

static bool is_served(const struct explain *explain, uint32_t ifindex)
{
	const uint32_t slave = SIXLANE_PORT_SLAVE | SIXLANE_PORT_BACKUP;
	uint32_t flags = ifindex ? slot_of(explain, ifindex)->flags : 0;

	return flags & SIXLANE_PORT_INGRESS && !(flags & slave);
}

static bool leaves_by(const struct route_view *route, uint32_t ifindex)
{
	const struct group_view *group = &route->group;

	if (route->hop.egress.ifindex == ifindex)
		return true;
	for (uint32_t i = 0; i < group->n_members; i++) {
		if (!group->members[i].skipped && group->members[i].hop.egress.ifindex == ifindex)
			return true;
	}
	return false;
}

/* Whether the port reaches src in the table that its packets use. Sets *len to the prefix's length.
 */
static bool reaches(const struct maps *maps, const struct sixlane_port *port,
		    const union sixlane_addr *src, uint32_t *len)
{
	struct route_view route;
	uint32_t value;

	if (maps_route_lookup(maps, port->table, src, &value))
		return false;
	route_view_read(maps, value, NULL, &route);
	*len = route.prefix_len;
	return leaves_by(&route, port->ifindex);
}

/* With rules only the kernel knows the table; VRFs have their own. */
static bool asks_rules(const struct sixlane_port *port)
{
	return (port->flags & (SIXLANE_PORT_RULES | SIXLANE_PORT_VRF)) == SIXLANE_PORT_RULES;
}

/* The served port that reaches the source by the longest prefix; NULL: none does. */
static const struct link *find_reverse_port(const struct explain *explain)
{
	const union sixlane_addr *src = &explain->packet.src;
	uint32_t by_rules = 0, rules_len = 0, len = 0, best_len = 0;
	const struct link *best = NULL;

	if (nl_route_get(src, &by_rules, &rules_len))
		by_rules = 0;
	for (size_t i = 0; i < explain->view.ports.n; i++) {
		const struct link *link = &explain->view.ports.links[i];
		const struct sixlane_port *port = slot_of(explain, link->ifindex);
		bool found;

		if (!is_served(explain, link->ifindex))
			continue;
		if (asks_rules(port)) {
			found = link->ifindex == by_rules;
			len = rules_len;
		} else {
			found = reaches(&explain->view.maps, port, src, &len);
		}
		if (found && (!best || len > best_len)) {
			best = link;
			best_len = len;
		}
	}
	return best;
}

static int choose_port(struct explain *explain)
{
	const struct ports *ports = &explain->view.ports;
	uint32_t n_served = 0;

	explain->port = find_reverse_port(explain);
	explain->port_reason = "its source is reached by it";
	if (explain->port)
		return CMD_OK;
	for (size_t i = 0; i < ports->n; i++)
		if (is_served(explain, ports->links[i].ifindex) && !n_served++)
			explain->port = &ports->links[i];
	if (!explain->port) {
		log_error("no port is served: 'sixlane attach DEV', or name one with 'dev PORT'");
		return CMD_FAILED;
	}
	explain->port_reason =
		n_served == 1
			? "the only port that is served; the source is reached by none"
			: "the first port that is served; the source is reached by none of them";
	return CMD_OK;
}

/* Sets ingress to the device below all VLAN tags, and the packet's tags. */
static int find_lower(struct explain *explain)
{
	const struct link *at = explain->port;
	union sixlane_tag *tags = explain->packet.tags;

	while (!strcmp(at->kind, "vlan")) {
		if (tags[1].word) {
			log_error("%s carries more than two VLAN tags: the kernel gets its packets",
				  explain->port->name);
			return CMD_FAILED;
		}
		tags[1] = tags[0];
		tags[0] = (union sixlane_tag){ .tpid = htons(at->vlan_protocol),
					       .tci = htons(at->vlan_id) };
		at = at->lower ? ports_find(&explain->view.ports, at->lower) : NULL;
		if (!at) {
			log_error("the device below %s is not in this network namespace",
				  explain->port->name);
			return CMD_FAILED;
		}
	}
	explain->ingress = at;
	return CMD_OK;
}

/* If the ingress port is a bond, replaces it by a slave: one that the bond uses, if there is one.
 */
static int find_slave(struct explain *explain)
{
	const struct ports *ports = &explain->view.ports;
	const struct link *bond = explain->ingress, *found = NULL;

	if (strcmp(bond->kind, "bond") != 0)
		return CMD_OK;
	for (size_t i = 0; i < ports->n; i++) {
		const struct link *link = &ports->links[i];

		if (link->master != bond->ifindex)
			continue;
		if (!found)
			found = link;
		if (slot_of(explain, link->ifindex)->flags & SIXLANE_PORT_SLAVE) {
			found = link;
			break;
		}
	}
	if (!found) {
		log_error("%s has no slave that a packet could come in by", bond->name);
		return CMD_FAILED;
	}
	explain->ingress = found;
	return CMD_OK;
}

static void set_macs(struct explain *explain)
{
	const struct maps *maps = &explain->view.maps;
	uint32_t slot = maps_neigh_slot(maps, explain->port->ifindex, &explain->packet.src);
	union sixlane_mac mac = { .word = slot ? maps->neighbours[slot].mac.word : 0 };

	if (!explain->has_mac)
		memcpy(explain->packet.dst_mac, explain->port->mac,
		       sizeof(explain->packet.dst_mac));
	memcpy(explain->packet.src_mac, mac.flags & SIXLANE_MAC_VALID ? mac.bytes : unknown_mac,
	       sizeof(explain->packet.src_mac));
}

/* A slave runs the program of its bond, which reports it. */
static void query_program(struct explain *explain)
{
	const struct loader_maps *maps = &explain->view.fds;
	uint32_t ifindex = explain->ingress->ifindex, master = explain->ingress->master;

	explain->prog_known = !loader_query(ifindex, maps, &explain->prog);
	if (explain->prog_known && explain->prog.owner == LOADER_NO_PROG && master &&
	    !strcmp(explain->ingress->master_kind, "bond"))
		explain->prog_known = !loader_query(master, maps, &explain->prog);
}

int explain_find_port(struct explain *explain)
{
	int rc = explain->port ? CMD_OK : choose_port(explain);

	rc = rc ?: find_lower(explain) ?: find_slave(explain);
	if (rc)
		return rc;
	set_macs(explain);
	query_program(explain);
	return CMD_OK;
}
