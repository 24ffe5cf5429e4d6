/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pin directory and its lock: one daemon serves a pin directory. The lock is flock(2) on the
 * directory, so that it ends with the process.
 */
#ifndef USER_LOADER_PIN_DIR_H
#define USER_LOADER_PIN_DIR_H

#include <stdbool.h>
#include <sys/types.h>

/* -ENODEV and a message unless a bpffs is mounted where the pins go. */
int loader_check_bpffs(char *err);

/* Makes the directory if it is missing. -EPERM: it belongs to another user. 0 or -errno. */
int loader_make_pin_dir(char *err);

/*
 * Takes the daemon's lock. Returns a descriptor to keep open, -EBUSY if another daemon holds it,
 * or -errno.
 */
int loader_lock(char *err);

/* A daemon holds the lock now. */
bool loader_daemon_runs(void);

/*
 * The process id of the daemon if it runs in another network namespace than this process. 0: there
 * is none, it is in this one, or it cannot be seen.
 */
pid_t loader_daemon_elsewhere(void);

/* A line of /proc/locks: a file locked as a whole for writing. False: the line is of another. */
struct loader_lock_line {
	int pid;
	unsigned int major, minor;
	unsigned long long inode;
};
bool loader_parse_lock(const char *line, struct loader_lock_line *out);

#endif
