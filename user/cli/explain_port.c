// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the packet to be explained comes in: by the port that was named, or by the one by which its
 * source is reached; and what it then looks like on the wire, since the program runs below VLAN
 * devices and on the slaves of bonds.
 */
#include <arpa/inet.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_link.h"
#include "../netlink/socket_route.h"
#include "explain.h"

/* A sender that nobody knows: locally administered. */
static const uint8_t some_mac[6] = { 0x02, 0, 0, 0, 0, 0x01 };

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

/* How well a port's own way to the source is known. */
struct way_back {
	uint32_t ifindex; /* 0: none */
	uint32_t len;	  /* of the route's prefix */
};

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

/* Whether packets to the source leave by a port, in the table that packets by it are looked up in.
 */
static bool is_way_back(const struct maps *maps, const struct sixlane_port *port,
			const union sixlane_addr *src, uint32_t *len)
{
	struct route_view *route;
	uint32_t value;
	bool found;

	if (maps_route_lookup(maps, port->table, src, &value))
		return false;
	route = malloc(sizeof(*route));
	if (!route)
		return false;
	route_view_value(maps, value, NULL, route);
	found = leaves_by(route, port->ifindex);
	*len = route->prefix_len;
	free(route);
	return found;
}

/* With rules the kernel says which table it is; those of VRFs have their own. */
static bool asks_rules(const struct sixlane_port *port)
{
	return (port->flags & (SIXLANE_PORT_RULES | SIXLANE_PORT_VRF)) == SIXLANE_PORT_RULES;
}

/* The served port by which its source is reached, by the longest prefix if there are several. */
static uint32_t way_back(const struct explain *explain)
{
	const struct ports *ports = &explain->view.ports;
	const union sixlane_addr *src = &explain->packet.src;
	struct way_back best = { 0 };
	uint32_t len = 0, by_rules = 0, rules_len = 0;

	if (nl_route_get(src, &by_rules, &rules_len))
		by_rules = 0;
	for (size_t i = 0; i < ports->n; i++) {
		uint32_t ifindex = ports->links[i].ifindex;
		const struct sixlane_port *port = slot_of(explain, ifindex);

		if (!is_served(explain, ifindex))
			continue;
		if (asks_rules(port)) {
			if (ifindex != by_rules)
				continue;
			len = rules_len;
		} else if (!is_way_back(&explain->view.maps, port, src, &len)) {
			continue;
		}
		if (!best.ifindex || len > best.len)
			best = (struct way_back){ ifindex, len };
	}
	return best.ifindex;
}

static int choose_port(struct explain *explain)
{
	const struct ports *ports = &explain->view.ports;
	uint32_t back = way_back(explain), n_served = 0;

	explain->port = back ? ports_find(ports, back) : NULL;
	if (explain->port) {
		explain->port_reason = "its source is reached by it";
		return CMD_OK;
	}
	for (size_t i = 0; i < ports->n; i++) {
		if (!is_served(explain, ports->links[i].ifindex))
			continue;
		if (!n_served++)
			explain->port = &ports->links[i];
	}
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

static int name_port(struct explain *explain, const char *name)
{
	const struct link *port = ports_find(&explain->view.ports, nl_link_find(name, NULL));

	if (!port)
		return cmd_usage(&cmd_explain, "cannot find device \"%s\"", name);
	explain->port = port;
	explain->port_reason = "as asked for";
	return CMD_OK;
}

/* Down from a VLAN device to the one below all tags, which are noted. */
static int go_below(struct explain *explain)
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

/* From a bond to a slave: one that the bond uses, if it uses any. */
static int go_to_slave(struct explain *explain)
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

static void address_frame(struct explain *explain)
{
	const struct maps *maps = &explain->view.maps;
	uint32_t slot = maps_neigh_slot(maps, explain->port->ifindex, &explain->packet.src);
	union sixlane_mac mac = { .word = slot ? maps->neighbours[slot].mac.word : 0 };

	if (!explain->has_mac)
		memcpy(explain->packet.dst_mac, explain->port->mac,
		       sizeof(explain->packet.dst_mac));
	memcpy(explain->packet.src_mac, mac.flags & SIXLANE_MAC_VALID ? mac.bytes : some_mac,
	       sizeof(explain->packet.src_mac));
}

/* A slave runs the program of its bond, which is the one that tells of it. */
static void query_program(struct explain *explain)
{
	const struct loader_maps *maps = &explain->view.fds;
	uint32_t ifindex = explain->ingress->ifindex, master = explain->ingress->master;

	explain->prog_known = !loader_query(ifindex, maps, &explain->prog);
	if (explain->prog_known && explain->prog.owner == LOADER_NO_PROG && master &&
	    !strcmp(explain->ingress->master_kind, "bond"))
		explain->prog_known = !loader_query(master, maps, &explain->prog);
}

int explain_find_port(struct explain *explain, const char *name)
{
	int rc = name ? name_port(explain, name) : choose_port(explain);

	if (!rc)
		rc = go_below(explain);
	if (!rc)
		rc = go_to_slave(explain);
	if (rc)
		return rc;
	address_frame(explain);
	query_program(explain);
	return CMD_OK;
}
