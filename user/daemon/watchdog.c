// SPDX-License-Identifier: GPL-2.0-only
/*
 * See watchdog.h. The threads share a mutex and two eventfds: reset_fd tells that input was read,
 * end_fd that the thread is to end.
 */
#include "watchdog.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#include "../lib/util.h"

#define MAX_WATCHED 8

struct watchdog {
	struct pollfd watched[MAX_WATCHED];
	size_t n;
	uint32_t *word, bits;
	int reset_fd, end_fd;
	pthread_mutex_t lock;
	bool fired;   /* written under lock, read atomically */
	bool waiting; /* for reset_fd; under lock */
	pthread_t thread;
};

static bool has_input(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, 0) > 0;
}

static void drain(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof(n)) > 0)
		;
}

/* Wait for input. False: the thread is to end. */
static bool wait_for_input(struct watchdog *watchdog)
{
	struct pollfd fds[MAX_WATCHED + 1];

	memcpy(fds, watchdog->watched, watchdog->n * sizeof(*fds));
	fds[watchdog->n] = (struct pollfd){ .fd = watchdog->end_fd, .events = POLLIN };
	while (poll(fds, watchdog->n + 1, -1) < 0 && errno == EINTR)
		;
	return !has_input(watchdog->end_fd);
}

/* Wait until input was read, the thread is to end, or timeout_ms are over (-1: never). */
static void wait_for_reset(struct watchdog *watchdog, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = watchdog->reset_fd, .events = POLLIN },
				{ .fd = watchdog->end_fd, .events = POLLIN } };

	while (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0 && errno == EINTR)
		;
}

static void set_waiting(struct watchdog *watchdog, bool waiting)
{
	pthread_mutex_lock(&watchdog->lock);
	watchdog->waiting = waiting;
	if (!waiting)
		drain(watchdog->reset_fd);
	pthread_mutex_unlock(&watchdog->lock);
}

/* Fire, unless the input was read meanwhile. */
static bool fire(struct watchdog *watchdog)
{
	bool fired;

	pthread_mutex_lock(&watchdog->lock);
	fired = poll(watchdog->watched, watchdog->n, 0) > 0 && !has_input(watchdog->reset_fd);
	if (fired) {
		__atomic_store_n(&watchdog->fired, true, __ATOMIC_SEQ_CST);
		__atomic_fetch_and(watchdog->word, ~watchdog->bits, __ATOMIC_SEQ_CST);
	}
	pthread_mutex_unlock(&watchdog->lock);
	return fired;
}

static void *watch(void *ctx)
{
	struct watchdog *watchdog = ctx;

	while (wait_for_input(watchdog)) {
		set_waiting(watchdog, true);
		wait_for_reset(watchdog, WATCHDOG_WAIT_MS);
		if (fire(watchdog))
			wait_for_reset(watchdog, -1);
		set_waiting(watchdog, false);
	}
	return NULL;
}

/* Signals go to the main thread. */
static int start(struct watchdog *watchdog)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(&watchdog->thread, NULL, watch, watchdog);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static void free_parts(struct watchdog *watchdog)
{
	util_close(&watchdog->reset_fd);
	util_close(&watchdog->end_fd);
	pthread_mutex_destroy(&watchdog->lock);
	free(watchdog);
}

int watchdog_new(const int *fds, size_t n, uint32_t *word, uint32_t bits, struct watchdog **out)
{
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog));
	int ret;

	if (!watchdog)
		return -ENOMEM;
	pthread_mutex_init(&watchdog->lock, NULL);
	watchdog->word = word;
	watchdog->bits = bits;
	for (size_t i = 0; i < n && watchdog->n < MAX_WATCHED; i++)
		if (fds[i] >= 0)
			watchdog->watched[watchdog->n++] =
				(struct pollfd){ .fd = fds[i], .events = POLLIN };
	watchdog->reset_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watchdog->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = watchdog->reset_fd < 0 || watchdog->end_fd < 0 ? -errno : start(watchdog);
	if (ret) {
		free_parts(watchdog);
		return ret;
	}
	*out = watchdog;
	return 0;
}

static void signal_fd(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void watchdog_free(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	signal_fd(watchdog->end_fd);
	pthread_join(watchdog->thread, NULL);
	free_parts(watchdog);
}

bool watchdog_reset(struct watchdog *watchdog)
{
	bool fired;

	pthread_mutex_lock(&watchdog->lock);
	fired = watchdog->fired;
	__atomic_store_n(&watchdog->fired, false, __ATOMIC_SEQ_CST);
	if (watchdog->waiting)
		signal_fd(watchdog->reset_fd);
	pthread_mutex_unlock(&watchdog->lock);
	return fired;
}

bool watchdog_has_fired(const struct watchdog *watchdog)
{
	return __atomic_load_n(&watchdog->fired, __ATOMIC_SEQ_CST);
}
