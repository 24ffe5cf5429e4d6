/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages that cannot be applied, or only in part: counted, logged, and followed by another
 * synchronisation.
 */
#ifndef USER_DAEMON_REPORT_H
#define USER_DAEMON_REPORT_H

#include "statistics.h"

struct sync;

/* ret: 0, -ENOMSG (not for us), or -errno of a parser or store. object: for the log. */
void report_message(struct sync *sync, const char *object, int ret);
/* Log an unknown attribute of an object once. unknown_attr: 1 + its number; 0: none. */
void report_unknown_attr(struct statistics *statistics, enum report_object object,
			 uint16_t unknown_attr);

#endif
