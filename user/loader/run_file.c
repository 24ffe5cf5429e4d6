// SPDX-License-Identifier: GPL-2.0-only
/* See run_file.h. */
#include "run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "paths.h"

void run_file_name(const char *kind, const char *end, char name[RUN_FILE_NAME])
{
	struct stat pins = { 0 };

	if (stat(loader_pin_dir(), &pins))
		pins = (struct stat){ 0 };
	snprintf(name, RUN_FILE_NAME, "%s.%llx.%llx%s", kind, (unsigned long long)pins.st_dev,
		 (unsigned long long)pins.st_ino, end);
}

/* Returns a descriptor or -errno. */
static int open_run_dir(bool make)
{
	_cleanup_close_ int fd = -1;
	struct stat dir;

	if (make && mkdir(RUN_FILE_DIR, 0700) && errno != EEXIST)
		return -errno;
	fd = open(RUN_FILE_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &dir))
		return -errno;
	if ((dir.st_uid && dir.st_uid != geteuid()) || dir.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return util_take_fd(&fd);
}

static void name_temporary(const char *name, char temporary[RUN_FILE_NAME + 4])
{
	snprintf(temporary, RUN_FILE_NAME + 4, "%s.new", name);
}

FILE *run_file_create(const char *name)
{
	_cleanup_close_ int dir = open_run_dir(true);
	char temporary[RUN_FILE_NAME + 4];
	FILE *file;
	int fd;

	if (dir < 0) {
		errno = -dir;
		return NULL;
	}
	name_temporary(name, temporary);
	unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

int run_file_commit(FILE *file, const char *name)
{
	_cleanup_close_ int dir = open_run_dir(false);
	bool failed = ferror(file);
	char temporary[RUN_FILE_NAME + 4];
	int rc = fclose(file) || failed ? -EIO : 0;

	name_temporary(name, temporary);
	if (!rc && renameat(dir, temporary, dir, name))
		rc = -errno;
	if (rc)
		unlinkat(dir, temporary, 0);
	return rc;
}

FILE *run_file_open(const char *name)
{
	_cleanup_close_ int dir = open_run_dir(false);
	int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

void run_file_remove(const char *name)
{
	_cleanup_close_ int dir = open_run_dir(false);

	if (dir >= 0)
		unlinkat(dir, name, 0);
}

/* --- the names of ports ------------------------------------------------------------------- */

#define NETNS "netns"

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

	run_file_name("names", "", name);
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

	run_file_name("names", "", path);
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
