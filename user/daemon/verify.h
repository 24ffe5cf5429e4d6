/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `sixlane fib verify`: compares the compiled FIB with the daemon's own table.
 */
#ifndef USER_DAEMON_VERIFY_H
#define USER_DAEMON_VERIFY_H

#include "../fib/fib.h"

struct sync;

struct verify_state {
	struct fib_verify run;
	bool running;
	uint64_t number;	 /* of the request that is carried out */
	unsigned int n_reported; /* wrong addresses in the log */
};

/* Returns when to call it again; UINT64_MAX: no deadline. */
uint64_t verify_run(struct sync *sync);

#endif
