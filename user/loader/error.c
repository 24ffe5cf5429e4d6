// SPDX-License-Identifier: GPL-2.0-only
/* See error.h. */
#include "error.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <xdp/libxdp.h> /* its error numbers include those of libbpf */

#include "../lib/log.h"

/* --- what the libraries print ------------------------------------------------------------- */

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

/* --- messages ----------------------------------------------------------------------------- */

int loader_fail(char *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err, LOADER_ERR, fmt, ap);
		va_end(ap);
	}
	return rc;
}

bool loader_has_cap(unsigned int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &header, data) ||
	       (data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap));
}

void loader_missing_caps(char *buf, size_t size)
{
	static const struct {
		unsigned int cap;
		const char *name;
	} needed[] = {
		{ CAP_BPF, "CAP_BPF" },
		{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		{ CAP_PERFMON, "CAP_PERFMON" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	};
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(needed) && used < size; i++)
		if (!loader_has_cap(needed[i].cap))
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 needed[i].name);
}

int loader_fail_errno(char *err, int rc, const char *fmt, ...)
{
	char what[LOADER_ERR / 2], reason[128], caps[96] = "";
	const char *message = libbpf_log_kernel_message();
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	libxdp_strerror(rc, reason, sizeof(reason));
	if (rc == -EPERM || rc == -EACCES)
		loader_missing_caps(caps, sizeof(caps));
	return loader_fail(
		err, rc, "%s: %s%s%s%s%s%s", what, reason, *message ? ": " : "", message,
		*caps ? "; run as root, this process lacks " : "", caps,
		rc == -EPERM && !*caps
			? " although no capability is missing (user namespace, lockdown or seccomp?)"
			: "");
}
