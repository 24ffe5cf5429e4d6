/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs the guard and writes what it decides to the maps: port flags, pairs of ports, IPsec
 * policies.
 */
#ifndef USER_DAEMON_GUARD_APPLY_H
#define USER_DAEMON_GUARD_APPLY_H

#include "../guard/guard.h"
#include "watchdog.h"

struct loader_flows;
struct sync;

/* The guard, and which of its decisions are in the maps. */
struct guard_state {
	struct guard *guard;
	struct watchdog *watchdog;  /* NULL before guard_apply_start() */
	uint64_t due_ns;	    /* the guard asks to be run then */
	struct loader_flows *flows; /* the extension that looks packets up in flowtables */
	int flows_error;	    /* last -errno logged; 0: none */
	bool ready;		    /* the maps have what the guard decided */
	bool slow;		    /* reading takes too long; every packet passes meanwhile */
	bool unreported;	    /* the log may lack what is held back now */
	bool tightens;	    /* first step of an update: nothing that was held back becomes free */
	int policies_error; /* -errno of writing the IPsec policies; 0: written */
	uint64_t policies_version;			 /* of the policies in the maps */
	char reported[GUARD_N_CAUSES][GUARD_REASON_LEN]; /* last reason logged for each cause */
};

/* The links were read for the first time: packets may be forwarded from now on. */
void guard_apply_start(struct sync *sync);
/* Call when the guard's descriptors have input, when it is due, and between other work. */
void guard_apply_run(struct sync *sync);
/* Write all of it. */
void guard_apply_all(struct sync *sync);

#endif
