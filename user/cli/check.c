// SPDX-License-Identifier: GPL-2.0-only
/*
 * See check.h.
 */
#include "check.h"

void check_say(struct checkup *checkup, enum finding_severity severity, const char *port,
	       const char *fmt, ...)
{
	struct findings *findings = &checkup->findings;
	size_t n = findings->n;
	va_list ap;

	va_start(ap, fmt);
	findings_add(findings, checkup->running->name, severity, port, fmt, ap);
	va_end(ap);
	if (findings->n > n)
		findings->at[n].usual = checkup->running->usual;
}

void check_advise(struct checkup *checkup, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_advise(&checkup->findings, fmt, ap);
	va_end(ap);
}

void checks_run(struct checkup *checkup, const struct checks *checks)
{
	for (size_t i = 0; i < checks->n; i++) {
		checkup->running = &checks->at[i];
		checks->at[i].run(checkup);
	}
}

static void run_port(struct checkup *checkup, const struct checks *checks,
		     const struct status_port *port)
{
	for (size_t i = 0; i < checks->n; i++) {
		checkup->running = &checks->at[i];
		if (!checks->at[i].run_port(checkup, port))
			return;
	}
}

void checks_run_ports(struct checkup *checkup, const struct checks *checks)
{
	for (size_t i = 0; i < checkup->ports.n; i++) {
		const struct status_port *port = &checkup->ports.at[i];

		/* a slave has no IPv6 and sends nothing by itself: its bond has and does */
		if (!status_port_is_slave(port) &&
		    status_asked_has(&checkup->asked, port->link->ifindex))
			run_port(checkup, checks, port);
	}
}

/* Packets come in here in native mode, and may leave by another port. */
static bool is_native_ingress(const struct status_port *port)
{
	return (port->port.flags & (SIXLANE_PORT_INGRESS | SIXLANE_PORT_GENERIC)) ==
	       SIXLANE_PORT_INGRESS;
}

bool checkup_has_native_ingress(const struct checkup *checkup, const struct status_port *but)
{
	for (size_t i = 0; i < checkup->ports.n; i++)
		if (&checkup->ports.at[i] != but && is_native_ingress(&checkup->ports.at[i]))
			return true;
	return false;
}

int checkup_read(struct checkup *checkup)
{
	if (checkup->has_maps)
		checkup->meta = *checkup->view->maps.meta;
	checkup->daemon = loader_daemon_runs();
	checkup->missing_ports = checkup->daemon ? status_missing_ports() : json_array();
	return status_ports_read(checkup->view, &checkup->asked, &checkup->ports);
}

void checkup_free(struct checkup *checkup)
{
	findings_free(&checkup->findings);
	held_free(&checkup->held);
	json_decref(checkup->missing_ports);
	status_asked_free(&checkup->asked);
	free(checkup->ports.at);
}
