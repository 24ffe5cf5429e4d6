/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard, and what of its decisions is in the maps. Plain data: guard_ports.c and guard_apply.c
 * write it, meta.c reads it.
 */
#ifndef USER_DAEMON_GUARD_STATE_H
#define USER_DAEMON_GUARD_STATE_H

#include "../guard/guard.h"
#include "watchdog.h"

struct guard_state {
	struct guard *guard;
	struct watchdog *watchdog; /* NULL before guard_apply_start() */
	uint64_t due_ns;	   /* the guard asks to be run then */
	bool ready;		   /* the maps have what the guard decided */
	bool slow;		   /* reading takes too long; every packet passes meanwhile */
	bool unreported;	   /* the log may lack what is held back now */
	bool tightens;	    /* first step of an update: nothing that was held back becomes free */
	int policies_error; /* -errno of writing the IPsec policies; 0: written */
	uint64_t policies_version;			 /* of the policies in the maps */
	char reported[GUARD_N_CAUSES][GUARD_REASON_LEN]; /* last reason logged for each cause */
};

#endif
