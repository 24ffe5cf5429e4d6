// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that the kernel's verifier refused: one line for people, and a file with its log,
 * from which `sixlane status` says it again until the port is served or detached. There is one such
 * file for each port and pin directory. It lies in a directory that only root can make, and never
 * in one that everybody may write to.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "loader.h"
#include "loader_internal.h"
#include "verifier_log.h"

#define RUN_DIR "/run/sixlane"
/* What the verifier says last decides. */
#define LOG_MAX_BYTES (1u << 20)

/* Of sixlane and sixlane_frags: libxdp loads programs of its own. */
#define LOG_OF "prog 'sixlane"
#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --\n"
#define LOG_END "-- END PROG LOAD LOG --"

static char *verifier_log; /* NULL: nothing was refused since the last reset */

#define FIELD(name)                                                       \
	{                                                                 \
#name, offsetof(struct loader_refusal, name),             \
			sizeof(((const struct loader_refusal *)0)->name), \
	}

static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
	FIELD(port), FIELD(object), FIELD(kernel), FIELD(compiler), FIELD(reason), FIELD(advice),
};

void loader_refusal_reset(void)
{
	free(verifier_log);
	verifier_log = NULL;
}

void loader_refusal_note(const char *text)
{
	const char *begin = strstr(text, LOG_BEGIN), *end;

	if (!begin || !strstr(text, LOG_OF))
		return;
	begin += strlen(LOG_BEGIN);
	end = strstr(begin, LOG_END);
	loader_refusal_reset();
	verifier_log = strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

bool loader_refused(void)
{
	return verifier_log;
}

/* --- the file ------------------------------------------------------------------------------- */

/* Pin directories are told apart by device and inode, as those of other mounts have the same path.
 * port: "" for `sixlane explain`, whose program is for none. */
static void name_log(const char *port, char name[LOADER_LOG_NAME])
{
	struct stat pins = { 0 };

	if (stat(loader_pin_dir(), &pins))
		pins = (struct stat){ 0 };
	snprintf(name, LOADER_LOG_NAME, "%s.%llx.%llx%s%.*s.log", *port ? "verifier" : "explain",
		 (unsigned long long)pins.st_dev, (unsigned long long)pins.st_ino, *port ? "." : "",
		 IFNAMSIZ - 1, port);
}

/* A descriptor or -errno. */
static int open_run_dir(bool make)
{
	_cleanup_close_ int fd = -1;
	struct stat dir;

	if (make && mkdir(RUN_DIR, 0700) && errno != EEXIST)
		return -errno;
	fd = open(RUN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &dir))
		return -errno;
	if ((dir.st_uid && dir.st_uid != geteuid()) || dir.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return util_take_fd(&fd);
}

static int write_log(int fd, const struct loader_refusal *refusal, const char *log)
{
	size_t length = strlen(log), left_out = 0;
	FILE *file = fdopen(fd, "w");
	bool failed;

	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	if (length > LOG_MAX_BYTES)
		left_out = (size_t)(strchrnul(log + length - LOG_MAX_BYTES, '\n') - log);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fprintf(file, "%s: %s\n", fields[i].name, (const char *)refusal + fields[i].offset);
	fprintf(file, "\n");
	if (left_out)
		fprintf(file, "(the first %zu bytes are left out)", left_out);
	fputs(log + left_out, file);
	failed = ferror(file);
	return fclose(file) || failed ? -EIO : 0;
}

/* Sets refusal->log. 0 or -errno. */
static int keep_log(struct loader_refusal *refusal, const char *log)
{
	_cleanup_close_ int dir = open_run_dir(true);
	char name[LOADER_LOG_NAME], fresh[LOADER_LOG_NAME + 4];
	int fd, rc;

	if (dir < 0)
		return dir;
	name_log(refusal->port, name);
	snprintf(fresh, sizeof(fresh), "%s.new", name);
	unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_log(fd, refusal, log);
	if (!rc && renameat(dir, fresh, dir, name))
		rc = -errno;
	if (rc)
		unlinkat(dir, fresh, 0);
	else
		snprintf(refusal->log, sizeof(refusal->log), RUN_DIR "/%s", name);
	return rc;
}

static void read_field(const char *line, struct loader_refusal *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t length = strlen(fields[i].name);

		if (!strncmp(line, fields[i].name, length) && !strncmp(line + length, ": ", 2))
			snprintf((char *)out + fields[i].offset, fields[i].size, "%s",
				 line + length + 2);
	}
}

/* NULL: there is none. */
static FILE *open_log(const char *name)
{
	_cleanup_close_ int dir = open_run_dir(false);
	int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

bool loader_refusal_read(const char *port, struct loader_refusal *out)
{
	char name[LOADER_LOG_NAME], line[LOADER_ERR];
	_cleanup_fclose_ FILE *file = NULL;

	*out = (struct loader_refusal){ 0 };
	name_log(port, name);
	file = open_log(name);
	while (file && fgets(line, sizeof(line), file) && *line != '\n') {
		line[strcspn(line, "\n")] = '\0';
		read_field(line, out);
	}
	snprintf(out->log, sizeof(out->log), RUN_DIR "/%s", name);
	return *out->port;
}

void loader_refusal_forget(const char *port)
{
	_cleanup_close_ int dir = open_run_dir(false);
	char name[LOADER_LOG_NAME];

	name_log(port, name);
	if (dir >= 0)
		unlinkat(dir, name, 0);
}

/* --- the line ------------------------------------------------------------------------------- */

void loader_refusal_text(const struct loader_refusal *refusal, char *out)
{
	snprintf(
		out, LOADER_ERR,
		"%s%sthe kernel's verifier refused the XDP program of %s: \"%s\" (Linux %s, object built by %s); %s%s; %s",
		refusal->port, *refusal->port ? ": " : "", refusal->object, refusal->reason,
		refusal->kernel, refusal->compiler,
		*refusal->log ? "its log is in " : "its log could not be kept in " RUN_DIR,
		refusal->log, refusal->advice);
}

int loader_fail_refused(char *err, int rc, const char *object, const char *port)
{
	char *log = verifier_log; /* looking at the object resets it */
	struct loader_refusal refusal = { 0 };
	struct utsname kernel = { 0 };
	char caps[96];

	if (!err)
		return rc;
	verifier_log = NULL;
	uname(&kernel);
	loader_missing_caps(caps, sizeof(caps));
	snprintf(refusal.port, sizeof(refusal.port), "%s", port ? port : "");
	snprintf(refusal.object, sizeof(refusal.object), "%s", object);
	snprintf(refusal.kernel, sizeof(refusal.kernel), "%s", kernel.release);
	if (!loader_object_compiler(object, refusal.compiler))
		snprintf(refusal.compiler, sizeof(refusal.compiler), LOADER_COMPILER_UNKNOWN);
	if (!verifier_log_reason(log, refusal.reason, sizeof(refusal.reason)))
		snprintf(refusal.reason, sizeof(refusal.reason), "no reason given");
	if (*caps)
		snprintf(refusal.advice, sizeof(refusal.advice),
			 "run as root, this process lacks %s", caps);
	else
		snprintf(
			refusal.advice, sizeof(refusal.advice),
			"try an object by another clang ('make clean all CLANG=clang-NN') or another kernel, and report it with the log");
	keep_log(&refusal, log);
	verifier_log = log;
	loader_refusal_text(&refusal, err);
	return rc;
}
