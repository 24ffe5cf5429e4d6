// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane status: whether the maps are in step with the kernel, which ports run what, and
 * everything about them that an operator should know but might not ask.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "print.h"

#define MAX_WARNINGS 64

struct port_view {
	const struct link *link;
	struct loader_prog prog;
	struct sixlane_port port; /* zero without a slot */
	uint32_t slot;		  /* 0: none */
	int error;		  /* of the query: prog is not known */
};

struct status {
	struct cmd_view *view;
	struct sixlane_meta meta;
	bool daemon;
	struct port_view *ports;
	size_t n_ports;
	char *warnings[MAX_WARNINGS];
	size_t n_warnings;
};

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
	{ SIXLANE_PORT_XMIT, "xmit" },
	{ SIXLANE_PORT_ETHER, "ether" },
	{ SIXLANE_PORT_GENERIC, "generic" },
	{ SIXLANE_PORT_PROXY_NDP, "proxy_ndp" },
};

static const char *mode_name(const struct port_view *port)
{
	static const char *const names[] = {
		[XDP_MODE_NONE] = "none",	[XDP_MODE_NATIVE] = "native",
		[XDP_MODE_GENERIC] = "generic", [XDP_MODE_OFFLOAD] = "offload",
		[XDP_MODE_MULTI] = "native",
	};

	return port->prog.dispatcher ? "dispatcher" : names[port->prog.mode];
}

/* NULL: none. */
static const char *program_name(const struct port_view *port)
{
	if (port->error)
		return "unknown";
	switch (port->prog.owner) {
	case LOADER_OURS:
		return "sixlane";
	case LOADER_OTHER_MAPS:
		return "other maps";
	case LOADER_FOREIGN:
		return port->prog.name;
	default:
		return NULL;
	}
}

static void warn(struct status *status, const char *fmt, ...) _printf_(2, 3);
static void warn(struct status *status, const char *fmt, ...)
{
	va_list ap;

	if (status->n_warnings == MAX_WARNINGS)
		return;
	va_start(ap, fmt);
	if (vasprintf(&status->warnings[status->n_warnings], fmt, ap) >= 0)
		status->n_warnings++;
	va_end(ap);
}

/* Why the datapath passes every packet that comes in here, NULL: it does not. */
static const char *why_passed(const struct port_view *port)
{
	uint32_t flags = port->port.flags;

	if (!port->slot || !(flags & SIXLANE_PORT_INGRESS))
		return "the daemon does not serve it";
	if (flags & SIXLANE_PORT_PASS)
		return "acceleration is switched off for it";
	if (flags & SIXLANE_PORT_UPPER)
		return "a master or upper device takes its frames";
	if (!(flags & SIXLANE_PORT_UP))
		return "it is down";
	if (!(flags & SIXLANE_PORT_IPV6))
		return "IPv6 is off on it (net.ipv6.conf.DEV.disable_ipv6)";
	if (!(flags & SIXLANE_PORT_FORWARDING))
		return "forwarding is off (net.ipv6.conf.all.forwarding)";
	return NULL;
}

static void warn_of_port(struct status *status, const struct port_view *port)
{
	const char *name = port->link->name, *why = why_passed(port);

	if (port->error) {
		warn(status, "%s: cannot see its XDP program: %s%s", name, strerror(-port->error),
		     port->error == -EPERM ? " (that takes CAP_SYS_ADMIN)" : "");
		return;
	}
	if (port->prog.owner == LOADER_OTHER_MAPS) {
		warn(status,
		     "%s runs sixlane with maps of its own, which nobody serves: 'sixlane attach' "
		     "or sixlaned replaces it",
		     name);
		return;
	}
	if (port->prog.owner == LOADER_FOREIGN) {
		warn(status, "%s runs another XDP program, \"%s\" (id %u)", name, port->prog.name,
		     port->prog.id);
		return;
	}
	if (port->prog.owner == LOADER_NO_PROG) {
		warn(status, "%s is served but runs no XDP program", name);
		return;
	}
	if (port->prog.mode == XDP_MODE_GENERIC)
		warn(status,
		     "%s runs in GENERIC mode, in the network stack: much slower than native",
		     name);
	/* As long as the maps are not ready that is said once, for all ports. */
	if (!(status->meta.flags & SIXLANE_META_READY))
		return;
	if (why)
		warn(status, "%s passes every packet to the kernel: %s", name, why);
	else if (!(port->port.flags & SIXLANE_PORT_XMIT))
		warn(status,
		     "%s takes no redirected frames: packets that leave by it are the kernel's",
		     name);
}

