/* SPDX-License-Identifier: GPL-2.0-only */
/* The route of an address, for `sixlane lookup`. */
#ifndef USER_CLI_LOOKUP_ROUTE_H
#define USER_CLI_LOOKUP_ROUTE_H

#include "cmd.h"
#include "trace.h"

struct loader_run;

/* The packets that are asked about; what is not given may be anything. */
struct lookup_query {
	union sixlane_addr dst, src;
	uint32_t ingress; /* ifindex; 0: any port */
	uint32_t table;	  /* look up here, whatever the rules say; 0: as the rules say */
	bool has_src;
};

/* What was not given, although the answer depends on it. */
#define LOOKUP_ON_SOURCE (1u << 0)
#define LOOKUP_ON_PORT (1u << 1)
#define LOOKUP_ON_TCLASS (1u << 2)
#define LOOKUP_ON_FLOW (1u << 3) /* protocol and ports */

struct lookup_route {
	uint32_t verdict;
	uint32_t table;		/* of the route */
	uint32_t depends;	/* LOOKUP_ON_* */
	struct route_view view; /* value 0: no route */
};

/* *run: the program, NULL at first, loaded when a port is given or rules choose the table. Close it
 * with loader_run_close(). 0, or -errno after logging. */
int lookup_find(const struct cmd_view *view, const struct lookup_query *query,
		struct loader_run **run, struct lookup_route *out);

/* LOOKUP_ON_* of the selectors that the rules which were tried have and the query does not give. */
uint32_t lookup_depends(const struct trace_rule *rules, uint32_t n,
			const struct lookup_query *query);

#endif
