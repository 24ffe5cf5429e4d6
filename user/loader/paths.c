// SPDX-License-Identifier: GPL-2.0-only
/* See paths.h. */
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OBJECT_NAME "sixlane.bpf.o"
#define INSTALLED_BESIDE "/../lib/sixlane/" OBJECT_NAME /* PREFIX/sbin and PREFIX/lib */
#define OBJECT_SUFFIX ".bpf.o"
#define FRAGS_SUFFIX ".frags.bpf.o"
#define FLOWS_SUFFIX ".flows.bpf.o"
#define ARENA_SUFFIX ".arena.bpf.o"
#define TRACE_SUFFIX ".trace.bpf.o"
#define PINS_BELOW "tc/globals"

const char *loader_bpffs(void)
{
	const char *mnt = getenv("TC_BPF_MNT");

	return mnt && *mnt ? mnt : "/sys/fs/bpf";
}

const char *loader_pin_dir(void)
{
	static char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/" PINS_BELOW, loader_bpffs());
	return dir;
}

const char *loader_object_path(void)
{
	static char path[PATH_MAX];
	char dir[PATH_MAX - sizeof(INSTALLED_BESIDE)];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	snprintf(path, sizeof(path), "%s/" OBJECT_NAME, dir);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "%s" INSTALLED_BESIDE, dir);
	return path;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* The object's name with another suffix. */
static bool name_flavour(const char *object, const char *suffix, char path[PATH_MAX])
{
	size_t cut = strlen(object) - strlen(OBJECT_SUFFIX);

	return ends_in(object, OBJECT_SUFFIX) &&
	       (size_t)snprintf(path, PATH_MAX, "%.*s%s", (int)cut, object, suffix) < PATH_MAX;
}

bool loader_frags_path(const char *object, char path[PATH_MAX])
{
	return name_flavour(object, FRAGS_SUFFIX, path);
}

bool loader_flows_path(const char *object, char path[PATH_MAX])
{
	return name_flavour(object, FLOWS_SUFFIX, path);
}

bool loader_trace_path(const char *object, char path[PATH_MAX])
{
	return name_flavour(object, TRACE_SUFFIX, path);
}

bool loader_arena_path(const char *object, char path[PATH_MAX])
{
	return !ends_in(object, ARENA_SUFFIX) && name_flavour(object, ARENA_SUFFIX, path);
}
