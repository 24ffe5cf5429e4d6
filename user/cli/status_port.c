// SPDX-License-Identifier: GPL-2.0-only
/* See status_port.h. */
#include "status_port.h"

#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "show.h"

/* --- names -------------------------------------------------------------------------------- */

int port_filter_parse(int argc, char **argv, struct port_filter *out)
{
	*out = (struct port_filter){ .all = argc < 1 };
	if (out->all)
		return 0;
	out->ifindexes = calloc((size_t)argc, sizeof(*out->ifindexes));
	out->absent = calloc((size_t)argc, sizeof(*out->absent));
	if (!out->ifindexes || !out->absent) {
		port_filter_free(out);
		return -ENOMEM;
	}
	for (int i = 0; i < argc; i++) {
		uint32_t ifindex = nl_link_find(argv[i], NULL);

		if (ifindex)
			out->ifindexes[out->n++] = ifindex;
		else
			out->absent[out->n_absent++] = argv[i];
	}
	return 0;
}

void port_filter_free(struct port_filter *filter)
{
	free(filter->ifindexes);
	free(filter->absent);
	*filter = (struct port_filter){ 0 };
}

bool port_filter_has(const struct port_filter *filter, uint32_t ifindex)
{
	for (size_t i = 0; i < filter->n; i++)
		if (filter->ifindexes[i] == ifindex)
			return true;
	return filter->all;
}

struct search {
	const char *name;
	bool found;
};

static void compare_name(void *ctx, const struct loader_port_name *name)
{
	struct search *search = ctx;

	search->found |= !strcmp(search->name, name->name);
}

int port_filter_log_absent(const struct port_filter *filter)
{
	for (size_t i = 0; i < filter->n_absent; i++) {
		struct search search = { .name = filter->absent[i] };

		loader_names_read(compare_name, &search);
		log_error("cannot find device \"%s\"%s", search.name,
			  search.found ? ": sixlaned waits for it to appear" : "");
	}
	return filter->n_absent ? CMD_FAILED : CMD_OK;
}

static void append_missing(void *ctx, const struct loader_port_name *name)
{
	json_t *object;

	if (nl_link_find(name->name, NULL) || errno != ENODEV)
		return;
	object = json_object();
	print_set(object, "setting", name->setting);
	print_set(object, "name", name->name);
	print_append(ctx, object);
}

json_t *port_filter_missing(void)
{
	json_t *missing = json_array();

	loader_names_read(append_missing, missing);
	return missing;
}

/* --- ports -------------------------------------------------------------------------------- */

#define QUEUES_LEN 24

static const struct {
	uint32_t flag;
	const char *name;
} port_flags[] = {
	{ SIXLANE_PORT_INGRESS, "ingress" },
	{ SIXLANE_PORT_PASS, "pass" },
	{ SIXLANE_PORT_UPPER, "upper" },
	{ SIXLANE_PORT_IPV6, "ipv6" },
	{ SIXLANE_PORT_FORWARDING, "forwarding" },
	{ SIXLANE_PORT_UP, "up" },
	{ SIXLANE_PORT_XMIT, "ndo_xmit" },
	{ SIXLANE_PORT_XMIT_FRAGS, "ndo_xmit_sg" },
	{ SIXLANE_PORT_GENERIC, "generic" },
	{ SIXLANE_PORT_PROXY_NDP, "proxy_ndp" },
	{ SIXLANE_PORT_RULES, "policy_rules" },
	{ SIXLANE_PORT_VRF, "vrf" },
	{ SIXLANE_PORT_SLAVE, "active_slave" },
	{ SIXLANE_PORT_BACKUP, "inactive_slave" },
	{ SIXLANE_PORT_TAGGED, "vlan" },
	{ SIXLANE_PORT_SKIP, "linkdown_skip" },
	{ SIXLANE_PORT_SKIP_OBJECT, "linkdown_skip_object" },
	{ SIXLANE_PORT_BRIDGE, "bridge" },
	{ SIXLANE_PORT_MACVLAN, "macvlan" },
	{ SIXLANE_PORT_TUNNEL, "tunnel" },
	{ SIXLANE_PORT_UNSUPPORTED, "unsupported" },
	{ SIXLANE_PORT_SLAVES, "vlan_on_bond" },
	{ SIXLANE_PORT_SOURCE, "icmp_source" },
	{ SIXLANE_PORT_ATTACH_PENDING, "attach_pending" },
	{ SIXLANE_PORT_IN_FIREWALL, "in_firewall" },
	{ SIXLANE_PORT_IN_TC, "in_tc" },
	{ SIXLANE_PORT_OUT_FIREWALL, "out_firewall" },
	{ SIXLANE_PORT_OUT_TC, "out_tc" },
	{ SIXLANE_PORT_GUARD, "guard" },
	{ SIXLANE_PORT_OPEN_CHECKSUMS, "partial_checksums" },
	{ SIXLANE_PORT_FLOWS, "flowtable" },
};

