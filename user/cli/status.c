// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane status: whether the maps are in sync with the kernel, what runs on the ports, and
 * warnings that an operator should see without asking.
 */
#include <string.h>

#include "../rib/rib.h"
#include "check.h"
#include "fib.h"

struct occupancy {
	enum loader_map map;
	unsigned long long entries, max_entries;
};
#define N_OCCUPANCIES 9

static void read_occupancy(const struct maps *maps, struct occupancy out[N_OCCUPANCIES])
{
	const struct sixlane_meta *meta = maps->meta;
	unsigned int ports = 0, vlans = 0;

	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		ports += maps->ports[slot].ifindex != 0;
		vlans += maps->ports[slot].ifindex && maps->ports[slot].flags & SIXLANE_PORT_TAGGED;
	}
	/* slot 0 of the arrays is never used */
	memcpy(out,
	       (struct occupancy[N_OCCUPANCIES]){
		       { LOADER_ROUTES, meta->routes, meta->max_routes ?: SIXLANE_MAX_ROUTES },
		       { LOADER_SOURCES, meta->sources, SIXLANE_MAX_SOURCES },
		       { LOADER_NEXT_HOPS, meta->next_hops, SIXLANE_MAX_NEXT_HOPS - 1 },
		       { LOADER_NH_BUCKETS, meta->buckets, SIXLANE_MAX_NH_BUCKETS },
		       { LOADER_NEIGHBOURS, meta->neighbours, SIXLANE_MAX_NEIGHBOURS - 1 },
		       { LOADER_PORTS, ports, SIXLANE_MAX_PORTS - 1 },
		       { LOADER_VLANS, vlans, SIXLANE_MAX_VLANS },
		       { LOADER_RULES, meta->rules.n, SIXLANE_MAX_RULES },
		       { LOADER_EXCEPTIONS, meta->exceptions, SIXLANE_MAX_EXCEPTIONS },
	       },
	       N_OCCUPANCIES * sizeof(*out));
}

/* ICMP events that XDP could not report. */
static unsigned long long lost_events(const struct maps *maps)
{
	uint64_t lost;

	return maps_icmp_events_lost(maps, &lost) ? 0 : lost;
}

static bool in_sync(const struct checkup *checkup)
{
	return checkup->daemon && checkup->meta.flags & SIXLANE_META_IN_SYNC;
}

/* --- JSON -------------------------------------------------------------------------------- */

static json_t *maps_json(const struct maps *maps)
{
	struct occupancy occupancies[N_OCCUPANCIES];
	json_t *array = json_array(), *object;

	read_occupancy(maps, occupancies);
	for (size_t i = 0; i < N_OCCUPANCIES; i++) {
		object = json_object();
		print_set(object, "name", loader_map_name(occupancies[i].map));
		print_set(object, "entries", occupancies[i].entries);
		print_set(object, "max_entries", occupancies[i].max_entries);
		print_append(array, object);
	}
	return array;
}

/* The kinds before are no differences. */
#define FIRST_DIFFERENCE (RIB_RENEWED + 1)

static json_t *audit_json(const struct sixlane_meta *meta)
{
	json_t *object = json_object(), *corrected = json_object();

	for (size_t i = FIRST_DIFFERENCE; i < RIB_N_DIFFERENCES; i++)
		print_set(corrected, rib_difference_names[i], meta->audit_corrected[i]);
	print_set(object, "kernel_reader", json_boolean(meta->audit_reader));
	print_set(object, "passes", meta->audit_passes);
	print_set(object, "pass_ms", print_ms(meta->audit_pass_ns));
	print_set(object, "corrected", corrected);
	return object;
}

