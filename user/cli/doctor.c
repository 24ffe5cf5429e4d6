// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane doctor: why packets of these ports are not forwarded fast, or not correctly, and what to
 * do about each reason, before and after attaching. Runs tables of checks; changes nothing.
 */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "doctor.h"

static void set_features(void *ctx, uint32_t ifindex, uint64_t features)
{
	struct status_ports *ports = ctx;

	for (size_t i = 0; i < ports->n; i++) {
		if (ports->at[i].link->ifindex != ifindex)
			continue;
		ports->at[i].has_features = true;
		ports->at[i].xdp_features = features;
	}
}

/* If a daemon serves all ports, the maps contain the restrictions; else they are predicted. */
static int read_restrictions(struct checkup *checkup)
{
	const struct link **links = calloc(checkup->ports.n + 1, sizeof(*links));
	bool served = checkup->has_maps && checkup->daemon;
	size_t n = 0;
	int rc;

	if (!links)
		return -ENOMEM;
	for (size_t i = 0; i < checkup->ports.n; i++) {
		const struct status_port *port = &checkup->ports.at[i];

		if (!port_filter_has(&checkup->filter, port->link->ifindex))
			continue;
		links[n++] = port->link;
		served &= !!(port->port.flags & SIXLANE_PORT_INGRESS);
	}
	rc = served ? restrictions_read(checkup->view, &checkup->restrictions)
		    : restrictions_predict(checkup->view, links, n, &checkup->restrictions);
	free(links);
	return rc;
}

static int run_checks(struct checkup *checkup)
{
	int rc = checkup_read(checkup);

	if (rc)
		return rc;
	/* old kernels do not report features */
	(void)nl_features_each(set_features, &checkup->ports);
	rc = read_restrictions(checkup);
	if (rc)
		return rc;
	checks_run(checkup, doctor_machine);
	checks_run(checkup, checks_of_maps);
	checks_run_ports(checkup, checks_of_programs);
	checks_run_ports(checkup, doctor_devices);
	checks_run_ports(checkup, doctor_queues);
	checks_run_ports(checkup, doctor_bonds);
	checks_run(checkup, doctor_traffic);
	checks_run(checkup,
		   checkup->has_maps && checkup->daemon ? doctor_routes : doctor_kernel_routes);
	return checkup->findings.lost ? -ENOMEM : 0;
}

static int show(const struct cmd_options *options, struct findings *findings)
{
	int rc;

	findings_sort(findings);
	rc = options->json ? print_json(options, findings_json(findings)) : findings_text(findings);
	return rc ?: findings_count(findings, FINDING_ERROR) ? CMD_FAILED : CMD_OK;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct gateways gateways = { 0 };
	struct cmd_view view;
	struct checkup checkup = { .options = options, .view = &view, .gateways = &gateways };
	int rc;

	if (cmd_refuse_options(&cmd_doctor, argc, argv))
		return CMD_USAGE;
	if (port_filter_parse(argc, argv, &checkup.filter))
		return cmd_no_memory();
	rc = cmd_view_open_partly(&view, &checkup.has_maps) ?: run_checks(&checkup);
	if (rc)
		log_error("cannot check everything: %s", strerror(-rc));
	rc = rc ? CMD_FAILED : show(options, &checkup.findings);
	checkup_free(&checkup);
	cmd_view_close(&view);
	return rc;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.args = "[PORT...]",
	.help = "find what slows or breaks forwarding, and what to do; exit status 1 if there is an error",
	.run = run,
};
