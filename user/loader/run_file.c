// SPDX-License-Identifier: GPL-2.0-only
/* See run_file.h. */
#include "run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

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
