// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane status: whether the maps are in step with the kernel, which ports run what, and
 * everything about them that an operator should know but might not ask.
 */
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <string.h>

#include "cmd_fib.h"
#include "cmd_guard.h"
#include "cmd_status.h"
#include "loader_driver.h"
#include "log.h"

#define MAX_WARNINGS 64

struct status {
	struct cmd_view *view;
	struct sixlane_meta meta;
	uint64_t hints_lost;
	bool daemon;
	struct status_ports ports;
	struct held_list held;
	struct status_asked asked;
	json_t *missing_ports, *refused;
	bool failed; /* a warning matters for the exit status */
	char *warnings[MAX_WARNINGS];
	size_t n_warnings;
};

static void add_warning(struct status *status, const char *fmt, va_list ap) _printf_(2, 0);
static void add_warning(struct status *status, const char *fmt, va_list ap)
{
	if (status->n_warnings < MAX_WARNINGS &&
	    vasprintf(&status->warnings[status->n_warnings], fmt, ap) >= 0)
		status->n_warnings++;
}

/* Packets are not forwarded in XDP that should be, or something is not as the operator said. */
static void warn(struct status *status, const char *fmt, ...) _printf_(2, 3);
static void warn(struct status *status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_warning(status, fmt, ap);
	va_end(ap);
	status->failed = true;
}

/* It could be faster, or is so because the operator wants it. */
static void hint(struct status *status, const char *fmt, ...) _printf_(2, 3);
static void hint(struct status *status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_warning(status, fmt, ap);
	va_end(ap);
}

/* Packets come in here in native mode, and may leave by another port. */
static bool is_native_ingress(const struct status_port *port)
{
	return (port->port.flags & (SIXLANE_PORT_INGRESS | SIXLANE_PORT_GENERIC)) ==
	       SIXLANE_PORT_INGRESS;
}

static bool has_native_ingress(const struct status *status, const struct status_port *but)
{
	for (size_t i = 0; i < status->ports.n; i++)
		if (&status->ports.at[i] != but && is_native_ingress(&status->ports.at[i]))
			return true;
	return false;
}

/* What generic mode redirects leaves as an skb, which every Ethernet device takes. */
static void warn_of_egress(struct status *status, const struct status_port *port)
{
	uint32_t flags = port->port.flags;

	if (flags & SIXLANE_PORT_NO_XMIT)
		hint(status,
		     "%s takes no redirected frames: packets that leave by it are the kernel's",
		     port->link->name);
	else if (!(flags & SIXLANE_PORT_XMIT) && has_native_ingress(status, port))
		hint(status,
		     "%s takes no frames redirected from native XDP: packets from ports in native "
		     "mode that leave by it are the kernel's",
		     port->link->name);
}

static void warn_of_queues(struct status *status, const struct status_port *port)
{
	const struct ethtool_channels *channels = &port->channels;
	uint32_t cpus = loader_cpus();
	char driver[32];

	ethtool_driver(port->link->name, driver);
	if (port->prog.mode != XDP_MODE_NATIVE ||
	    !loader_driver_locks_queues(driver, channels->combined_count, cpus))
		return;
	if (channels->max_combined > cpus)
		hint(status,
		     "%s redirects in the slow, locked mode of virtio_net: of its %u queue pairs %u "
		     "must be left for the CPUs: 'sixlane detach %s', 'ethtool -L %s combined %u', "
		     "'sixlane attach %s'",
		     port->link->name, channels->max_combined, cpus, port->link->name,
		     port->link->name, channels->max_combined - cpus, port->link->name);
	else
		hint(status,
		     "%s redirects in the slow, locked mode of virtio_net: without a lock that takes "
		     "more queue pairs than the %u CPUs, and it has %u",
		     port->link->name, cpus, channels->max_combined);
}

