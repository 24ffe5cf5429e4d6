// SPDX-License-Identifier: GPL-2.0-only
/* See kernel.h. */
#include "kernel.h"

#include <limits.h>
#include <sys/utsname.h>

#include "util.h"

bool kernel_before(unsigned int major, unsigned int minor)
{
	unsigned int here_major, here_minor;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &here_major, &here_minor) != 2)
		return true;
	return here_major < major || (here_major == major && here_minor < minor);
}

uint32_t kernel_sysctl(const char *name, uint32_t otherwise)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX];
	unsigned int value;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	file = fopen(path, "re");
	return file && fscanf(file, "%u", &value) == 1 ? value : otherwise;
}
