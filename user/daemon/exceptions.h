/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the kernel's exceptions are read.
 */
#ifndef USER_DAEMON_EXCEPTIONS_H
#define USER_DAEMON_EXCEPTIONS_H

#include <stdint.h>

struct exceptions;
struct sixlane_meta;
struct sync;

struct exceptions *exceptions_new(void);
void exceptions_free(struct exceptions *exceptions);

/*
 * At the end of the first full synchronisation: exceptions_start(), audit_read_all(), then
 * exceptions_check(). From then on exceptions_run() when it is due or anything happens.
 */
void exceptions_start(struct sync *sync);
void exceptions_check(struct sync *sync);
void exceptions_run(struct sync *sync);
uint64_t exceptions_due_ns(const struct sync *sync);
void exceptions_write_meta(const struct sync *sync, struct sixlane_meta *meta);

#endif
