/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiled FIB: built after the first synchronisation, and again when it was dropped. Compared
 * with the daemon's own table for `sixlane fib verify`.
 */
#ifndef USER_DAEMON_COMPILED_H
#define USER_DAEMON_COMPILED_H

#include "../fib/fib.h"

struct sync;

struct compile_state {
	uint64_t next_ns, wait_ns; /* when to try again, and the wait after that */
	uint64_t built_at;	   /* seconds since the epoch; 0: never */
	bool built;		   /* ... and not known to be dropped since */
	bool failed;		   /* the log says so */
};

struct verify_state {
	struct fib_verify run;
	bool running;
	uint64_t number;	 /* of the request that is carried out */
	unsigned int n_reported; /* wrong addresses in the log */
};

/* Both return when to call them again; UINT64_MAX: no deadline. */
uint64_t compile_run(struct sync *sync);
uint64_t verify_run(struct sync *sync);
/* The compiled FIB gave a wrong answer: drop it, and build it again after a while. */
void compile_invalidate(struct sync *sync);

#endif
