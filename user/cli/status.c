// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane status: whether the maps are in step with the kernel, which ports run what, and
 * everything about them that an operator should know but might not ask.
 */
#include <string.h>

#include "../lib/log.h"
#include "check.h"
#include "fib.h"

struct status {
	struct checkup checkup;
	struct cmd_view *view; /* … of checkup, as are the next two */
	struct sixlane_meta meta;
	bool daemon;
	uint64_t icmp_events_lost;
	json_t *refused;
};

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
	out[3] = (struct occupancy){ LOADER_BUCKETS, meta->buckets, SIXLANE_MAX_NH_BUCKETS };
	out[4] = (struct occupancy){ LOADER_NEIGHBOURS, meta->neighbours,
				     SIXLANE_MAX_NEIGHBOURS - 1 };
	out[5] = (struct occupancy){ LOADER_PORTS, ports, SIXLANE_MAX_PORTS - 1 };
	out[6] = (struct occupancy){ LOADER_VLANS, vlans, SIXLANE_MAX_VLANS };
	out[7] = (struct occupancy){ LOADER_RULES, meta->rules.n, SIXLANE_MAX_RULES };
	out[8] = (struct occupancy){ LOADER_EXCEPTIONS, meta->exceptions, SIXLANE_MAX_EXCEPTIONS };
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

static json_t *parity_json(const struct sixlane_meta *meta)
{
	json_t *object = json_object();

	print_set(object, "checked", json_integer((json_int_t)meta->parity_checked));
	print_set(object, "differed", json_integer((json_int_t)meta->parity_differed));
	return object;
}

static json_t *auto_punt_json(const struct sixlane_meta *meta)
{
	json_t *object = json_object();

	print_set(object, "prefixes", json_integer((json_int_t)meta->parity_punted));
	print_set(object, "total", json_integer((json_int_t)meta->parity_punts));
	return object;
}

static void parity_text(const struct sixlane_meta *meta)
{
	printf("continuous parity check  %llu packets, %llu differed\n",
	       (unsigned long long)meta->parity_checked, (unsigned long long)meta->parity_differed);
	printf("auto-punt on mismatch    %llu prefixes, %llu since sixlaned started\n",
	       (unsigned long long)meta->parity_punted, (unsigned long long)meta->parity_punts);
}

static json_t *warnings_json(const struct findings *findings)
{
	json_t *warnings = json_array();

	for (size_t i = 0; i < findings->n; i++) {
		_cleanup_free_ char *warning = finding_warning(&findings->at[i]);

		print_append(warnings, warning ? print_string(warning) : NULL);
	}
	return warnings;
}

static json_t *to_json(const struct status *status)
{
	const struct checkup *checkup = &status->checkup;
	const struct sixlane_meta *meta = &status->meta;
	json_t *object = json_object(), *ports = json_array();
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "generation", meta->generation },
		{ "routes", meta->routes },
		{ "next_hops", meta->next_hops },
		{ "neighbours", meta->neighbours },
		{ "routes_overflow", meta->routes_missing },
		{ "overruns", meta->overruns },
		{ "malformed", meta->malformed },
		{ "synced_at", meta->synced_at },
		{ "exceptions", meta->exceptions },
		{ "exceptions_overflow", meta->exceptions_overflow },
		{ "exception_passes", meta->exception_passes },
		{ "punted", meta->punted },
		{ "icmp_events_lost", status->icmp_events_lost },
	};

	print_set(object, "in_sync", json_boolean(in_sync(status)));
	print_set(object, "daemon", json_boolean(status->daemon));
	print_set(object, "ready", json_boolean(meta->flags & SIXLANE_META_READY));
	print_set(object, "pass_all", json_boolean(meta->flags & SIXLANE_META_PASS_ALL));
	print_set(object, "rules", json_boolean(meta->flags & SIXLANE_META_RULES));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		print_set(object, numbers[i].key, json_integer((json_int_t)numbers[i].value));
	print_set(object, "sync_ms", json_real(sync_ms(status)));
	print_set(object, "audit", status_audit_json(meta));
	print_set(object, "parity_check", parity_json(meta));
	print_set(object, "auto_punt", auto_punt_json(meta));
	print_set(object, "multipath_hash", hash_json(meta));
	print_set(object, "fib", fib_json(&status->view->maps, status->daemon));
	for (size_t i = 0; i < checkup->ports.n; i++)
		print_append(ports, status_port_json(status->view, &checkup->ports.at[i]));
	print_set(object, "ports", ports);
	print_set(object, "maps", maps_json(status));
	print_set(object, "refused", json_incref(status->refused));
	print_set(object, "missing_ports", json_incref(checkup->missing_ports));
	print_set(object, "guard", held_json(status->view, &checkup->held));
	print_set(object, "warnings", warnings_json(&checkup->findings));
	return object;
}

