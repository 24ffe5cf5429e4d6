/* SPDX-License-Identifier: GPL-2.0-only */
/* The reason why the kernel's verifier refused a program, from its log. */
#ifndef USER_LOADER_VERIFIER_LOG_H
#define USER_LOADER_VERIFIER_LOG_H

#include <stdbool.h>
#include <string.h>

#include "../lib/util.h"

/* The log ends with statistics. */
static inline bool verifier_log_is_statistics(const char *line)
{
	static const char *const begins[] = { "processed ", "verification time ", "stack depth ",
					      "subprog " /* since Linux 7.3 */ };

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(line, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Its last line before the statistics, into size bytes. False, and "": there is none. */
static inline bool verifier_log_reason(const char *log, char *out, size_t size)
{
	const char *line = log, *end;

	*out = '\0';
	for (; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (end != line && !verifier_log_is_statistics(line))
			snprintf(out, size, "%.*s", (int)(end - line), line);
	}
	return *out;
}

#endif
