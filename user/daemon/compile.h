/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiled FIB: built after the first synchronisation, and again when it was dropped.
 */
#ifndef USER_DAEMON_COMPILE_H
#define USER_DAEMON_COMPILE_H

#include <stdbool.h>
#include <stdint.h>

struct sync;

struct compile_state {
	uint64_t next_ns, wait_ns; /* when to try again, and the wait after that */
	uint64_t built_at;	   /* seconds since the epoch; 0: never */
	bool built;		   /* ... and not known to be dropped since */
	bool failed;		   /* the log says so */
};

/* Returns when to call it again; UINT64_MAX: no deadline. */
uint64_t compile_run(struct sync *sync);
/* It is wrong: drop it, and build it again after a while. */
void compile_invalidate(struct sync *sync);

#endif
