/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of `sixlane lookup` share: lookup.c asks and prints, lookup_route.c finds the
 * route of an address.
 */
#ifndef USER_CLI_LOOKUP_H
#define USER_CLI_LOOKUP_H

#include "cmd.h"
#include "trace.h"

struct loader_run;

/* Packets to an address; what is not told may be anything. */
struct lookup_query {
	union sixlane_addr dst, src;
	uint32_t ingress; /* ifindex; 0: any port */
	uint32_t table;	  /* ask this one whatever the rules say; 0: as they say */
	bool has_src;
};

/* What was not told, and the answer may be another with it. */
#define LOOKUP_ON_SOURCE (1u << 0)
#define LOOKUP_ON_PORT (1u << 1)
#define LOOKUP_ON_TCLASS (1u << 2)
#define LOOKUP_ON_FLOW (1u << 3) /* protocol and ports */

struct lookup_route {
	uint32_t verdict;
	uint32_t table; /* of the route */
	uint32_t depends;
	struct route_view view; /* without a value: no route */
};

/*
 * *run: the program, opened when it is needed first: for a port that was named, and where rules
 * choose the table. Close it with loader_run_close(). 0, or -errno (said).
 */
int lookup_find(const struct cmd_view *view, const struct lookup_query *query,
		struct loader_run **run, struct lookup_route *out);

/* What the rules that were tried ask for and the query leaves open: LOOKUP_ON_*. */
uint32_t lookup_left_open(const struct trace_rule *rules, uint32_t n,
			  const struct lookup_query *query);

#endif
