// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane doctor: why packets of these ports would not be fast, or not be right, and what to do
 * about each reason, before and after attaching. Runs tables of checks; changes nothing.
 */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_features.h"
#include "doctor.h"

/* Without maps the devices alone. 0 or -errno. */
static int open_view(struct cmd_view *view, bool *has_maps)
{
	int rc;

	*view = (struct cmd_view){ 0 };
	*has_maps = !loader_open_maps(&view->fds, true, NULL);
	if (*has_maps && maps_open(&view->maps, &view->fds, false)) {
		loader_close_maps(&view->fds);
		*has_maps = false;
	}
	if (!*has_maps) {
		view->maps = (struct maps){ 0 };
		for (int i = 0; i < LOADER_N_MAPS; i++)
			view->fds.fd[i] = view->maps.fd[i] = -1;
	}
	rc = ports_read(&view->ports);
	if (rc)
		log_error("cannot read the network devices: %s", strerror(-rc));
	return rc;
}

static void close_view(struct cmd_view *view, bool has_maps)
{
	ports_free(&view->ports);
	if (has_maps)
		maps_close(&view->maps);
	loader_close_maps(&view->fds);
}

static void take_features(void *ctx, uint32_t ifindex, uint64_t features)
{
	struct status_ports *ports = ctx;

	for (size_t i = 0; i < ports->n; i++) {
		if (ports->at[i].link->ifindex != ifindex)
			continue;
		ports->at[i].has_features = true;
		ports->at[i].xdp_features = features;
	}
}

/*
 * Of ports that a daemon serves the maps say what is held back, of others what the guard says
 * by itself.
 */
static int read_held(struct checkup *checkup)
{
	const struct link **links = calloc(checkup->ports.n + 1, sizeof(*links));
	bool served = checkup->has_maps && checkup->daemon;
	size_t n = 0;
	int rc;

	if (!links)
		return -ENOMEM;
	for (size_t i = 0; i < checkup->ports.n; i++) {
		const struct status_port *port = &checkup->ports.at[i];

		if (!status_asked_has(&checkup->asked, port->link->ifindex))
			continue;
		links[n++] = port->link;
		served &= !!(port->port.flags & SIXLANE_PORT_INGRESS);
	}
	rc = served ? held_read(checkup->view, &checkup->held)
		    : held_foresee(checkup->view, links, n, &checkup->held);
	free(links);
	return rc;
}

static int examine(struct checkup *checkup)
{
	int rc = checkup_read(checkup);

	if (rc)
		return rc;
	/* a kernel that does not tell is no finding */
	(void)nl_features_each(take_features, &checkup->ports);
	rc = read_held(checkup);
	if (rc)
		return rc;
	checks_run(checkup, &doctor_machine);
	checks_run(checkup, &checks_of_maps);
	checks_run_ports(checkup, &checks_of_programs);
	checks_run_ports(checkup, &doctor_devices);
	checks_run_ports(checkup, &doctor_queues);
	checks_run_ports(checkup, &doctor_bonds);
	checks_run(checkup, &doctor_traffic);
	checks_run(checkup,
		   checkup->has_maps && checkup->daemon ? &doctor_routes : &doctor_kernel_routes);
	return checkup->findings.lost ? -ENOMEM : 0;
}

static int show(const struct cmd_options *options, struct checkup *checkup)
{
	struct findings *findings = &checkup->findings;
	int rc;

	findings_sort(findings);
	if (options->json) {
		rc = print_json(options, findings_json(findings));
	} else {
		findings_text(findings);
		rc = print_flush();
	}
	return rc ?: findings_count(findings, FINDING_MUST) ? CMD_FAILED : CMD_OK;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct doctor_gateways gateways = { 0 };
	struct checkup checkup = { .options = options, .gateways = &gateways };
	struct cmd_view view;
	int rc;

	for (int i = 0; i < argc; i++)
		if (argv[i][0] == '-')
			return cmd_usage(&cmd_doctor, "unknown option \"%s\"", argv[i]);
	rc = status_asked_find(argc, argv, &checkup.asked);
	if (!rc) {
		checkup.view = &view;
		rc = open_view(&view, &checkup.has_maps);
	}
	rc = rc ?: examine(&checkup);
	if (rc)
		log_error("cannot check everything: %s", strerror(-rc));
	rc = rc ? CMD_FAILED : show(options, &checkup);
	checkup_free(&checkup);
	if (checkup.view)
		close_view(&view, checkup.has_maps);
	return rc;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.args = "[PORT...]",
	.help = "find what slows or breaks forwarding, and what to do; exit status 1 if there is an error",
	.run = run,
};
