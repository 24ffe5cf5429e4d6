/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of the daemon: what the kernel reported (stores), the sockets, what is wanted and when
 * (schedule), statistics, and the state of each component. One thread.
 */
#ifndef USER_DAEMON_DAEMON_H
#define USER_DAEMON_DAEMON_H

#include "../maps/maps.h"
#include "compile.h"
#include "config.h"
#include "exceptions.h"
#include "flows.h"
#include "guard_ports.h"
#include "neigh_refresh.h"
#include "quarantine.h"
#include "schedule.h"
#include "sockets.h"
#include "statistics.h"
#include "stores.h"
#include "verify.h"

struct sync {
	const struct config *config;
	const struct loader_maps *fds;
	struct maps *maps;
	struct fib *fib;

	struct stores stores;
	struct sockets sockets;
	struct schedule schedule;
	struct statistics statistics;

	struct audit *audit;
	struct exceptions *exceptions;
	struct icmp_events icmp_events;
	struct guard_state guard;
	struct flows_state flows;
	struct uppers *uppers; /* NULL: not read yet, or sysfs cannot be mounted */
	struct operator_list *operator;
	struct parity_state *parity;
	struct quarantine quarantine; /* prefixes on which the parity check disagreed */
	struct neigh_refresh refresh;
	struct compile_state compile;
	struct verify_state verify;
};

#endif
