// SPDX-License-Identifier: GPL-2.0-only
/* See error.h. */
#include "error.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xdp/libxdp.h> /* its error numbers include those of libbpf */

#include "../lib/util.h"
#include "libbpf_log.h"

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
