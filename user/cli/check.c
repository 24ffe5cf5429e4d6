// SPDX-License-Identifier: GPL-2.0-only
/* See check.h. */
#include "check.h"

#include <string.h>

/* --- findings ----------------------------------------------------------------------------- */

static const char *const severity_names[FINDING_N_SEVERITIES] = {
	[FINDING_NOTE] = "note",
	[FINDING_WARNING] = "warning",
	[FINDING_ERROR] = "error",
};

static void free_one(struct finding *finding)
{
	free(finding->port);
	free(finding->text);
	free(finding->advice);
}

void check_report(struct checkup *checkup, enum finding_severity severity, const char *port,
		  const char *fmt, ...)
{
	const struct check *check = checkup->running;
	struct findings *findings = &checkup->findings;
	struct finding *grown,
		added = { .check = check->name, .severity = severity, .usual = check->usual };
	va_list ap;

	grown = reallocarray(findings->at, findings->n + 1, sizeof(*grown));
	if (grown)
		findings->at = grown;
	va_start(ap, fmt);
	if (vasprintf(&added.text, fmt, ap) < 0)
		added.text = NULL;
	va_end(ap);
	added.port = port ? strdup(port) : NULL;
	if (grown && added.text && (!port || added.port)) {
		findings->at[findings->n++] = added;
		return;
	}
	findings->lost = true;
	free_one(&added);
}

void check_advise(struct checkup *checkup, const char *fmt, ...)
{
	struct findings *findings = &checkup->findings;
	char *advice = NULL;
	va_list ap;

	if (findings->lost || !findings->n)
		return;
	va_start(ap, fmt);
	findings->lost = vasprintf(&advice, fmt, ap) < 0;
	va_end(ap);
	if (findings->lost)
		return;
	free(findings->at[findings->n - 1].advice);
	findings->at[findings->n - 1].advice = advice;
}

static void free_findings(struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		free_one(&findings->at[i]);
	free(findings->at);
	*findings = (struct findings){ 0 };
}

size_t findings_count(const struct findings *findings, enum finding_severity severity)
{
	size_t n = 0;

	for (size_t i = 0; i < findings->n; i++)
		n += findings->at[i].severity == severity;
	return n;
}

bool findings_has(const struct findings *findings, const char *check)
{
	for (size_t i = 0; i < findings->n; i++)
		if (!strcmp(findings->at[i].check, check))
			return true;
	return false;
}

void findings_sort(struct findings *findings)
{
	for (size_t i = 1; i < findings->n; i++) {
		struct finding moved = findings->at[i];
		size_t at = i;

		for (; at && findings->at[at - 1].severity < moved.severity; at--)
			findings->at[at] = findings->at[at - 1];
		findings->at[at] = moved;
	}
}

static const char *advice_of(const struct finding *finding)
{
	return finding->advice ? finding->advice : finding->usual;
}

char *finding_warning(const struct finding *finding)
{
	char *warning;
	int n = finding->advice ? asprintf(&warning, "%s: %s", finding->text, finding->advice)
				: asprintf(&warning, "%s", finding->text);

	return n < 0 ? NULL : warning;
}

json_t *findings_json(const struct findings *findings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *finding = &findings->at[i];
		json_t *object = json_object();

		print_set(object, "check", finding->check);
		print_set(object, "severity", severity_names[finding->severity]);
		print_set(object, "port", finding->port);
		print_set(object, "text", finding->text);
		print_set(object, "advice", advice_of(finding));
		print_append(array, object);
	}
	return array;
}

int findings_text(const struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *finding = &findings->at[i];

		printf("%-7s %s\n", severity_names[finding->severity], finding->text);
		if (advice_of(finding))
			printf("        -> %s\n", advice_of(finding));
	}
	printf("%s%zu errors, %zu warnings, %zu notes\n", findings->n ? "\n" : "",
	       findings_count(findings, FINDING_ERROR), findings_count(findings, FINDING_WARNING),
	       findings_count(findings, FINDING_NOTE));
	return print_flush();
}

/* --- checks ------------------------------------------------------------------------------- */

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
	free_findings(&checkup->findings);
	restrictions_free(&checkup->restrictions);
	json_decref(checkup->missing_ports);
	port_filter_free(&checkup->filter);
	free(checkup->ports.at);
}