static const char *mode_name(const struct status_port *port)
{
	const enum xdp_mode mode = port->prog.mode;

	if (port->prog.dispatcher)
		return "dispatcher";
	return loader_xdp_mode_name(mode == XDP_MODE_MULTI ? XDP_MODE_NATIVE : mode);
}

/* NULL: no program. */
static const char *program_name(const struct status_port *port)
{
	if (port->error)
		return "unknown";
	switch (port->prog.owner) {
	case LOADER_OURS:
		return "sixlane";
	case LOADER_OTHER_MAPS:
		return "other maps";
	case LOADER_OTHER_PROG:
		return port->prog.name;
	default:
		return NULL;
	}
}

/* The object's; NULL: not sixlane. */
static const char *flavour_name(const struct status_port *port)
{
	if (port->error || !loader_is_sixlane(&port->prog))
		return NULL;
	return port->prog.frags ? "frags" : "plain";
}

static const char *program_text(const struct status_port *port)
{
	if (port->prog.owner == LOADER_OURS && port->prog.frags)
		return LOADER_FRAGS_PROG;
	return program_name(port) ?: "-";
}

int status_ports_read(struct cmd_view *view, const struct port_filter *filter,
		      struct status_ports *ports)
{
	const uint32_t shown = SIXLANE_PORT_INGRESS | SIXLANE_PORT_SLAVE | SIXLANE_PORT_BACKUP |
			       SIXLANE_PORT_ATTACH_PENDING;
	const struct ports *all = &view->ports;

	ports->at = calloc(all->n + 1, sizeof(*ports->at));
	if (!ports->at)
		return -ENOMEM;
	for (size_t i = 0; i < all->n; i++) {
		struct status_port port = { .link = &all->links[i] };

		port.slot = maps_port_slot(&view->maps, port.link->ifindex);
		if (port.slot)
			port.port = view->maps.ports[port.slot];
		if (port.link->xdp_mode != XDP_MODE_NONE) {
			port.error = loader_query(port.link->ifindex, &view->fds, &port.prog);
			if (port.error)
				port.prog.mode = port.link->xdp_mode;
			else
				port.link_id = loader_query_link(port.link->ifindex, &port.prog);
		} else if (!(port.port.flags & shown) &&
			   (filter->all || !port_filter_has(filter, port.link->ifindex))) {
			continue;
		}
		if (ethtool_get_channels(port.link->name, &port.channels))
			port.channels = (struct ethtool_channels){ 0 };
		port.rx_in_use = port.channels.combined_count + port.channels.rx_count;
		port.tx_in_use = port.channels.combined_count + port.channels.tx_count;
		ports->at[ports->n++] = port;
	}
	return 0;
}

bool status_port_is_slave(const struct status_port *port)
{
	return port->port.flags & (SIXLANE_PORT_SLAVE | SIXLANE_PORT_BACKUP);
}

const char *status_port_passed(const struct status_port *port)
{
	uint32_t flags = port->port.flags;

	if (!port->slot || !(flags & SIXLANE_PORT_INGRESS))
		return "sixlaned does not serve it";
	if (flags & SIXLANE_PORT_PASS)
		return "acceleration is off for it (pass_ports)";
	if (flags & SIXLANE_PORT_BACKUP)
		return "it is an inactive slave of its bond";
	if (flags & SIXLANE_PORT_UPPER)
		return "an upper device takes its frames";
	if (!(flags & SIXLANE_PORT_UP))
		return "it is down";
	if (!(flags & SIXLANE_PORT_IPV6))
		return "IPv6 is off on it (net.ipv6.conf.DEV.disable_ipv6)";
	if (!(flags & SIXLANE_PORT_FORWARDING))
		return "forwarding is off (net.ipv6.conf.all.forwarding)";
	return NULL;
}

