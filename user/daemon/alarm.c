// SPDX-License-Identifier: GPL-2.0-only
/*
 * See alarm.h. The two threads meet in a lock, and in two descriptors of events: one says that
 * input was read, the other that it is time to end.
 */
#include "alarm.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#include "../lib/util.h"

#define MAX_WATCHED 8

struct alarm {
	struct pollfd watched[MAX_WATCHED];
	size_t n;
	uint32_t *word, bits;
	int reset_fd, end_fd;
	pthread_mutex_t lock;
	bool raised;  /* written under lock, read atomically */
	bool waiting; /* for reset_fd; under lock */
	pthread_t thread;
};

static bool has_input(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, 0) > 0;
}

static void take(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof(n)) > 0)
		;
}

/* Until there is input or the end. False: the end. */
static bool wait_for_input(struct alarm *alarm)
{
	struct pollfd fds[MAX_WATCHED + 1];

	memcpy(fds, alarm->watched, alarm->n * sizeof(*fds));
	fds[alarm->n] = (struct pollfd){ .fd = alarm->end_fd, .events = POLLIN };
	while (poll(fds, alarm->n + 1, -1) < 0 && errno == EINTR)
		;
	return !has_input(alarm->end_fd);
}

/* Until input was read, the end comes, or timeout_ms (-1: never) are over. */
static void wait_for_reset(struct alarm *alarm, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = alarm->reset_fd, .events = POLLIN },
				{ .fd = alarm->end_fd, .events = POLLIN } };

	while (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0 && errno == EINTR)
		;
}

static void set_waiting(struct alarm *alarm, bool waiting)
{
	pthread_mutex_lock(&alarm->lock);
	alarm->waiting = waiting;
	if (!waiting)
		take(alarm->reset_fd);
	pthread_mutex_unlock(&alarm->lock);
}

/* Unless the input was read meanwhile. */
static bool raise_alarm(struct alarm *alarm)
{
	bool raised;

	pthread_mutex_lock(&alarm->lock);
	raised = poll(alarm->watched, alarm->n, 0) > 0 && !has_input(alarm->reset_fd);
	if (raised) {
		__atomic_store_n(&alarm->raised, true, __ATOMIC_SEQ_CST);
		__atomic_fetch_and(alarm->word, ~alarm->bits, __ATOMIC_SEQ_CST);
	}
	pthread_mutex_unlock(&alarm->lock);
	return raised;
}

static void *watch(void *ctx)
{
	struct alarm *alarm = ctx;

	while (wait_for_input(alarm)) {
		set_waiting(alarm, true);
		wait_for_reset(alarm, ALARM_WAIT_MS);
		if (raise_alarm(alarm))
			wait_for_reset(alarm, -1);
		set_waiting(alarm, false);
	}
	return NULL;
}

/* Signals are the daemon's thread's. */
static int start(struct alarm *alarm)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(&alarm->thread, NULL, watch, alarm);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static void free_parts(struct alarm *alarm)
{
	util_close(&alarm->reset_fd);
	util_close(&alarm->end_fd);
	pthread_mutex_destroy(&alarm->lock);
	free(alarm);
}

int alarm_new(const int *fds, size_t n, uint32_t *word, uint32_t bits, struct alarm **out)
{
	struct alarm *alarm = calloc(1, sizeof(*alarm));
	int ret;

	if (!alarm)
		return -ENOMEM;
	pthread_mutex_init(&alarm->lock, NULL);
	alarm->word = word;
	alarm->bits = bits;
	for (size_t i = 0; i < n && alarm->n < MAX_WATCHED; i++)
		if (fds[i] >= 0)
			alarm->watched[alarm->n++] =
				(struct pollfd){ .fd = fds[i], .events = POLLIN };
	alarm->reset_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	alarm->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = alarm->reset_fd < 0 || alarm->end_fd < 0 ? -errno : start(alarm);
	if (ret) {
		free_parts(alarm);
		return ret;
	}
	*out = alarm;
	return 0;
}

static void give(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void alarm_free(struct alarm *alarm)
{
	if (!alarm)
		return;
	give(alarm->end_fd);
	pthread_join(alarm->thread, NULL);
	free_parts(alarm);
}

bool alarm_reset(struct alarm *alarm)
{
	bool raised;

	pthread_mutex_lock(&alarm->lock);
	raised = alarm->raised;
	__atomic_store_n(&alarm->raised, false, __ATOMIC_SEQ_CST);
	if (alarm->waiting)
		give(alarm->reset_fd);
	pthread_mutex_unlock(&alarm->lock);
	return raised;
}

bool alarm_is_raised(const struct alarm *alarm)
{
	return __atomic_load_n(&alarm->raised, __ATOMIC_SEQ_CST);
}
