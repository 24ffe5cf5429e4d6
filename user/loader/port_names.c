// SPDX-License-Identifier: GPL-2.0-only
/* See port_names.h. */
#include "port_names.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../lib/util.h"
#include "run_file.h"

#define NETNS "netns"

static void name_file(char name[RUN_FILE_NAME])
{
	run_file_name("names", "", name);
}

/* Unique since boot, unlike the namespace's inode number. 0: it cannot be found out. */
static uint64_t netns_cookie(void)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) ? 0 : cookie;
}

int loader_names_write(const struct loader_port_name *names, size_t n)
{
	char name[RUN_FILE_NAME];
	FILE *file;

	name_file(name);
	if (!n) {
		run_file_remove(name);
		return 0;
	}
	file = run_file_create(name);
	if (!file)
		return -errno;
	fprintf(file, NETNS " %llu\n", (unsigned long long)netns_cookie());
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%s %s\n", names[i].setting, names[i].name);
	return run_file_commit(file, name);
}

void loader_names_read(loader_name_fn fn, void *ctx)
{
	char path[RUN_FILE_NAME], line[256], setting[32], name[129];
	_cleanup_fclose_ FILE *file = NULL;

	name_file(path);
	file = run_file_open(path);
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31s %128s", setting, name) != 2)
			continue;
		if (strcmp(setting, NETNS) != 0)
			fn(ctx, &(struct loader_port_name){ .setting = setting, .name = name });
		else if (strtoull(name, NULL, 10) != netns_cookie())
			return;
	}
}
