// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loader's ground: where the pins, the object and the lock are, and how a failure of libbpf or
 * the kernel becomes a sentence that says what to do. Knows nothing of single maps or ports.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "../lib/log.h"
#include "loader.h"
#include "loader_internal.h"

#define INSTALLED_BESIDE "/../lib/sixlane/" OBJECT_NAME /* PREFIX/sbin and PREFIX/lib */

#define OBJECT_NAME "sixlane.bpf.o"
#define OBJECT_SUFFIX ".bpf.o"
#define FRAGS_SUFFIX ".frags.bpf.o"
#define FLOWS_SUFFIX ".flows.bpf.o"
#define ARENA_SUFFIX ".arena.bpf.o"
#define TRACE_SUFFIX ".trace.bpf.o"
#define PINS_BELOW "tc/globals"

/* A reader holds the lock for microseconds; a daemon that finds it taken asks again this often. */
#define LOCK_TRIES 50
#define LOCK_PAUSE_NS 2000000

static char kernel_said[256];

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

/* The object's name with another suffix. */
static bool name_flavour(const char *object, const char *suffix, char path[PATH_MAX])
{
	size_t cut = strlen(object) - strlen(OBJECT_SUFFIX);

	return ends_in(object, OBJECT_SUFFIX) &&
	       (size_t)snprintf(path, PATH_MAX, "%.*s%s", (int)cut, object, suffix) < PATH_MAX;
}

bool loader_frags_path(const char *object, char path[PATH_MAX])
{
	return name_flavour(object, FRAGS_SUFFIX, path);
}

bool loader_flows_path(const char *object, char path[PATH_MAX])
{
	return name_flavour(object, FLOWS_SUFFIX, path);
}

bool loader_trace_path(const char *object, char path[PATH_MAX])
{
	return name_flavour(object, TRACE_SUFFIX, path);
}

bool loader_arena_path(const char *object, char path[PATH_MAX])
{
	return !ends_in(object, ARENA_SUFFIX) && name_flavour(object, ARENA_SUFFIX, path);
}

int loader_fail(char *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err, LOADER_ERR, fmt, ap);
		va_end(ap);
	}
	return rc;
}

static bool has_cap(unsigned int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &header, data) ||
	       (data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap));
}

void loader_missing_caps(char *buf, size_t size)
{
	static const struct {
		unsigned int cap;
		const char *name;
	} needed[] = {
		{ CAP_BPF, "CAP_BPF" },
		{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		{ CAP_PERFMON, "CAP_PERFMON" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	};
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(needed) && used < size; i++)
		if (!has_cap(needed[i].cap))
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 needed[i].name);
}

int loader_fail_errno(char *err, int rc, const char *fmt, ...)
{
	char what[LOADER_ERR / 2], reason[128], caps[96] = "";
	const char *said = loader_kernel_said();
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	dispatch_strerror(rc, reason, sizeof(reason));
	if (rc == -EPERM || rc == -EACCES)
		loader_missing_caps(caps, sizeof(caps));
	return loader_fail(
		err, rc, "%s: %s%s%s%s%s%s", what, reason, *said ? ": " : "", said,
		*caps ? "; run as root, this process lacks " : "", caps,
		rc == -EPERM && !*caps
			? " although no capability is missing (user namespace, lockdown or seccomp?)"
			: "");
}

void loader_note(const char *library, char *text)
{
	static const char mark[] = "Kernel error message: ";
	char *words, *line, *rest = NULL;

	loader_refusal_note(text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		words = strstr(line, mark);
		if (words)
			snprintf(kernel_said, sizeof(kernel_said), "%s", words + sizeof(mark) - 1);
		log_debug("%s: %s", library, line);
	}
}

const char *loader_kernel_said(void)
{
	return kernel_said;
}

static int note_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;

	if (level != LIBBPF_WARN)
		return 0;
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	else
		loader_note("libbpf", text);
	return 0;
}

void loader_quiet(void)
{
	kernel_said[0] = '\0';
	loader_refusal_reset();
	libbpf_set_print(note_libbpf);
}

int loader_check_bpffs(char *err)
{
	const char *mnt = loader_bpffs();
	struct statfs fs;

	if (statfs(mnt, &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
		return 0;
	return loader_fail(err, -ENODEV, "no BPF filesystem at %s: mount -t bpf -o mode=700 bpf %s",
			   mnt, mnt);
}

int loader_object_open(const char *path, struct bpf_object **out, char *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_object *object;

	loader_quiet();
	opts.pin_root_path = loader_pin_dir();
	object = bpf_object__open_file(path, &opts);
	if (!object)
		return loader_fail_errno(err, -errno, "cannot open the XDP object %s", path);
	*out = object;
	return 0;
}

static struct bpf_program *find_prog(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
	{
		const char *section = bpf_program__section_name(prog);

		if (!strcmp(section, "xdp") || !strcmp(section, "xdp.frags"))
			return prog;
	}
	return NULL;
}

int loader_object_load(struct bpf_object *object, const char *path, const char *port,
		       struct bpf_program **prog, char *err)
{
	struct bpf_program *found = find_prog(object);
	int rc;

	if (!found)
		return loader_fail(err, -EINVAL, "%s has no program in a section 'xdp'", path);
	rc = bpf_object__load(object);
	if (rc && loader_refused())
		return loader_fail_refused(err, rc, path, port);
	if (rc)
		return loader_fail_errno(err, rc, "the kernel refused the XDP program of %s", path);
	*prog = found;
	return 0;
}

/* A descriptor of the pin directory, made if missing and make is set; or -errno. */
static int open_pin_dir(bool make)
{
	char tc[PATH_MAX];
	int fd;

	if (make) {
		/* Modes as iproute2 makes them: nobody else may put maps there. */
		snprintf(tc, sizeof(tc), "%s/tc", loader_bpffs());
		if (mkdir(tc, 0700) && errno != EEXIST)
			return -errno;
		if (mkdir(loader_pin_dir(), 0700) && errno != EEXIST)
			return -errno;
	}
	fd = open(loader_pin_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Whoever owns the directories can take the maps away, or put others in their place. */
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
	loader_quiet();
	/* a bpffs may be open to all: leave no directory behind that could not be filled anyway */
	if (!has_cap(CAP_BPF) && !has_cap(CAP_SYS_ADMIN))
		return loader_fail_errno(err, -EPERM, "cannot create maps in %s", loader_pin_dir());
	fd = open_pin_dir(true);
	if (fd < 0)
		return loader_fail_errno(err, fd, "cannot create %s", loader_pin_dir());
	return check_owner(fd, err);
}

int loader_lock(char *err)
{
	static const struct timespec nap = { .tv_nsec = LOCK_PAUSE_NS };
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
		nanosleep(&nap, NULL);
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

/* Of the lock, among those that this process may see. */
static pid_t find_locker(const struct stat *pins)
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
	pid = find_locker(&pins);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (pid <= 0 || stat("/proc/self/ns/net", &own) || stat(path, &its))
		return 0;
	return own.st_dev != its.st_dev || own.st_ino != its.st_ino ? pid : 0;
}
