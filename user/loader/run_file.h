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

#include <stdio.h>

#define RUN_FILE_DIR "/run/sixlane"
#define RUN_FILE_NAME 72

/* KIND.DEV.INODE and end. */
void run_file_name(const char *kind, const char *end, char name[RUN_FILE_NAME]);

/* Replaces the file as a whole. 0 or -errno. */
int run_file_write(const char *name, void (*write_to)(FILE *file, const void *ctx),
		   const void *ctx);

/* For reading. NULL: there is none. */
FILE *run_file_open(const char *name);

void run_file_remove(const char *name);

#endif
