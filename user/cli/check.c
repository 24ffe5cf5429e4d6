// SPDX-License-Identifier: GPL-2.0-only
/* See check.h. */
#include "check.h"

#include <string.h>

void check_report(struct checkup *checkup, enum finding_severity severity, const char *port,
		  const char *fmt, ...)
{
	const struct check *check = checkup->running;
	va_list ap;

	va_start(ap, fmt);
	findings_add(&checkup->findings, check->name, severity, port, check->usual, fmt, ap);
	va_end(ap);
}

void check_advise(struct checkup *checkup, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_advise(&checkup->findings, fmt, ap);
	va_end(ap);
}

void checks_run(struct checkup *checkup, const struct check *checks)
{
	for (; checks->name; checks++) {
		checkup->running = checks;
		checks->run(checkup);
	}
}

static void run_port(struct checkup *checkup, const struct check *checks,
		     const struct status_port *port)
{
	bool more = true;

	for (; checks->name && more; checks++) {
		checkup->running = checks;
		more = checks->run_port(checkup, port);
	}
}

void checks_run_ports(struct checkup *checkup, const struct check *checks)
{
	for (size_t i = 0; i < checkup->ports.n; i++) {
		const struct status_port *port = &checkup->ports.at[i];

		/* a slave has no IPv6 of its own */
		if (!status_port_is_slave(port) &&
		    port_filter_has(&checkup->filter, port->link->ifindex))
			run_port(checkup, checks, port);
	}
}

bool checkup_has_native_ingress(const struct checkup *checkup, const struct status_port *but)
{
	const uint32_t mask = SIXLANE_PORT_INGRESS | SIXLANE_PORT_GENERIC;

	for (size_t i = 0; i < checkup->ports.n; i++) {
		const struct status_port *port = &checkup->ports.at[i];

		if (port != but && (port->port.flags & mask) == SIXLANE_PORT_INGRESS)
			return true;
	}
	return false;
}

const struct link *check_device_to_attach(const struct ports *ports, const struct link *link)
{
	const struct link *next = link;

	for (int depth = 0; next && depth < 4; depth++) {
		link = next;
		next = NULL;
		if (!strcmp(link->kind, "vlan"))
			next = ports_find(ports, link->lower);
		else if (link->master && !strcmp(link->master_kind, "bond"))
			next = ports_find(ports, link->master);
	}
	return link;
}

int checkup_read(struct checkup *checkup)
{
	if (checkup->has_maps)
		checkup->meta = *checkup->view->maps.meta;
	checkup->daemon = loader_daemon_runs();
	checkup->missing_ports = checkup->daemon ? port_filter_missing() : json_array();
	return status_ports_read(checkup->view, &checkup->filter, &checkup->ports);
}

void checkup_free(struct checkup *checkup)
{
	findings_free(&checkup->findings);
	restrictions_free(&checkup->restrictions);
	json_decref(checkup->missing_ports);
	port_filter_free(&checkup->filter);
	free(checkup->ports.at);
}
