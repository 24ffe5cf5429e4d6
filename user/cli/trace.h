/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the trace flavour of the program recorded of one packet (bpf/abi/trace.h), as the commands
 * ask for it. Decides nothing: it reads records, and in the maps what they name.
 */
#ifndef USER_CLI_TRACE_H
#define USER_CLI_TRACE_H

#include "route_view.h"

/* The facts of the last record of a step; NULL: the packet did not come to it. */
const union sixlane_trace_facts *trace_facts(const struct sixlane_trace *trace,
					     enum sixlane_trace_step step);
/* "egress" … */
const char *trace_step_name(uint32_t step);

struct trace_rule {
	struct sixlane_rule rule;
	uint32_t outcome;  /* enum sixlane_trace_rule_outcome */
	uint32_t selector; /* SIXLANE_RULE_*, of DIFFERS; _INVERT: all hold, and none should */
};
/* The rules that were tried, in order. Returns how many. */
uint32_t trace_rules(const struct maps *maps, const struct sixlane_trace *trace,
		     struct trace_rule out[SIXLANE_MAX_RULES]);

struct trace_route {
	bool by_rules;
	uint32_t table;	       /* that was asked last; 0: none, or a rule decided without one */
	uint32_t value;	       /* of the route by which the packet went; 0: none */
	uint32_t source_value; /* of the source set's entry; 0: none */
	union sixlane_nh_entry nh_entry;
};
void trace_route(const struct sixlane_trace *trace, struct trace_route *out);

#define TRACE_MAX_DRAWS 16u
#define TRACE_NO_MEMBER ROUTE_MAX_MEMBERS

/* Where a hash fell. A member whose port is down is passed over, and another one drawn. */
struct trace_draw {
	uint32_t bucket; /* from 0 on; of a resilient group the bucket's index */
	uint32_t member; /* index in the group, or TRACE_NO_MEMBER */
	bool skipped;
};
struct trace_choice {
	uint32_t n_draws;
	struct trace_draw draws[TRACE_MAX_DRAWS];
	bool scanned;	 /* no draw fell upon a member in use: all were asked, by their shares */
	uint32_t chosen; /* index, or TRACE_NO_MEMBER */
};
void trace_choice(const struct sixlane_trace *trace, const struct group_view *group,
		  struct trace_choice *out);

/* All that a trace says, with what the maps hold of it. */
struct trace {
	struct sixlane_trace records;
	uint32_t verdict, slot; /* that the packet was counted for */
	uint32_t decided; /* before the route: what follows is how it would go on, were it not so */
	const union sixlane_trace_facts
		*in;		  /* PORT or ARRIVAL, that by which it came in; never NULL */
	struct sixlane_port port; /* of in's slot; zero without one */
	bool by_slave;		  /* of the bond in */
	uint32_t n_rules;
	struct trace_rule rules[SIXLANE_MAX_RULES];
	struct trace_route route;
	struct route_view view; /* of route.value, with the exception and the hop of this packet */
	struct trace_choice choice;
};

/* What was decided behind the route, whatever was before it; SIXLANE_FORWARD: nothing. */
uint32_t trace_behind_route(const struct sixlane_trace *trace);

/* Packets between these addresses that come in where the traced one did. Borrows all three. */
void trace_packets(const struct trace *trace, const union sixlane_addr *dst,
		   const union sixlane_addr *src, struct route_packets *out);

/*
 * From records, into all others. came_in: ifindex of the device that the program ran on. dst and
 * src: of the packet. An incomplete trace has no verdict but SIXLANE_PASS_NOT_READY.
 */
void trace_read(const struct maps *maps, uint32_t came_in, const union sixlane_addr *dst,
		const union sixlane_addr *src, struct trace *trace);

#endif