static void to_text(const struct cmd_options *options, const struct status *status)
{
	const struct findings *findings = &status->checkup.findings;
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
	status_audit_text(options, meta);
	fib_status_text(options, &status->view->maps, status->daemon);
	printf("hash        policy %u, fields 0x%x\n", meta->hash_policy.policy,
	       meta->hash_policy.fields);
	parity_text(meta);
	if (meta->routes_missing)
		printf("overflow    %llu prefixes\n", (unsigned long long)meta->routes_missing);
	if (options->statistics)
		printf("exceptions  %llu punted, %llu overflowed, %llu ICMP events lost\n",
		       (unsigned long long)meta->punted,
		       (unsigned long long)meta->exceptions_overflow,
		       (unsigned long long)status->icmp_events_lost);
	putchar('\n');
	status_ports_text(options, status->view, &status->checkup.ports);
	for (size_t i = 0; i < findings->n; i++) {
		_cleanup_free_ char *warning = finding_warning(&findings->at[i]);

		printf("%swarning: %s\n", i ? "" : "\n", warning ? warning : "out of memory");
	}
}

/* What is left of the ports is to be shown. */
static void keep_asked(struct checkup *checkup)
{
	struct status_ports *ports = &checkup->ports;
	size_t n = 0;

	for (size_t i = 0; i < ports->n; i++)
		if (status_asked_has(&checkup->asked, ports->at[i].link->ifindex))
			ports->at[n++] = ports->at[i];
	ports->n = n;
}

static int show(const struct cmd_options *options, struct status *status)
{
	struct checkup *checkup = &status->checkup;
	int rc;

	checks_run(checkup, &checks_of_maps);
	checks_run_ports(checkup, &checks_of_programs);
	status->refused = status_refusals_json(status->view, &checkup->ports);
	keep_asked(checkup);
	if (options->json) {
		rc = print_json(options, to_json(status));
	} else {
		to_text(options, status);
		rc = print_flush();
	}
	if (!in_sync(status) || !(status->meta.flags & SIXLANE_META_READY) ||
	    findings_count(&checkup->findings, FINDING_MUST) || checkup->findings.lost)
		return rc ?: CMD_FAILED;
	return rc;
}

static int show_view(const struct cmd_options *options, struct status *status)
{
	struct checkup *checkup = &status->checkup;
	int rc;

	checkup->has_maps = true;
	if (checkup_read(checkup) || held_read(status->view, &checkup->held)) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	status->meta = checkup->meta;
	status->daemon = checkup->daemon;
	if (maps_icmp_events_lost(&status->view->maps, &status->icmp_events_lost))
		status->icmp_events_lost = 0;
	rc = show(options, status);
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
	if (status_asked_find(argc, argv, &status.checkup.asked)) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	found = status_say_absent(&status.checkup.asked);
	rc = cmd_view_open(&view);
	if (rc) {
		status_say_refusals();
	} else {
		status.view = status.checkup.view = &view;
		rc = show_view(options, &status);
		cmd_view_close(&view);
	}
	checkup_free(&status.checkup);
	return rc ?: found;
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "[DEV...]",
	.help = "show the daemon, the maps and the ports; exit status 1 if there is an error",
	.run = run,
};
