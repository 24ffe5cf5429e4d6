// SPDX-License-Identifier: GPL-2.0-only
/* See libbpf_log.h. */
#include "libbpf_log.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/log.h"

/* The programs whose log counts; libxdp loads programs of its own. */
#define LOG_OF "prog 'sixlane"
#define LOG_OF_EXTENSION "prog 'flowtable_forwards'"
#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --\n"
#define LOG_END "-- END PROG LOAD LOG --"

static char kernel_message[256];
static char *verifier_log;

static void keep_verifier_log(const char *text)
{
	const char *begin = strstr(text, LOG_BEGIN), *end;

	if (!begin || (!strstr(text, LOG_OF) && !strstr(text, LOG_OF_EXTENSION)))
		return;
	begin += strlen(LOG_BEGIN);
	end = strstr(begin, LOG_END);
	free(verifier_log);
	verifier_log = strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

void libbpf_log_vadd(const char *library, const char *fmt, va_list ap)
{
	static const char mark[] = "Kernel error message: ";
	char *text, *words, *line, *rest = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	keep_verifier_log(text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		words = strstr(line, mark);
		if (words)
			snprintf(kernel_message, sizeof(kernel_message), "%s",
				 words + sizeof(mark) - 1);
		log_debug("%s: %s", library, line);
	}
	free(text);
}

const char *libbpf_log_kernel_message(void)
{
	return kernel_message;
}

const char *libbpf_log_verifier(void)
{
	return verifier_log;
}

static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN)
		libbpf_log_vadd("libbpf", fmt, ap);
	return 0;
}

void libbpf_log_init(void)
{
	libbpf_set_print(print);
}

void libbpf_log_reset(void)
{
	kernel_message[0] = '\0';
	free(verifier_log);
	verifier_log = NULL;
	libbpf_log_init();
}
