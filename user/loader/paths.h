/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths: the XDP object and its flavours, the BPF filesystem, the pin directory and its lock.
 * Touches no map.
 *
 * Pins live in BPFFS/tc/globals, where iproute2 pins LIBBPF_PIN_BY_NAME maps for `ip link … xdp
 * obj`, so that whoever comes second finds them. BPFFS is /sys/fs/bpf, or $TC_BPF_MNT, which is
 * iproute2's own variable.
 *
 * One daemon serves a pin directory. Its lock is flock(2) on the directory, so that it ends with
 * the process.
 */
#ifndef USER_LOADER_PATHS_H
#define USER_LOADER_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The bpffs mount point and the pin directory below it. Static storage. */
const char *loader_bpffs(void);
const char *loader_pin_dir(void);

/* sixlane.bpf.o beside the executable, else in ../lib/sixlane from there. Static storage. */
const char *loader_object_path(void);

/* The flavour "frags" (frames of several buffers), "flows" (the extension for flowtables), "trace"
 * (records its steps) or "arena" beside an object. False if the object's name does not end in
 * .bpf.o, if the path does not fit, or if the object is the arena flavour itself. */
bool loader_flavour_path(const char *object, const char *flavour, char path[PATH_MAX]);

/* -ENODEV and a message unless a bpffs is mounted where the pins go. */
int loader_check_bpffs(char *err);

/* Makes the directory if it is missing. -EPERM: it belongs to another user. 0 or -errno. */
int loader_make_pin_dir(char *err);

/* Takes the daemon's lock. Returns a descriptor to keep open, -EBUSY if another daemon holds it,
 * or -errno. */
int loader_lock(char *err);

/* A daemon holds the lock now. */
bool loader_daemon_runs(void);

/* The process id of the daemon if it runs in another network namespace than this process. 0: there
 * is none, it is in this one, or it cannot be seen. */
pid_t loader_daemon_elsewhere(void);

/* A line of /proc/locks: a file locked as a whole for writing. False: the line is of another. */
struct loader_lock_line {
	int pid;
	unsigned int major, minor;
	unsigned long long inode;
};
bool loader_parse_lock(const char *line, struct loader_lock_line *out);

#endif
