// SPDX-License-Identifier: GPL-2.0-only
/* See memory.h. */
#include "memory.h"

#include <errno.h>
#include <string.h>

#include "bench.h"

/* UINT64_MAX: not known. */
static uint64_t left_of_machine(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kilobytes;
	char name[32];

	while (file && fscanf(file, "%31s %llu%*[^\n]", name, &kilobytes) == 2)
		if (!strcmp(name, "MemAvailable:"))
			return kilobytes * 1024;
	return UINT64_MAX;
}

/* Where memory ends the kernel kills somebody, and not always who took it. */
int bench_memory_check(const char *what, const char *where, uint64_t bytes)
{
	uint64_t left = left_of_machine();

	if (bytes <= left)
		return 0;
	return bench_bad(-ENOMEM,
			 "%s take about %llu MB in %s, and there are %llu: not enough memory; "
			 "choose a smaller table",
			 what, (unsigned long long)bytes >> 20, where,
			 (unsigned long long)left >> 20);
}
