// SPDX-License-Identifier: GPL-2.0-only
/* See input.h. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "util.h"

bool input_is_stdin(const char *path)
{
	return !strcmp(path, "-");
}

const char *input_name(const char *path)
{
	return input_is_stdin(path) ? "standard input" : path;
}

FILE *input_open(const char *path)
{
	/* A copy, so that fclose() leaves descriptor 0 open. */
	_cleanup_close_ int fd = input_is_stdin(path) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
						      : open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	FILE *file;

	if (fd < 0 || fstat(fd, &stat))
		return NULL;
	if (S_ISDIR(stat.st_mode)) {
		errno = EISDIR;
		return NULL;
	}
	file = fdopen(fd, "r");
	if (file)
		util_take_fd(&fd);
	return file;
}
