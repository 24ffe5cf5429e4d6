// SPDX-License-Identifier: GPL-2.0-only
/* See plan.h. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char kept[512];
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

/* --- errors --------------------------------------------------------------------------------- */

static void keep(const char *what, const char *why)
{
	pthread_mutex_lock(&keeping);
	snprintf(kept, sizeof(kept), "%s%s%s", what, why ? ": " : "", why ?: "");
	pthread_mutex_unlock(&keeping);
}

int plan_bad(int error, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	keep(text, NULL);
	return error;
}

int plan_fail(int error, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	keep(text, error == -ENOMEM ? "not enough memory" : strerror(-error));
	return error;
}

int plan_take(json_t *arguments, const char *fmt, ...)
{
	json_error_t error;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = json_vunpack_ex(arguments, &error, 0, fmt, ap);
	va_end(ap);
	return rc ? plan_bad(-EINVAL, "step of the plan: %s", error.text) : 0;
}

/* --- serving -------------------------------------------------------------------------------- */

static int run_step(const struct plan_step *steps, void *ctx, json_t *line, json_t *answer)
{
	const char *name = json_string_value(json_object_get(line, "do"));

	for (const struct plan_step *step = steps; name && step->name; step++)
		if (!strcmp(step->name, name))
			return step->run(ctx, line, answer);
	return plan_bad(-EINVAL, "the plan has no step \"%s\"", name ?: "");
}

static void answer_line(const struct plan_step *steps, void *ctx, const char *text, FILE *to)
{
	json_error_t error;
	json_t *line = json_loads(text, 0, &error), *answer = json_object();
	int ret;

	*kept = '\0';
	ret = line ? run_step(steps, ctx, line, answer) : plan_bad(-EINVAL, "%s", error.text);
	if (ret) {
		json_object_clear(answer);
		json_object_set_new(answer, "error", json_string(kept));
	}
	json_dumpf(answer, to, JSON_COMPACT);
	fputc('\n', to);
	fflush(to);
	json_decref(answer);
	json_decref(line);
}

int plan_serve(const struct plan_step *steps, void *ctx)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	/* What libraries print is not to stand among the answers. */
	FILE *to = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 64), "w");

	if (!to || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return 1;
	while (getline(&text, &size, stdin) >= 0)
		answer_line(steps, ctx, text, to);
	return ferror(stdin) || ferror(to) || fclose(to) ? 1 : 0;
}

/* --- CPUs ----------------------------------------------------------------------------------- */

/* As they were at the start: a thread that is pinned later may run on one alone. */
static const cpu_set_t *allowed(void)
{
	static cpu_set_t set;
	static bool known;

	if (!known)
		known = !sched_getaffinity(0, sizeof(set), &set);
	return &set;
}

unsigned int plan_n_cpus(void)
{
	int n = CPU_COUNT(allowed());

	return n > 0 ? (unsigned int)n : 1;
}

int plan_cpu(unsigned int n)
{
	unsigned int left = n % plan_n_cpus();

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed()) && !left--)
			return cpu;
	return 0;
}

int plan_pin(unsigned int n)
{
	cpu_set_t set;
	int cpu = plan_cpu(n);

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? plan_fail(-errno, "CPU %d", cpu) : 0;
}

/* --- files ---------------------------------------------------------------------------------- */

void plan_beside(const char *name, char *path, size_t size)
{
	char own[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash = n > 0 ? strrchr(own, '/') : NULL;

	if (slash)
		*slash = '\0';
	snprintf(path, size, "%s/%s", slash ? own : ".", name);
}

const void *plan_map(const char *path, size_t size, size_t *n)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info = { 0 };
	void *at;

	if (fd < 0 || fstat(fd, &info)) {
		plan_fail(-errno, "%s", path);
		return NULL;
	}
	*n = (size_t)info.st_size / size;
	at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		return at;
	plan_fail(-errno, "%s", path);
	return NULL;
}
