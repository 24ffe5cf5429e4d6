// SPDX-License-Identifier: GPL-2.0-only
/* See memory.h. What a cgroup holds of files is left, too: the kernel takes it back. */
#include "memory.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "bench.h"

#define CGROUPS "/sys/fs/cgroup"

/* Of cgroup v2 and v1, which a machine may have beside each other. */
static const struct hierarchy {
	const char *controller, *dir, *limit, *used;
	const char *files[2]; /* of memory.stat */
} hierarchies[] = {
	{ "", "", "memory.max", "memory.current", { "active_file", "inactive_file" } },
	{ "memory",
	  "/memory",
	  "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  { "total_active_file", "total_inactive_file" } },
};

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

/* --- cgroups -------------------------------------------------------------------------------- */

static FILE *open_in(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return fopen(path, "re");
}

/* Of a file that has one and nothing else; "max" is none. */
static bool read_number(const char *dir, const char *name, uint64_t *out)
{
	_cleanup_fclose_ FILE *file = open_in(dir, name);
	unsigned long long number;

	if (!file || fscanf(file, "%llu", &number) != 1)
		return false;
	*out = number;
	return true;
}

static uint64_t read_files(const char *dir, const struct hierarchy *hierarchy)
{
	_cleanup_fclose_ FILE *file = open_in(dir, "memory.stat");
	unsigned long long bytes;
	uint64_t sum = 0;
	char name[64];

	while (file && fscanf(file, "%63s %llu", name, &bytes) == 2)
		for (size_t i = 0; i < ARRAY_SIZE(hierarchy->files); i++)
			if (!strcmp(name, hierarchy->files[i]))
				sum += bytes;
	return sum;
}

static uint64_t left_of_cgroup(const char *dir, const struct hierarchy *hierarchy)
{
	uint64_t limit, used, files = read_files(dir, hierarchy);

	if (!read_number(dir, hierarchy->limit, &limit) ||
	    !read_number(dir, hierarchy->used, &used))
		return UINT64_MAX;
	used -= files < used ? files : used;
	return limit > used ? limit - used : 0;
}

/* path: "/a/b", which is cut down to nothing. */
static uint64_t least_upwards(const char *root, const struct hierarchy *hierarchy, char *path)
{
	uint64_t least = UINT64_MAX;
	char dir[PATH_MAX];

	for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
		uint64_t left;

		*end = '\0';
		snprintf(dir, sizeof(dir), "%s%s%s", root, hierarchy->dir, path);
		left = left_of_cgroup(dir, hierarchy);
		least = left < least ? left : least;
	}
	return least;
}

/* NULL: it has nothing to do with memory. */
static const struct hierarchy *hierarchy_of(const char *controllers)
{
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++)
		if (!strcmp(hierarchies[i].controller, controllers))
			return &hierarchies[i];
	return NULL;
}

uint64_t bench_memory_left_of_cgroups(const char *list, const char *root)
{
	_cleanup_fclose_ FILE *file = fopen(list, "re");
	uint64_t least = UINT64_MAX;
	char line[PATH_MAX];

	/* as "4:memory:/a/b" */
	while (file && fgets(line, sizeof(line), file)) {
		char *rest = line, *controllers;
		const struct hierarchy *hierarchy;
		uint64_t left;

		line[strcspn(line, "\n")] = '\0';
		strsep(&rest, ":");
		controllers = strsep(&rest, ":");
		hierarchy = rest ? hierarchy_of(controllers) : NULL;
		left = hierarchy ? least_upwards(root, hierarchy, rest) : UINT64_MAX;
		least = left < least ? left : least;
	}
	return least;
}

/* --- the check ------------------------------------------------------------------------------ */

/* Where memory ends the kernel kills somebody, and not always who took it. */
int bench_memory_check(const char *what, const char *where, uint64_t bytes)
{
	uint64_t machine = left_of_machine();
	uint64_t cgroups = bench_memory_left_of_cgroups("/proc/self/cgroup", CGROUPS);
	uint64_t left = machine < cgroups ? machine : cgroups;

	if (bytes <= left)
		return 0;
	return bench_bad(-ENOMEM,
			 "%s take about %llu MB in %s, and there are %llu%s: not enough memory; "
			 "choose a smaller table",
			 what, (unsigned long long)bytes >> 20, where,
			 (unsigned long long)left >> 20, machine < cgroups ? "" : " in its cgroup");
}
