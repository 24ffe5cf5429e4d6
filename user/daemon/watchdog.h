/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A second pair of eyes on the guard's sockets. The daemon's thread may be busy for longer than a
 * change of a firewall may take to act; then this one has every packet passed to the kernel until
 * that thread has looked.
 *
 * Its thread touches nothing but one word of sl_meta, by one atomic operation.
 */
#ifndef USER_DAEMON_WATCHDOG_H
#define USER_DAEMON_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watchdog;

/* How long input may wait: with the time to wake up less than 50 ms. */
#define WATCHDOG_WAIT_MS 25

/*
 * fds (-1: none) are watched for input, and borrowed. When input has waited for WATCHDOG_WAIT_MS,
 * the bits are cleared in *word. 0 or -errno; free with watchdog_free(), before the descriptors
 * close.
 */
int watchdog_new(const int *fds, size_t n, uint32_t *word, uint32_t bits, struct watchdog **out);
void watchdog_free(struct watchdog *watchdog);

/* All input that there was is read: watch for what comes from now on. True: the bits were cleared
 * since the last reset, and are the caller's to set again. */
bool watchdog_reset(struct watchdog *watchdog);
/* The bits were cleared since the last reset: they are to stay so. */
bool watchdog_has_fired(const struct watchdog *watchdog);

#endif
