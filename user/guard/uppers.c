// SPDX-License-Identifier: GPL-2.0-only
/* Reads the folder of a device in a sysfs of its own. It links only devices of one namespace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "../lib/util.h"
#include "uppers.h"

#define PREFIX "upper_"

struct uppers {
	int root; /* of a detached sysfs */
};

static int sysfs_mount(void)
{
	_cleanup_close_ int fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	int root;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	root = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	return root < 0 ? -errno : root;
}

int uppers_new(struct uppers **out)
{
	struct uppers *uppers = malloc(sizeof(*uppers));
	int r;

	if (!uppers)
		return -ENOMEM;
	uppers->root = sysfs_mount();
	r = uppers->root < 0 ? uppers->root : 0;
	if (r < 0)
		free(uppers);
	else
		*out = uppers;
	return r;
}

void uppers_free(struct uppers *uppers)
{
	if (!uppers)
		return;
	close(uppers->root);
	free(uppers);
}

int uppers_each(const struct uppers *uppers, const char *device,
		void (*fn)(void *ctx, const char *name), void *ctx)
{
	const struct dirent *entry;
	char path[64];
	DIR *folder;
	int fd, r;

	snprintf(path, sizeof(path), "class/net/%s", device);
	fd = openat(uppers->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = fd < 0 ? NULL : fdopendir(fd);
	r = -errno;
	if (!folder) {
		util_close(&fd);
		return r;
	}
	for (errno = 0; (entry = readdir(folder)); errno = 0)
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			fn(ctx, entry->d_name + strlen(PREFIX));
	r = -errno;
	closedir(folder);
	return r;
}
