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

static int write_and_close(int fd, void (*write_to)(FILE *file, const void *ctx), const void *ctx)
{
	FILE *file = fdopen(fd, "w");
	bool failed;

	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	write_to(file, ctx);
	failed = ferror(file);
	return fclose(file) || failed ? -EIO : 0;
}

int run_file_write(const char *name, void (*write_to)(FILE *file, const void *ctx), const void *ctx)
{
	_cleanup_close_ int dir = open_run_dir(true);
	char fresh[RUN_FILE_NAME + 4];
	int fd, rc;

	if (dir < 0)
		return dir;
	snprintf(fresh, sizeof(fresh), "%s.new", name);
	unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_and_close(fd, write_to, ctx);
	if (!rc && renameat(dir, fresh, dir, name))
		rc = -errno;
	if (rc)
		unlinkat(dir, fresh, 0);
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
