/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ports with flowtables get the extension that looks packets up there (loader/flows.h).
 */
#ifndef USER_DAEMON_FLOWS_H
#define USER_DAEMON_FLOWS_H

#include <stdbool.h>

struct loader_flows;
struct sync;

struct flows_state {
	struct loader_flows *extension;
	int error; /* last -errno logged; 0: none */
};

/* Update all ports. True: the guard decided anew and is to be applied. */
bool flows_run(struct sync *sync);

#endif
