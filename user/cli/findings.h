/* SPDX-License-Identifier: GPL-2.0-only */
/* The findings of checks: `sixlane doctor` shows all of them, `sixlane status` shows warnings. */
#ifndef USER_CLI_FINDINGS_H
#define USER_CLI_FINDINGS_H

#include <stdarg.h>

#include "../lib/util.h"
#include "print.h"

enum finding_severity {
	FINDING_NOTE,	 /* in order, but worth knowing */
	FINDING_WARNING, /* slower than possible */
	FINDING_ERROR,	 /* packets are wrong or lost, or none of them is fast */
	FINDING_N_SEVERITIES
};

struct finding {
	const char *check; /* a stable word */
	enum finding_severity severity;
	char *port; /* NULL: of no single port */
	char *text;
	char *advice;	   /* what to do; NULL: see usual */
	const char *usual; /* the check's advice without a special one; NULL: text says enough */
};

struct findings {
	struct finding *at;
	size_t n;
	bool lost; /* there was no memory for some of them or of their advice */
};

void findings_add(struct findings *findings, const char *check, enum finding_severity severity,
		  const char *port, const char *usual, const char *fmt, va_list ap) _printf_(6, 0);
/* Sets the advice of the last finding. */
void findings_advise(struct findings *findings, const char *fmt, va_list ap) _printf_(2, 0);
void findings_free(struct findings *findings);

size_t findings_count(const struct findings *findings, enum finding_severity severity);
bool findings_has(const struct findings *findings, const char *check);
/* By severity, errors first; otherwise the order stays. */
void findings_sort(struct findings *findings);

/* "TEXT: ADVICE", without the usual one; to be freed. NULL: out of memory. */
char *finding_warning(const struct finding *finding);

json_t *findings_json(const struct findings *findings);
/* CMD_OK, or CMD_FAILED after logging. */
int findings_text(const struct findings *findings);

#endif
