/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the trace flavour of the program recorded about one packet (bpf/abi/trace.h), in the form
 * that commands need. It decides nothing: it reads the records, and the map entries that they name.
 */
#ifndef USER_CLI_TRACE_H
#define USER_CLI_TRACE_H

#include "route_view.h"

/* The facts of the last record of a step; NULL: the packet did not reach it. */
const union sixlane_trace_facts *trace_facts(const struct sixlane_trace *trace,
					     enum sixlane_trace_step step);
/* "egress" … */
const char *trace_step_name(uint32_t step);

struct trace_rule {
	struct sixlane_rule rule;
	uint32_t outcome;  /* enum sixlane_trace_rule_outcome */
	uint32_t selector; /* SIXLANE_RULE_* of DIFFERS; _INVERT: all match, and none should */
};

#define TRACE_MAX_DRAWS 16u
#define TRACE_NO_MEMBER GROUP_MAX_MEMBERS

/* A bucket that the hash selected. If its member's port is down, the hash is mixed again. */
struct trace_draw {
	uint32_t bucket;
	uint32_t member; /* index in the group, or TRACE_NO_MEMBER */
	bool skipped;
};

struct trace {
	struct sixlane_trace records;
	uint32_t verdict, slot; /* slot: port that the packet was counted for */
	uint32_t decided; /* verdict before the route lookup; later steps are hypothetical. 0: none
			   */
	const union sixlane_trace_facts *in; /* of PORT or ARRIVAL; zero facts without either */
	struct sixlane_port port;	     /* of in's slot; zero without one */
	bool by_slave;			     /* the packet came in by a slave of port */

	bool by_rules;
	uint32_t n_rules;
	struct trace_rule rules[SIXLANE_MAX_RULES]; /* those tried, in order */
	uint32_t table; /* the last one looked up; 0: none, or a rule decided without one */
	union sixlane_nh_entry entry; /* next-hop entry of the route */
	struct route_view view;	      /* value 0: no route; with this packet's exception and hop */

	uint32_t n_draws;
	struct trace_draw draws[TRACE_MAX_DRAWS];
	bool scanned;	 /* no draw selected a member in use: the program weighed all of those */
	uint32_t chosen; /* member: index in the group, or TRACE_NO_MEMBER */
};

/* The first verdict that a step after the route lookup gave; SIXLANE_FORWARD: none. */
uint32_t trace_late_verdict(const struct sixlane_trace *trace);

/* The filter for packets between these addresses with the traced packet's ingress. Borrows all. */
struct packet_filter trace_filter(const struct trace *trace, const union sixlane_addr *dst,
				  const union sixlane_addr *src);

/* Sets all fields from records. ifindex: the device that the program ran on. dst, src: the
 * packet's. The verdict of an incomplete trace is SIXLANE_PASS_NOT_READY. */
void trace_read(const struct maps *maps, uint32_t ifindex, const union sixlane_addr *dst,
		const union sixlane_addr *src, struct trace *trace);

#endif