/* The keys that are objects of numbers. */
static void details_json(const struct sixlane_meta *meta, json_t *object)
{
	json_t *parity = json_object(), *punt = json_object(), *hash = json_object();

	print_set(parity, "checked", meta->parity_checked);
	print_set(parity, "differed", meta->parity_differed);
	print_set(punt, "prefixes", meta->parity_punted);
	print_set(punt, "total", meta->parity_punts);
	print_set(hash, "policy", meta->hash_policy.policy);
	print_set(hash, "fields", meta->hash_policy.fields);
	print_set(object, "audit", audit_json(meta));
	print_set(object, "parity_check", parity);
	print_set(object, "auto_punt", punt);
	print_set(object, "multipath_hash", hash);
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

static json_t *to_json(const struct checkup *checkup, json_t *refused)
{
	const struct sixlane_meta *meta = &checkup->meta;
	const struct cmd_view *view = checkup->view;
	json_t *object = json_object(), *ports = json_array();

	print_set(object, "in_sync", in_sync(checkup));
	print_set(object, "daemon", checkup->daemon);
	print_set(object, "ready", json_boolean(meta->flags & SIXLANE_META_READY));
	print_set(object, "pass_all", json_boolean(meta->flags & SIXLANE_META_PASS_ALL));
	print_set(object, "rules", json_boolean(meta->flags & SIXLANE_META_RULES));
	print_set(object, "generation", meta->generation);
	print_set(object, "routes", meta->routes);
	print_set(object, "next_hops", meta->next_hops);
	print_set(object, "neighbours", meta->neighbours);
	print_set(object, "routes_overflow", meta->routes_missing);
	print_set(object, "overruns", meta->overruns);
	print_set(object, "malformed", meta->malformed);
	print_set(object, "synced_at", meta->synced_at);
	print_set(object, "exceptions", meta->exceptions);
	print_set(object, "exceptions_overflow", meta->exceptions_overflow);
	print_set(object, "exception_passes", meta->exception_passes);
	print_set(object, "punted", meta->punted);
	print_set(object, "icmp_events_lost", lost_events(&view->maps));
	print_set(object, "sync_ms", print_ms(meta->sync_ns));
	details_json(meta, object);
	print_set(object, "fib", fib_json(&view->maps, checkup->daemon));
	for (size_t i = 0; i < checkup->ports.n; i++)
		print_append(ports, status_port_json(view, &checkup->ports.at[i]));
	print_set(object, "ports", ports);
	print_set(object, "maps", maps_json(&view->maps));
	print_set(object, "refused", refused);
	print_set(object, "missing_ports", json_incref(checkup->missing_ports));
	print_set(object, "guard", restrictions_json(view, &checkup->restrictions));
	print_set(object, "warnings", warnings_json(&checkup->findings));
	return object;
}

/* --- text -------------------------------------------------------------------------------- */

static void audit_text(const struct cmd_options *options, const struct sixlane_meta *meta)
{
	if (meta->audit_reader)
		printf("audit       %llu passes, the last one in %.3f ms\n", meta->audit_passes,
		       print_ms(meta->audit_pass_ns));
	else
		printf("audit       by dumps: the kernel's own tables CANNOT BE READ\n");
	if (!options->statistics)
		return;
	printf("corrected   ");
	for (size_t i = FIRST_DIFFERENCE; i < RIB_N_DIFFERENCES; i++)
		printf("%llu %s%s", meta->audit_corrected[i], rib_difference_names[i],
		       i + 1 < RIB_N_DIFFERENCES ? ", " : "\n");
}

static void maps_text(const struct maps *maps)
{
	struct occupancy occupancies[N_OCCUPANCIES];

	read_occupancy(maps, occupancies);
	for (size_t i = 0; i < N_OCCUPANCIES; i++)
		printf("%-11s %llu of %llu\n", loader_map_name(occupancies[i].map) + strlen("sl_"),
		       occupancies[i].entries, occupancies[i].max_entries);
}

static int to_text(const struct cmd_options *options, const struct checkup *checkup)
{
	const struct findings *findings = &checkup->findings;
	const struct sixlane_meta *meta = &checkup->meta;
	const struct cmd_view *view = checkup->view;

	printf("in sync     %s\n", in_sync(checkup) ? "yes" : "NO");
	printf("daemon      %s\n", checkup->daemon ? "runs" : "DOES NOT RUN");
	printf("ready       %s\n", meta->flags & SIXLANE_META_READY ? "yes" : "NO");
	printf("generation  %llu (last synchronisation %.3f ms, overruns %llu, malformed %llu)\n",
	       meta->generation, print_ms(meta->sync_ns), meta->overruns, meta->malformed);
	maps_text(&view->maps);
	audit_text(options, meta);
	fib_status_text(options, &view->maps, checkup->daemon);
	printf("hash        policy %u, fields 0x%x\n", meta->hash_policy.policy,
	       meta->hash_policy.fields);
	printf("continuous parity check  %llu packets, %llu differed\n", meta->parity_checked,
	       meta->parity_differed);
	printf("auto-punt on mismatch    %llu prefixes, %llu since sixlaned started\n",
	       meta->parity_punted, meta->parity_punts);
	if (meta->routes_missing)
		printf("overflow    %llu prefixes\n", meta->routes_missing);
	if (options->statistics)
		printf("exceptions  %llu punted, %llu overflowed, %llu ICMP events lost\n",
		       meta->punted, meta->exceptions_overflow, lost_events(&view->maps));
	putchar('\n');
	status_ports_text(options, view, &checkup->ports);
	for (size_t i = 0; i < findings->n; i++) {
		_cleanup_free_ char *warning = finding_warning(&findings->at[i]);

		printf("%swarning: %s\n", i ? "" : "\n", warning ? warning : "out of memory");
	}
	return print_flush();
}

/* --- the command ------------------------------------------------------------------------- */

/* Removes the ports outside the filter. */
static void filter_ports(struct checkup *checkup)
{
	struct status_ports *ports = &checkup->ports;
	size_t n = 0;

	for (size_t i = 0; i < ports->n; i++)
		if (port_filter_has(&checkup->filter, ports->at[i].link->ifindex))
			ports->at[n++] = ports->at[i];
	ports->n = n;
}

static int show(const struct cmd_options *options, struct checkup *checkup)
{
	json_t *refused;
	int rc;

	checkup->has_maps = true;
	if (checkup_read(checkup) || restrictions_read(checkup->view, &checkup->restrictions))
		return cmd_no_memory();
	checks_run(checkup, checks_of_maps);
	checks_run_ports(checkup, checks_of_programs);
	refused = refusals_json(checkup->view, &checkup->ports); /* of all ports */
	filter_ports(checkup);
	rc = options->json ? print_json(options, to_json(checkup, json_incref(refused)))
			   : to_text(options, checkup);
	json_decref(refused);
	if (!in_sync(checkup) || !(checkup->meta.flags & SIXLANE_META_READY) ||
	    findings_count(&checkup->findings, FINDING_ERROR) || checkup->findings.lost)
		return rc ?: CMD_FAILED;
	return rc;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct cmd_view view;
	struct checkup checkup = { .options = options, .view = &view };
	int found, rc;

	if (cmd_refuse_options(&cmd_status, argc, argv))
		return CMD_USAGE;
	if (port_filter_parse(argc, argv, &checkup.filter))
		return cmd_no_memory();
	found = port_filter_log_absent(&checkup.filter);
	rc = cmd_view_open(&view, false);
	if (rc)
		refusals_log();
	else
		rc = show(options, &checkup);
	checkup_free(&checkup);
	cmd_view_close(&view);
	return rc ?: found;
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "[DEV...]",
	.help = "show the daemon, the maps and the ports; exit status 1 if there is an error",
	.run = run,
};
