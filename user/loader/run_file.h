/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small text files that outlive a process, in /run/sixlane. Only root can make that directory, and
 * it is refused if others may write to it.
 *
 * Names contain the device and inode of the pin directory: pin directories of other mounts have
 * the same path.
 */
#ifndef USER_LOADER_RUN_FILE_H
#define USER_LOADER_RUN_FILE_H

#include <stddef.h>
#include <stdio.h>

#define RUN_FILE_DIR "/run/sixlane"
#define RUN_FILE_NAME 72

/* KIND.DEV.INODE and end. */
void run_file_name(const char *kind, const char *end, char name[RUN_FILE_NAME]);

/* For writing a new version of the file, which nobody sees yet. NULL with errno: it failed. */
FILE *run_file_create(const char *name);

/* Closes it and replaces the old file. 0 or -errno. */
int run_file_commit(FILE *file, const char *name);

/* For reading. NULL: there is none. */
FILE *run_file_open(const char *name);

void run_file_remove(const char *name);

/* The names of ports in sixlaned's settings, for `sixlane status`. They are valid in the daemon's
 * network namespace only, so the file says which one that is. Which names are missing is for the
 * reader to find out. */
struct loader_port_name {
	const char *setting, *name;
};

/* Replaces the list. 0 or -errno. */
int loader_names_write(const struct loader_port_name *names, size_t n);

/* Calls fn for each name of the last list, if it was written in this network namespace. */
typedef void (*loader_name_fn)(void *ctx, const struct loader_port_name *name);
void loader_names_read(loader_name_fn fn, void *ctx);

#endif
