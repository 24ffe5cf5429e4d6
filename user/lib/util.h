/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for every user-space module: cleanup attributes as in systemd and bpfilter, clocks, sizes
 * of arrays. Knows nothing of sixlane.
 */
#ifndef USER_LIB_UTIL_H
#define USER_LIB_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))

static inline void util_free(void *pp)
{
	free(*(void **)pp);
}

static inline void util_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void util_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_ _cleanup_(util_free)
#define _cleanup_close_ _cleanup_(util_close)
#define _cleanup_fclose_ _cleanup_(util_fclose)

/* Returns the descriptor and sets *fd to -1, so that the cleanup does not close it. */
static inline int util_take_fd(int *fd)
{
	int owned = *fd;

	*fd = -1;
	return owned;
}

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t util_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t util_earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static inline uint64_t util_later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* CPU time that this thread has used so far. */
static inline uint64_t util_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