static const char *device_name(const struct cmd_view *view, uint32_t ifindex)
{
	const struct link *link = ports_find(&view->ports, ifindex);

	return link ? link->name : "?";
}

/* NULL: not sixlane, or unknown. */
static const char *compiler_of(const struct status_port *port, char buf[LOADER_COMPILER_LEN])
{
	return loader_is_sixlane(&port->prog) && loader_prog_compiler(port->prog.id, buf) ? buf
											  : NULL;
}

static json_t *slaves_json(const struct cmd_view *view, const struct sixlane_port *port)
{
	json_t *slaves = json_array();

	for (uint32_t i = 0; i < port->n_slaves && i < SIXLANE_MAX_SLAVES; i++)
		print_append(slaves, device_name(view, port->slaves[i]));
	return slaves;
}

/* How the port differs from the device that its packets come in or leave by. */
static void roles_json(const struct cmd_view *view, const struct status_port *port, json_t *object)
{
	uint32_t flags = port->port.flags;
	char tags[SHOW_TAGS_LEN];
	struct port_upper upper;

	if (flags & SIXLANE_PORT_TAGGED) {
		print_set(object, "tags", show_tags(port->port.tags, tags));
		print_set(object, "lower", device_name(view, port->port.tx_ifindex));
	}
	if (flags & SIXLANE_PORT_SLAVES)
		print_set(object, "slaves", slaves_json(view, &port->port));
	if (status_port_is_slave(port))
		print_set(object, "bond", device_name(view, port->link->master));
	if (flags & SIXLANE_PORT_UPPER && ports_find_upper(&view->ports, port->link, &upper)) {
		print_set(object, "upper", upper.name);
		print_set(object, "upper_kind", upper.kind);
	}
	if (flags & SIXLANE_PORT_VRF)
		print_set(object, "vrf", device_name(view, port->port.iif));
	if (port->slot)
		print_set(object, "table", port->port.table);
}

static void roles_text(const struct cmd_view *view, const struct status_port *port)
{
	uint32_t flags = port->port.flags;
	struct port_upper upper;
	char tags[SHOW_TAGS_LEN];

	if (flags & SIXLANE_PORT_TAGGED)
		printf(", %s on %s", show_tags(port->port.tags, tags),
		       device_name(view, port->port.tx_ifindex));
	if (status_port_is_slave(port))
		printf(", slave of %s", device_name(view, port->link->master));
	if (flags & SIXLANE_PORT_UPPER && ports_find_upper(&view->ports, port->link, &upper))
		printf(", upper device %s%s%s%s", upper.name, upper.kind[0] ? " (" : "", upper.kind,
		       upper.kind[0] ? ")" : "");
	if (flags & SIXLANE_PORT_VRF)
		printf(", in VRF %s (table %u)", device_name(view, port->port.iif),
		       port->port.table);
}

/* The source of a Packet Too Big; NULL: XDP does not answer. Its first half is then zero. */
static const char *icmp_source(const struct sixlane_port *port, char buf[PRINT_PREFIX_LEN])
{
	return port->source.halves[0] ? print_addr(&port->source, buf) : NULL;
}

json_t *status_port_json(const struct cmd_view *view, const struct status_port *port)
{
	json_t *object = json_object(), *flags = json_array();
	char text[PRINT_PREFIX_LEN], compiler[LOADER_COMPILER_LEN];

	print_set(object, "name", port->link->name);
	print_set(object, "ifindex", port->link->ifindex);
	print_set(object, "slot", port->slot);
	print_set(object, "mode", mode_name(port));
	print_set(object, "program", program_name(port));
	print_set(object, "flavour", flavour_name(port));
	print_set(object, "program_id", port->prog.id);
	print_set(object, "link_id",
		  print_nonzero(port->link_id == LOADER_LINK_UNKNOWN ? 0 : port->link_id));
	print_set(object, "compiler", compiler_of(port, compiler));
	print_set(object, "rx_queues", port->link->n_rx_queues);
	print_set(object, "tx_queues", port->link->n_tx_queues);
	print_set(object, "rx_queues_in_use", print_nonzero(port->rx_in_use));
	print_set(object, "tx_queues_in_use", print_nonzero(port->tx_in_use));
	print_set(object, "mac", print_mac(port->link->mac, text));
	print_set(object, "mtu", port->slot ? port->port.mtu : port->link->mtu);
	for (size_t i = 0; i < ARRAY_SIZE(port_flags); i++)
		if (port->port.flags & port_flags[i].flag)
			print_append(flags, port_flags[i].name);
	print_set(object, "flags", flags);
	roles_json(view, port, object);
	if (port->slot) {
		print_set(object, "icmp_source", icmp_source(&port->port, text));
		print_set(object, "icmp_hop_limit", port->port.hop_limit);
	}
	return object;
}