static void warn_of_all(struct status *status)
{
	const struct sixlane_meta *meta = &status->meta;

	if (!status->daemon && meta->flags & SIXLANE_META_READY)
		warn(status,
		     "sixlaned does not run: packets are forwarded by routes that nobody updates");
	else if (!status->daemon)
		warn(status, "sixlaned does not run: every packet is passed to the kernel");
	else if (!(meta->flags & SIXLANE_META_IN_SYNC))
		warn(status, "sixlaned is synchronising");
	if (meta->flags & SIXLANE_META_PASS_ALL)
		warn(status, "acceleration is switched off: every packet is passed to the kernel");
	if (meta->flags & SIXLANE_META_RULES)
		warn(status,
		     "'ip -6 rule' holds more than the default rules: every packet is passed "
		     "to the kernel");
	if (meta->routes_missing)
		warn(status,
		     "%llu prefixes found no room in the maps: the kernel forwards for them",
		     (unsigned long long)meta->routes_missing);
	for (size_t i = 0; i < status->n_ports; i++)
		warn_of_port(status, &status->ports[i]);
}

/* The ports that run any XDP program or are served. */
static int read_ports(struct status *status)
{
	const struct ports *all = &status->view->ports;

	status->ports = calloc(all->n + 1, sizeof(*status->ports));
	if (!status->ports)
		return -ENOMEM;
	for (size_t i = 0; i < all->n; i++) {
		struct port_view port = { .link = &all->links[i] };

		port.slot = maps_port_slot(&status->view->maps, port.link->ifindex);
		if (port.slot)
			port.port = status->view->maps.ports[port.slot];
		if (port.link->xdp_mode != XDP_MODE_NONE) {
			port.error =
				loader_query(port.link->ifindex, &status->view->fds, &port.prog);
			if (port.error)
				port.prog.mode = port.link->xdp_mode;
		} else if (!(port.port.flags & SIXLANE_PORT_INGRESS)) {
			continue;
		}
		status->ports[status->n_ports++] = port;
	}
	return 0;
}

static json_t *port_json(const struct port_view *port)
{
	json_t *object = json_object(), *flags = json_array();
	char mac[PRINT_MAC_LEN];

	print_mac(port->link->mac, mac);
	print_set(object, "name", print_string(port->link->name));
	print_set(object, "ifindex", json_integer(port->link->ifindex));
	print_set(object, "slot", json_integer(port->slot));
	print_set(object, "mode", print_string(mode_name(port)));
	print_set(object, "program", print_string(program_name(port)));
	print_set(object, "program_id", json_integer(port->prog.id));
	print_set(object, "rx_queues", json_integer(port->link->n_rx_queues));
	print_set(object, "tx_queues", json_integer(port->link->n_tx_queues));
	print_set(object, "mac", print_string(mac));
	print_set(object, "mtu", json_integer(port->slot ? port->port.mtu : port->link->mtu));
	for (size_t i = 0; i < ARRAY_SIZE(port_flags); i++) {
		if (port->port.flags & port_flags[i].flag)
			print_append(flags, print_string(port_flags[i].name));
	}
	print_set(object, "flags", flags);
	return object;
}

struct occupancy {
	enum loader_map map;
	uint64_t entries;
	uint64_t max_entries;
};

static size_t read_occupancy(const struct status *status, struct occupancy out[4])
{
	const struct sixlane_meta *meta = &status->meta;
	uint64_t ports = 0;

	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++)
		ports += status->view->maps.ports[slot].ifindex != 0;
	out[0] = (struct occupancy){ LOADER_ROUTES, meta->routes,
				     meta->max_routes ?: SIXLANE_MAX_ROUTES };
	/* Slot 0 of the arrays is never used. */
	out[1] = (struct occupancy){ LOADER_NEXT_HOPS, meta->next_hops, SIXLANE_MAX_NEXT_HOPS - 1 };
	out[2] = (struct occupancy){ LOADER_NEIGHBOURS, meta->neighbours,
				     SIXLANE_MAX_NEIGHBOURS - 1 };
	out[3] = (struct occupancy){ LOADER_PORTS, ports, SIXLANE_MAX_PORTS - 1 };
	return 4;
}

static json_t *maps_json(const struct status *status)
{
	struct occupancy maps[4];
	size_t n = read_occupancy(status, maps);
	json_t *array = json_array(), *object;

	for (size_t i = 0; i < n; i++) {
		object = json_object();
		print_set(object, "name", print_string(loader_map_name(maps[i].map)));
		print_set(object, "entries", json_integer((json_int_t)maps[i].entries));
		print_set(object, "max_entries", json_integer((json_int_t)maps[i].max_entries));
		print_append(array, object);
	}
	return array;
}

static bool in_sync(const struct status *status)
{
	return status->daemon && status->meta.flags & SIXLANE_META_IN_SYNC;
}

static double sync_ms(const struct status *status)
{
	return print_rounded(status->meta.sync_ns, 1000, 1000);
}

