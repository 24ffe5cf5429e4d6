// SPDX-License-Identifier: GPL-2.0-only
/* See paths.h. */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "error.h"

#define OBJECT_NAME "sixlane.bpf.o"
#define INSTALLED_BESIDE "/../lib/sixlane/" OBJECT_NAME /* PREFIX/sbin and PREFIX/lib */
#define OBJECT_SUFFIX ".bpf.o"
#define PINS_BELOW "tc/globals"

const char *loader_bpffs(void)
{
	const char *mnt = getenv("TC_BPF_MNT");

	return mnt && *mnt ? mnt : "/sys/fs/bpf";
}

const char *loader_pin_dir(void)
{
	static char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/" PINS_BELOW, loader_bpffs());
	return dir;
}

const char *loader_object_path(void)
{
	static char path[PATH_MAX];
	char dir[PATH_MAX - sizeof(INSTALLED_BESIDE)];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	snprintf(path, sizeof(path), "%s/" OBJECT_NAME, dir);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "%s" INSTALLED_BESIDE, dir);
	return path;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

bool loader_flavour_path(const char *object, const char *flavour, char path[PATH_MAX])
{
	const size_t cut = strlen(object) - strlen(OBJECT_SUFFIX);
	int n;

	if (!ends_in(object, OBJECT_SUFFIX) ||
	    (ends_in(object, ".arena" OBJECT_SUFFIX) && !strcmp(flavour, "arena")))
		return false;
	n = snprintf(path, PATH_MAX, "%.*s.%s" OBJECT_SUFFIX, (int)cut, object, flavour);
	return (size_t)n < PATH_MAX;
}

/* --- the pin directory -------------------------------------------------------------------- */

/* A reader holds the lock for microseconds: a daemon that finds the directory locked tries again.
 */
#define LOCK_TRIES 50
#define LOCK_PAUSE_NS 2000000

int loader_check_bpffs(char *err)
{
	const char *mnt = loader_bpffs();
	struct statfs fs;

	if (statfs(mnt, &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
		return 0;
	return loader_fail(err, -ENODEV, "no BPF filesystem at %s: mount -t bpf -o mode=700 bpf %s",
			   mnt, mnt);
}

/* Returns a descriptor of the pin directory or -errno. make: create it if it is missing. */
static int open_pin_dir(bool make)
{
	char tc[PATH_MAX];
	int fd;

	if (make) {
		/* the modes of iproute2: nobody else may pin maps there */
		snprintf(tc, sizeof(tc), "%s/tc", loader_bpffs());
		if (mkdir(tc, 0700) && errno != EEXIST)
			return -errno;
		if (mkdir(loader_pin_dir(), 0700) && errno != EEXIST)
			return -errno;
	}
	fd = open(loader_pin_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The owner of the directories could replace the maps. */
static int check_owner(int fd, char *err)
{
	struct stat dir, parent;

	if (fstat(fd, &dir) || fstatat(fd, "..", &parent, 0))
		return loader_fail_errno(err, -errno, "cannot inspect %s", loader_pin_dir());
	if ((!dir.st_uid || dir.st_uid == geteuid()) &&
	    (!parent.st_uid || parent.st_uid == geteuid()))
		return 0;
	return loader_fail(err, -EPERM, "%s belongs to another user (uid %u): remove it",
			   loader_pin_dir(), dir.st_uid ? dir.st_uid : parent.st_uid);
}

int loader_make_pin_dir(char *err)
{
	_cleanup_close_ int fd = -1;
	int rc = loader_check_bpffs(err);

	if (rc)
		return rc;
	libbpf_log_reset();
	/* in a bpffs that all may write to, make no directory that would stay empty */
	if (!loader_has_cap(CAP_BPF) && !loader_has_cap(CAP_SYS_ADMIN))
		return loader_fail_errno(err, -EPERM, "cannot create maps in %s", loader_pin_dir());
	fd = open_pin_dir(true);
	if (fd < 0)
		return loader_fail_errno(err, fd, "cannot create %s", loader_pin_dir());
	return check_owner(fd, err);
}

int loader_lock(char *err)
{
	static const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	_cleanup_close_ int fd = -1;
	int rc = loader_make_pin_dir(err);

	if (rc)
		return rc;
	fd = open_pin_dir(false);
	if (fd < 0)
		return loader_fail_errno(err, fd, "cannot open %s", loader_pin_dir());
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return util_take_fd(&fd);
		if (errno != EWOULDBLOCK)
			return loader_fail_errno(err, -errno, "cannot lock %s", loader_pin_dir());
		nanosleep(&pause, NULL);
	}
	return loader_fail(err, -EBUSY, "another sixlaned serves the maps in %s; stop it first",
			   loader_pin_dir());
}

bool loader_parse_lock(const char *line, struct loader_lock_line *out)
{
	struct loader_lock_line lock;

	if (sscanf(line, "%*u: FLOCK ADVISORY WRITE %d %x:%x:%llu", &lock.pid, &lock.major,
		   &lock.minor, &lock.inode) != 4)
		return false;
	*out = lock;
	return true;
}

bool loader_daemon_runs(void)
{
	_cleanup_close_ int fd = open_pin_dir(false);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* The process that holds the lock, if /proc/locks shows it to this process; else 0. */
static pid_t find_lock_holder(const struct stat *pins)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/locks", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		struct loader_lock_line lock;

		if (loader_parse_lock(line, &lock) && lock.major == major(pins->st_dev) &&
		    lock.minor == minor(pins->st_dev) && lock.inode == pins->st_ino)
			return lock.pid;
	}
	return 0;
}

pid_t loader_daemon_elsewhere(void)
{
	_cleanup_close_ int fd = open_pin_dir(false);
	struct stat pins, own, its;
	char path[64];
	pid_t pid;

	if (fd < 0 || fstat(fd, &pins))
		return 0;
	pid = find_lock_holder(&pins);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (pid <= 0 || stat("/proc/self/ns/net", &own) || stat(path, &its))
		return 0;
	return own.st_dev != its.st_dev || own.st_ino != its.st_ino ? pid : 0;
}