static void statistics_text(const struct status_port *port)
{
	char source[PRINT_PREFIX_LEN], compiler[LOADER_COMPILER_LEN];

	printf(" (ifindex %u, slot %u, program id %u", port->link->ifindex, port->slot,
	       port->prog.id);
	if (compiler_of(port, compiler))
		printf(", built by %s", compiler);
	if (icmp_source(&port->port, source))
		printf(", ICMPv6 source %s", source);
	putchar(')');
}

/* "2/8": 2 of 8 are in use. */
static const char *queues_text(uint32_t in_use, uint32_t all, char buf[QUEUES_LEN])
{
	if (in_use)
		snprintf(buf, QUEUES_LEN, "%u/%u", in_use, all);
	else
		snprintf(buf, QUEUES_LEN, "%u", all);
	return buf;
}

void status_ports_text(const struct cmd_options *options, const struct cmd_view *view,
		       const struct status_ports *ports)
{
	char mac[PRINT_MAC_LEN], rx[QUEUES_LEN], tx[QUEUES_LEN];

	if (!ports->n) {
		puts("ports       none");
		return;
	}
	printf("%-15s %-10s %-15s %7s %7s %6s  %-17s  %s\n", "port", "mode", "program", "rxq",
	       "txq", "mtu", "mac", "flags");
	for (size_t i = 0; i < ports->n; i++) {
		const struct status_port *port = &ports->at[i];
		bool generic = port->prog.mode == XDP_MODE_GENERIC;

		printf("%-15s %-10s %-15s %7s %7s %6u  %s ", port->link->name,
		       generic ? "GENERIC" : mode_name(port), program_text(port),
		       queues_text(port->rx_in_use, port->link->n_rx_queues, rx),
		       queues_text(port->tx_in_use, port->link->n_tx_queues, tx),
		       port->slot ? port->port.mtu : port->link->mtu,
		       print_mac(port->link->mac, mac));
		for (size_t f = 0; f < ARRAY_SIZE(port_flags); f++) {
			if (port->port.flags & port_flags[f].flag)
				printf(" %s", port_flags[f].name);
		}
		roles_text(view, port);
		if (options->statistics)
			statistics_text(port);
		putchar('\n');
	}
}

/* --- refused programs --------------------------------------------------------------------- */

static bool is_served(const struct status_ports *ports, const char *name)
{
	for (size_t i = 0; i < ports->n; i++) {
		const struct status_port *port = &ports->at[i];

		if (!strcmp(port->link->name, name))
			return port->prog.owner == LOADER_OURS && !port->prog.no_arena;
	}
	return false;
}

bool refusals_read(const char *name, const struct status_ports *ports, struct loader_refusal *out)
{
	return loader_refusal_read(name, out) && !is_served(ports, name);
}

json_t *refusals_json(const struct cmd_view *view, const struct status_ports *ports)
{
	struct loader_refusal refusal;
	json_t *array = json_array(), *object;

	for (size_t i = 0; i < view->ports.n; i++) {
		if (!refusals_read(view->ports.links[i].name, ports, &refusal))
			continue;
		object = json_object();
		print_set(object, "port", refusal.port);
		print_set(object, "object", refusal.object);
		print_set(object, "kernel", refusal.kernel);
		print_set(object, "compiler", refusal.compiler);
		print_set(object, "reason", refusal.reason);
		print_set(object, "advice", refusal.advice);
		print_set(object, "log", refusal.log);
		print_append(array, object);
	}
	return array;
}

void refusals_log(void)
{
	struct if_nameindex *devices = if_nameindex();
	struct loader_refusal refusal;
	char text[LOADER_ERR];

	for (struct if_nameindex *device = devices; device && device->if_index; device++) {
		if (!loader_refusal_read(device->if_name, &refusal))
			continue;
		loader_refusal_text(&refusal, text);
		log_error("%s", text);
	}
	if (devices)
		if_freenameindex(devices);
}
