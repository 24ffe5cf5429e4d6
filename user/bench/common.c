// SPDX-License-Identifier: GPL-2.0-only
/* What the engines share: errors, CPUs, files. */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>

#include "../lib/log.h"
#include "bench.h"

const char *const bench_mode_names[BENCH_N_MODES] = { "independent", "dependent" };
const char *const bench_pattern_names[BENCH_N_PATTERNS] = { "hit", "miss", "fallback" };

static char *kept;
static size_t kept_size;

void bench_keep_errors(char *buf, size_t size)
{
	kept = buf;
	kept_size = size;
}

int bench_bad(int error, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (kept)
		snprintf(kept, kept_size, "%s", text);
	else
		log_error("%s", text);
	return error;
}

int bench_fail(int error, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return bench_bad(error, "%s: %s", text,
			 error == -ENOMEM ? "not enough memory" : strerror(-error));
}

size_t bench_turn(size_t round, size_t n, size_t i)
{
	return round % 2 ? n - 1 - i : i;
}

/* As they were before any thread was pinned. */
static const cpu_set_t *allowed(void)
{
	static cpu_set_t set;
	static bool known;

	if (!known) {
		CPU_ZERO(&set);
		known = !sched_getaffinity(0, sizeof(set), &set);
	}
	return &set;
}

unsigned int bench_n_cpus(void)
{
	int n = CPU_COUNT(allowed());

	return n > 0 ? (unsigned int)n : 1;
}

int bench_cpu(unsigned int n)
{
	unsigned int left = n % bench_n_cpus();

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed()) && !left--)
			return cpu;
	return 0;
}

int bench_pin(unsigned int n)
{
	cpu_set_t set;
	int cpu = bench_cpu(n);

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? bench_fail(-errno, "CPU %d", cpu) : 0;
}

void bench_unpin(void)
{
	sched_setaffinity(0, sizeof(*allowed()), allowed());
}

const char *bench_own_dir(void)
{
	static char dir[PATH_MAX];
	char *slash;

	if (*dir)
		return dir;
	if (readlink("/proc/self/exe", dir, sizeof(dir) - 1) < 0)
		snprintf(dir, sizeof(dir), "./");
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	return dir;
}

int bench_find_file(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", bench_own_dir(), name);
	if (access(path, R_OK))
		snprintf(path, size, "%s/../lib/sixlane/%s", bench_own_dir(), name);
	return access(path, R_OK) ? -errno : 0;
}