static void warn_of_port(struct status *status, const struct status_port *port)
{
	const char *name = port->link->name, *why = status_port_passed(port);
	char advice[LOADER_LINK_ADVICE];

	if (port->error) {
		warn(status, "%s: cannot see its XDP program: %s%s", name, strerror(-port->error),
		     port->error == -EPERM ? " (that takes CAP_SYS_ADMIN)" : "");
		return;
	}
	if (port->prog.owner == LOADER_OTHER_MAPS) {
		warn(status, "%s runs sixlane with maps of its own, which nobody serves: %s", name,
		     port->link_id ? loader_link_advice(port->link_id, advice)
				   : "'sixlane attach' or sixlaned replaces it");
		return;
	}
	if (port->prog.no_arena)
		hint(status,
		     "the trie answers for %s, whose program does not read the compiled FIB's arena: "
		     "load sixlane.arena.bpf.o there%s",
		     name, status->daemon ? "" : ", or start sixlaned");
	if (port->prog.owner == LOADER_FOREIGN) {
		/* what nobody asked for may be as it should */
		(status->asked.all ? hint : warn)(status,
						  "%s runs another XDP program, \"%s\" (id %u)",
						  name, port->prog.name, port->prog.id);
		return;
	}
	if (port->prog.owner == LOADER_NO_PROG && port->port.flags & SIXLANE_PORT_WAITS) {
		if (status->daemon)
			warn(status,
			     "%s runs no XDP program: at its MTU (%u) none could be attached, as sixlaned's log says; it tries again when the MTU is lower",
			     name, port->link->mtu);
		else
			warn(status, "%s runs no XDP program: 'sixlane attach %s'", name, name);
		return;
	}
	/* what comes in by a VLAN device runs the program of the device below */
	if (port->prog.owner == LOADER_NO_PROG && !(port->port.flags & SIXLANE_PORT_TAGGED)) {
		warn(status, "%s is served but runs no XDP program", name);
		return;
	}
	if (port->prog.mode == XDP_MODE_GENERIC)
		hint(status,
		     "%s runs in GENERIC mode, in the network stack: much slower than native",
		     name);
	warn_of_queues(status, port);
	/* As long as the maps are not ready that is said once, for all ports. */
	if (!(status->meta.flags & SIXLANE_META_READY))
		return;
	if (!why)
		warn_of_egress(status, port);
	else if (port->port.flags & SIXLANE_PORT_PASS || !(port->port.flags & SIXLANE_PORT_UP))
		hint(status, "%s passes every packet to the kernel: %s", name, why);
	else
		warn(status, "%s passes every packet to the kernel: %s", name, why);
}

/* Those of which nothing else is to be said: no program runs there, and none was refused. */
static void warn_of_unserved(struct status *status)
{
	for (size_t k = 0; k < status->asked.n; k++) {
		const struct link *link =
			ports_find(&status->view->ports, status->asked.ifindexes[k]);
		bool listed = false;

		for (size_t i = 0; i < status->ports.n && link; i++)
			listed |= status->ports.at[i].link == link;
		if (link && !listed)
			warn(status, "%s runs no XDP program: 'sixlane attach %s'", link->name,
			     link->name);
	}
}

static void warn_of_missing(struct status *status)
{
	const char *name, *setting;
	const json_t *missing;
	size_t i;

	json_array_foreach(status->missing_ports, i, missing)
	{
		name = json_string_value(json_object_get(missing, "name"));
		setting = json_string_value(json_object_get(missing, "setting"));
		warn(status, "no device is named \"%s\", as sixlaned's %s has it", name, setting);
	}
}

static void warn_of_held(struct status *status)
{
	char text[2 * GUARD_REASON_LEN];

	for (size_t i = 0; i < status->held.n; i++) {
		held_text(&status->held.at[i], text, sizeof(text));
		hint(status, "%s", text);
	}
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		if (status->meta.bypassed >> cause & 1)
			hint(status, "%s is bypassed: it does not see what sixlane forwards",
			     guard_cause_names[cause]);
}

static void warn_of_refusals(struct status *status)
{
	struct loader_refusal refusal;
	char text[LOADER_ERR];

	for (size_t i = 0; i < status->view->ports.n; i++) {
		const struct link *link = &status->view->ports.links[i];

		if (!status_asked_has(&status->asked, link->ifindex) ||
		    !status_refusal_read(link->name, &status->ports, &refusal))
			continue;
		loader_refusal_text(&refusal, text);
		warn(status, "%s", text);
	}
}

static void warn_of_all(struct status *status)
{
	const struct sixlane_meta *meta = &status->meta;

	warn_of_refusals(status);
	warn_of_held(status);
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
		     "'ip -6 rule' changes just now, or holds more than %u rules: every packet is "
		     "passed to the kernel",
		     SIXLANE_MAX_RULES);
	if (meta->routes_missing)
		warn(status,
		     "%llu prefixes found no room in the maps: the kernel forwards for them",
		     (unsigned long long)meta->routes_missing);
	if (meta->exceptions_missing)
		hint(status,
		     "%llu exceptions found no room, or no next hop: the kernel gets the packets to them",
		     (unsigned long long)meta->exceptions_missing);
	if (meta->fib_failures && fib_why_not(&status->view->maps, status->daemon))
		hint(status, "the trie answers, more slowly than the compiled FIB would: %s",
		     fib_why_not(&status->view->maps, status->daemon));
	if (meta->neighbours >= SIXLANE_MAX_NEIGHBOURS - 1)
		warn(status,
		     "no room for more than %u neighbours: the kernel forwards to those that found none",
		     SIXLANE_MAX_NEIGHBOURS - 1);
	if (meta->flags & SIXLANE_META_GAPS)
		hint(status,
		     "a table lacks a prefix: where it has no route, packets that other rules would "
		     "lead on are passed to the kernel");
	warn_of_missing(status);
	for (size_t i = 0; i < status->ports.n; i++) {
		/* a slave has no IPv6 and sends nothing by itself: its bond has and does */
		if (!status_port_is_slave(&status->ports.at[i]) &&
		    status_asked_has(&status->asked, status->ports.at[i].link->ifindex))
			warn_of_port(status, &status->ports.at[i]);
	}
	warn_of_unserved(status);
}

