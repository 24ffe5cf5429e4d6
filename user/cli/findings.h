/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What checks find, in a list: for `sixlane doctor`, which shows it whole, and `sixlane status`,
 * which shows it as warnings. Knows no check.
 */
#ifndef USER_CLI_FINDINGS_H
#define USER_CLI_FINDINGS_H

#include <stdarg.h>

#include "../lib/util.h"
#include "print.h"

enum finding_severity {
	FINDING_NOTE,	/* as it should be, but worth knowing */
	FINDING_SHOULD, /* slower than possible */
	FINDING_MUST,	/* packets are wrong or lost, or none of them is fast */
	FINDING_N_SEVERITIES
};

struct finding {
	const char *check; /* a word that never changes */
	enum finding_severity severity;
	char *port; /* NULL: not of one port */
	char *text;
	char *advice;	   /* what to do; NULL: text says it, or usual does */
	const char *usual; /* what to do about all that the check finds; NULL: nothing */
};

struct findings {
	struct finding *at;
	size_t n;
	bool lost;   /* some found no memory */
	bool refuse; /* the last one did */
};

void findings_add(struct findings *findings, const char *check, enum finding_severity severity,
		  const char *port, const char *fmt, va_list ap) _printf_(5, 0);
/* What to do about the last one. */
void findings_advise(struct findings *findings, const char *fmt, va_list ap) _printf_(2, 0);
void findings_free(struct findings *findings);

size_t findings_count(const struct findings *findings, enum finding_severity severity);
bool findings_has(const struct findings *findings, const char *check);
/* The gravest first, else in the order in which they were found. */
void findings_sort(struct findings *findings);

/* "TEXT: ADVICE", without what is usual; to be freed. NULL: out of memory. */
char *finding_warning(const struct finding *finding);

json_t *findings_json(const struct findings *findings);
void findings_text(const struct findings *findings);

#endif
