/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of the daemon, and everything of sl_meta that only the CLI reads.
 */
#ifndef USER_DAEMON_STATISTICS_H
#define USER_DAEMON_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "sockets.h"

struct sync;

struct statistics {
	uint64_t generation; /* successful synchronisations, of earlier daemons too */
	uint64_t overruns, malformed;
	uint64_t sync_ns;			     /* duration of the last synchronisation */
	uint64_t synced_at;			     /* its end, seconds since the epoch */
	bool reported_missing;			     /* the log says that routes do not fit */
	uint64_t unknown_reported[REPORT_N_OBJECTS]; /* bit n: attribute n was logged */
};

/* Write all of it to sl_meta. */
void statistics_write(struct sync *sync);

#endif