struct occupancy {
	enum loader_map map;
	uint64_t entries;
	uint64_t max_entries;
};
#define N_OCCUPANCIES 9

static void count_ports(const struct status *status, uint64_t *ports, uint64_t *vlans)
{
	*ports = *vlans = 0;
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		const struct sixlane_port *port = &status->view->maps.ports[slot];

		*ports += port->ifindex != 0;
		*vlans += port->ifindex && port->flags & SIXLANE_PORT_TAGGED;
	}
}

static void read_occupancy(const struct status *status, struct occupancy out[N_OCCUPANCIES])
{
	const struct sixlane_meta *meta = &status->meta;
	uint64_t ports, vlans;

	count_ports(status, &ports, &vlans);
	out[0] = (struct occupancy){ LOADER_ROUTES, meta->routes,
				     meta->max_routes ?: SIXLANE_MAX_ROUTES };
	out[1] = (struct occupancy){ LOADER_SOURCES, meta->sources, SIXLANE_MAX_SOURCES };
	/* Slot 0 of the arrays is never used. */
	out[2] = (struct occupancy){ LOADER_NEXT_HOPS, meta->next_hops, SIXLANE_MAX_NEXT_HOPS - 1 };
	out[3] = (struct occupancy){ LOADER_CELLS, meta->cells, SIXLANE_MAX_CELLS };
	out[4] = (struct occupancy){ LOADER_NEIGHBOURS, meta->neighbours,
				     SIXLANE_MAX_NEIGHBOURS - 1 };
	out[5] = (struct occupancy){ LOADER_PORTS, ports, SIXLANE_MAX_PORTS - 1 };
	out[6] = (struct occupancy){ LOADER_VLANS, vlans, SIXLANE_MAX_VLANS };
	out[7] = (struct occupancy){ LOADER_RULES, meta->rules.n, SIXLANE_MAX_RULES };
	out[8] = (struct occupancy){ LOADER_EXCEPTIONS, meta->exceptions,
				     meta->max_exceptions ?: SIXLANE_MAX_EXCEPTIONS };
}

static json_t *maps_json(const struct status *status)
{
	struct occupancy maps[N_OCCUPANCIES];
	json_t *array = json_array(), *object;

	read_occupancy(status, maps);
	for (size_t i = 0; i < N_OCCUPANCIES; i++) {
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

static json_t *hash_json(const struct sixlane_meta *meta)
{
	json_t *object = json_object();

	print_set(object, "policy", json_integer(meta->hash_policy.policy));
	print_set(object, "fields", json_integer(meta->hash_policy.fields));
	return object;
}

static json_t *to_json(const struct status *status)
{
	const struct sixlane_meta *meta = &status->meta;
	json_t *object = json_object(), *ports = json_array(), *warnings = json_array();
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "generation", meta->generation },
		{ "routes", meta->routes },
		{ "next_hops", meta->next_hops },
		{ "neighbours", meta->neighbours },
		{ "routes_missing", meta->routes_missing },
		{ "overruns", meta->overruns },
		{ "malformed", meta->malformed },
		{ "synced_at", meta->synced_at },
		{ "exceptions", meta->exceptions },
		{ "exceptions_evicted", meta->exceptions_evicted },
		{ "exceptions_missing", meta->exceptions_missing },
		{ "exception_dumps", meta->exception_dumps },
		{ "hints_lost", status->hints_lost },
	};

	print_set(object, "in_sync", json_boolean(in_sync(status)));
	print_set(object, "daemon", json_boolean(status->daemon));
	print_set(object, "ready", json_boolean(meta->flags & SIXLANE_META_READY));
	print_set(object, "pass_all", json_boolean(meta->flags & SIXLANE_META_PASS_ALL));
	print_set(object, "rules", json_boolean(meta->flags & SIXLANE_META_RULES));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		print_set(object, numbers[i].key, json_integer((json_int_t)numbers[i].value));
	print_set(object, "sync_ms", json_real(sync_ms(status)));
	print_set(object, "multipath_hash", hash_json(meta));
	print_set(object, "fib", fib_json(&status->view->maps, status->daemon));
	for (size_t i = 0; i < status->ports.n; i++)
		print_append(ports, status_port_json(status->view, &status->ports.at[i]));
	print_set(object, "ports", ports);
	print_set(object, "maps", maps_json(status));
	print_set(object, "refused", json_incref(status->refused));
	print_set(object, "missing_ports", json_incref(status->missing_ports));
	print_set(object, "guard", held_json(status->view, &status->held));
	for (size_t i = 0; i < status->n_warnings; i++)
		print_append(warnings, print_string(status->warnings[i]));
	print_set(object, "warnings", warnings);
	return object;
}

