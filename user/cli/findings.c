// SPDX-License-Identifier: GPL-2.0-only
/* See findings.h. */
#include "findings.h"

#include <string.h>

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

void findings_add(struct findings *findings, const char *check, enum finding_severity severity,
		  const char *port, const char *usual, const char *fmt, va_list ap)
{
	struct finding *grown, added = { .check = check, .severity = severity, .usual = usual };

	grown = reallocarray(findings->at, findings->n + 1, sizeof(*grown));
	if (grown)
		findings->at = grown;
	if (vasprintf(&added.text, fmt, ap) < 0)
		added.text = NULL;
	added.port = port ? strdup(port) : NULL;
	if (grown && added.text && (!port || added.port)) {
		findings->at[findings->n++] = added;
		return;
	}
	findings->lost = true;
	free_one(&added);
}

void findings_advise(struct findings *findings, const char *fmt, va_list ap)
{
	char *advice;

	if (findings->lost || !findings->n)
		return;
	if (vasprintf(&advice, fmt, ap) < 0) {
		findings->lost = true;
		return;
	}
	free(findings->at[findings->n - 1].advice);
	findings->at[findings->n - 1].advice = advice;
}

void findings_free(struct findings *findings)
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
