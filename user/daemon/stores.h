/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel has reported: routes, links, addresses, neighbours, next-hop objects, rules.
 * Filled by apply_*.c, read by everybody. Plain data.
 */
#ifndef USER_DAEMON_STORES_H
#define USER_DAEMON_STORES_H

#include "../resolve/resolve.h"
#include "../rib/addrs.h"
#include "../rib/neighs.h"
#include "../rib/nexthops.h"
#include "../rib/rules.h"
#include "port_names.h"

struct stores {
	struct rib *rib;
	struct links links;
	struct addrs addrs;
	struct neighs *neighs;
	struct nexthops *nexthops;
	struct rules rules;
	struct rules_program program; /* compiled rules; those in the maps if rules_published */
	bool rules_known;	      /* rules holds a whole list */
	bool rules_published;	      /* the maps hold program */
	bool rules_ready;	      /* ... and it is the current list */
	bool flow_labels;	      /* the kernel sets a flow label in its ICMPv6 errors */
	struct resolve *resolve;
	struct resolve_view view;      /* what resolve reads */
	struct port_names *port_names; /* of the settings */
};

#endif
