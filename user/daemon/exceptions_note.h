/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exceptions that the kernel reader returned, into the store.
 */
#ifndef USER_DAEMON_EXCEPTIONS_NOTE_H
#define USER_DAEMON_EXCEPTIONS_NOTE_H

#include <stddef.h>
#include <stdint.h>

struct kernel_record;
struct kernel_view;
struct sync;

/*
 * records: routes of one destination of a table, or next-hop objects, each followed by its
 * exceptions. 0, or -E2BIG: the view is cut; what it has was stored.
 */
int exceptions_note(struct sync *sync, uint32_t table, const struct kernel_view *view,
		    const struct kernel_record *records, size_t n);

#endif