static json_t *to_json(const struct status *status)
{
	const struct sixlane_meta *meta = &status->meta;
	json_t *object = json_object(), *ports = json_array(), *warnings = json_array();
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "generation", meta->generation },	    { "routes", meta->routes },
		{ "next_hops", meta->next_hops },	    { "neighbours", meta->neighbours },
		{ "routes_missing", meta->routes_missing }, { "overruns", meta->overruns },
		{ "malformed", meta->malformed },	    { "synced_at", meta->synced_at },
	};

	print_set(object, "in_sync", json_boolean(in_sync(status)));
	print_set(object, "daemon", json_boolean(status->daemon));
	print_set(object, "ready", json_boolean(meta->flags & SIXLANE_META_READY));
	print_set(object, "pass_all", json_boolean(meta->flags & SIXLANE_META_PASS_ALL));
	print_set(object, "rules", json_boolean(meta->flags & SIXLANE_META_RULES));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		print_set(object, numbers[i].key, json_integer((json_int_t)numbers[i].value));
	print_set(object, "sync_ms", json_real(sync_ms(status)));
	for (size_t i = 0; i < status->n_ports; i++)
		print_append(ports, port_json(&status->ports[i]));
	print_set(object, "ports", ports);
	print_set(object, "maps", maps_json(status));
	for (size_t i = 0; i < status->n_warnings; i++)
		print_append(warnings, print_string(status->warnings[i]));
	print_set(object, "warnings", warnings);
	return object;
}

static void ports_text(const struct cmd_options *options, const struct status *status)
{
	char mac[PRINT_MAC_LEN];

	if (!status->n_ports) {
		puts("ports       none");
		return;
	}
	printf("%-15s %-10s %-15s %5s %5s %6s  %-17s  %s\n", "port", "mode", "program", "rxq",
	       "txq", "mtu", "mac", "flags");
	for (size_t i = 0; i < status->n_ports; i++) {
		const struct port_view *port = &status->ports[i];
		bool generic = port->prog.mode == XDP_MODE_GENERIC;
		const char *program = program_name(port);

		print_mac(port->link->mac, mac);
		printf("%-15s %-10s %-15s %5u %5u %6u  %s ", port->link->name,
		       generic ? "GENERIC" : mode_name(port), program ? program : "-",
		       port->link->n_rx_queues, port->link->n_tx_queues,
		       port->slot ? port->port.mtu : port->link->mtu, mac);
		for (size_t f = 0; f < ARRAY_SIZE(port_flags); f++) {
			if (port->port.flags & port_flags[f].flag)
				printf(" %s", port_flags[f].name);
		}
		if (options->statistics)
			printf(" (ifindex %u, slot %u, program id %u)", port->link->ifindex,
			       port->slot, port->prog.id);
		putchar('\n');
	}
}

static void to_text(const struct cmd_options *options, const struct status *status)
{
	const struct sixlane_meta *meta = &status->meta;
	struct occupancy maps[4];
	size_t n = read_occupancy(status, maps);

	printf("in sync     %s\n", in_sync(status) ? "yes" : "NO");
	printf("daemon      %s\n", status->daemon ? "runs" : "DOES NOT RUN");
	printf("ready       %s\n", meta->flags & SIXLANE_META_READY ? "yes" : "NO");
	printf("generation  %llu (last synchronisation %.3f ms, overruns %llu, malformed %llu)\n",
	       (unsigned long long)meta->generation, sync_ms(status),
	       (unsigned long long)meta->overruns, (unsigned long long)meta->malformed);
	for (size_t i = 0; i < n; i++)
		printf("%-11s %llu of %llu\n", loader_map_name(maps[i].map) + strlen("sl_"),
		       (unsigned long long)maps[i].entries,
		       (unsigned long long)maps[i].max_entries);
	if (meta->routes_missing)
		printf("missing     %llu\n", (unsigned long long)meta->routes_missing);
	putchar('\n');
	ports_text(options, status);
	for (size_t i = 0; i < status->n_warnings; i++)
		printf("%swarning: %s\n", i ? "" : "\n", status->warnings[i]);
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct status status = { 0 };
	struct cmd_view view;
	int rc;

	if (argc)
		return cmd_usage(&cmd_status, "\"%s\" is too much", argv[0]);
	rc = cmd_view_open(&view);
	if (rc)
		return rc;
	status.view = &view;
	status.meta = *view.maps.meta;
	status.daemon = loader_daemon_runs();
	if (read_ports(&status)) {
		log_error("out of memory");
		rc = CMD_FAILED;
	} else {
		warn_of_all(&status);
		if (options->json) {
			rc = print_json(options, to_json(&status));
		} else {
			to_text(options, &status);
			rc = print_flush();
		}
	}
	while (status.n_warnings)
		free(status.warnings[--status.n_warnings]);
	free(status.ports);
	cmd_view_close(&view);
	return rc;
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "",
	.help = "the daemon, the maps and the ports",
	.run = run,
};
