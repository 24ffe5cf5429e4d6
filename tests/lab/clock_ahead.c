// SPDX-License-Identifier: GPL-2.0-only
/*
 * For LD_PRELOAD: CLOCK_MONOTONIC of one process is ahead by the nanoseconds in the file
 * $CLOCK_AHEAD (8 bytes, host order), which a test may change at any time. Other clocks and the
 * kernel's timers do not change.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

static int (*real_clock_gettime)(clockid_t id, struct timespec *out);
static const volatile uint64_t *ahead_ns;

static void __attribute__((constructor)) start(void)
{
	const char *path = getenv("CLOCK_AHEAD");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = MAP_FAILED;

	real_clock_gettime =
		(int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (fd >= 0)
		at = mmap(NULL, sizeof(*ahead_ns), PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		abort();
	ahead_ns = at;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
	int ret = real_clock_gettime(id, out);
	uint64_t ns;

	if (ret || id != CLOCK_MONOTONIC || !ahead_ns)
		return ret;
	ns = (uint64_t)out->tv_nsec + *ahead_ns;
	out->tv_sec += (time_t)(ns / NS_PER_S);
	out->tv_nsec = (long)(ns % NS_PER_S);
	return 0;
}
