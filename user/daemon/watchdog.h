/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches the guard's sockets in a thread of its own. The main thread may be busy for longer than a
 * change of a firewall may take to act. The watchdog then makes every packet pass until the main
 * thread has read its input. Its thread changes nothing but one word of sl_meta, by one atomic
 * operation.
 */
#ifndef USER_DAEMON_WATCHDOG_H
#define USER_DAEMON_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watchdog;

/* How long input may wait. With the time to wake up that is less than 50 ms. */
#define WATCHDOG_WAIT_MS 25

/*
 * Watch fds (-1: none) for input; they must stay open until watchdog_free(). When input has waited
 * for WATCHDOG_WAIT_MS, the watchdog fires: bits are cleared in *word. 0 or -errno.
 */
int watchdog_new(const int *fds, size_t n, uint32_t *word, uint32_t bits, struct watchdog **out);
void watchdog_free(struct watchdog *watchdog);

/* All input was read. True: it had fired, and the caller may set the bits again. */
bool watchdog_reset(struct watchdog *watchdog);
/* It has fired since the last reset: the bits must stay cleared. */
bool watchdog_has_fired(const struct watchdog *watchdog);

#endif