static void to_text(const struct cmd_options *options, const struct status *status)
{
	const struct sixlane_meta *meta = &status->meta;
	struct occupancy maps[N_OCCUPANCIES];

	read_occupancy(status, maps);
	printf("in sync     %s\n", in_sync(status) ? "yes" : "NO");
	printf("daemon      %s\n", status->daemon ? "runs" : "DOES NOT RUN");
	printf("ready       %s\n", meta->flags & SIXLANE_META_READY ? "yes" : "NO");
	printf("generation  %llu (last synchronisation %.3f ms, overruns %llu, malformed %llu)\n",
	       (unsigned long long)meta->generation, sync_ms(status),
	       (unsigned long long)meta->overruns, (unsigned long long)meta->malformed);
	for (size_t i = 0; i < N_OCCUPANCIES; i++)
		printf("%-11s %llu of %llu\n", loader_map_name(maps[i].map) + strlen("sl_"),
		       (unsigned long long)maps[i].entries,
		       (unsigned long long)maps[i].max_entries);
	fib_status_text(options, &status->view->maps, status->daemon);
	printf("hash        policy %u, fields 0x%x\n", meta->hash_policy.policy,
	       meta->hash_policy.fields);
	if (meta->routes_missing)
		printf("missing     %llu\n", (unsigned long long)meta->routes_missing);
	if (options->statistics)
		printf("no room     %llu exceptions went for it, %llu found none, %llu hints lost\n",
		       (unsigned long long)meta->exceptions_evicted,
		       (unsigned long long)meta->exceptions_missing,
		       (unsigned long long)status->hints_lost);
	putchar('\n');
	status_ports_text(options, status->view, &status->ports);
	for (size_t i = 0; i < status->n_warnings; i++)
		printf("%swarning: %s\n", i ? "" : "\n", status->warnings[i]);
}

/* What is left of the ports is to be shown. */
static void keep_asked(struct status *status)
{
	struct status_ports *ports = &status->ports;
	size_t n = 0;

	for (size_t i = 0; i < ports->n; i++)
		if (status_asked_has(&status->asked, ports->at[i].link->ifindex))
			ports->at[n++] = ports->at[i];
	ports->n = n;
}

static int show(const struct cmd_options *options, struct status *status)
{
	int rc;

	warn_of_all(status);
	status->refused = status_refusals_json(status->view, &status->ports);
	keep_asked(status);
	if (options->json) {
		rc = print_json(options, to_json(status));
	} else {
		to_text(options, status);
		rc = print_flush();
	}
	if (!in_sync(status) || !(status->meta.flags & SIXLANE_META_READY) || status->failed)
		return rc ?: CMD_FAILED;
	return rc;
}

static int show_view(const struct cmd_options *options, struct status *status)
{
	int rc;

	status->meta = *status->view->maps.meta;
	status->daemon = loader_daemon_runs();
	status->missing_ports = status->daemon ? status_missing_ports() : json_array();
	if (maps_hints_lost(&status->view->maps, &status->hints_lost))
		status->hints_lost = 0;
	if (status_ports_read(status->view, &status->ports) ||
	    held_read(status->view, &status->held)) {
		log_error("out of memory");
		rc = CMD_FAILED;
	} else {
		rc = show(options, status);
	}
	while (status->n_warnings)
		free(status->warnings[--status->n_warnings]);
	free(status->ports.at);
	held_free(&status->held);
	json_decref(status->missing_ports);
	json_decref(status->refused);
	return rc;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct status status = { 0 };
	struct cmd_view view;
	int found, rc;

	for (int i = 0; i < argc; i++)
		if (argv[i][0] == '-')
			return cmd_usage(&cmd_status, "unknown option \"%s\"", argv[i]);
	found = status_asked_find(argc, argv, &status.asked);
	rc = cmd_view_open(&view);
	if (rc) {
		status_say_refusals();
	} else {
		status.view = &view;
		rc = show_view(options, &status);
		cmd_view_close(&view);
	}
	free(status.asked.ifindexes);
	return rc ?: found;
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "[DEV...]",
	.help = "the daemon, the maps and the ports; exit status 1 if something is to be put right",
	.run = run,
};
