/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet that `sixlane explain` explains: what is known about it, and the list of steps in words
 * that the files of the command fill.
 */
#ifndef USER_CLI_EXPLAIN_H
#define USER_CLI_EXPLAIN_H

#include "../guard/ruleset.h"
#include "../loader/run.h"
#include "packet.h"
#include "show.h"
#include "trace.h"

#define EXPLAIN_MAX_STEPS 512

/* Bits: where the results of the two programs differ. */
#define EXPLAIN_VERDICT (1u << 0)
#define EXPLAIN_COUNTED_FOR (1u << 1)
#define EXPLAIN_ACTION (1u << 2)
#define EXPLAIN_FRAME (1u << 3)
extern const char *const explain_difference_names[4]; /* bit by bit */

struct explain_step {
	const char *name;
	char *text; /* owned */
};

struct explain {
	struct cmd_view view;
	struct packet packet;
	bool has_mac; /* the command line gave the frame's destination MAC */
	bool daemon;  /* it runs */

	/* The ingress. */
	const struct link *port; /* given or chosen */
	const char *port_reason;
	const struct link *ingress; /* where the program runs: below a VLAN, or a bond's slave */
	struct loader_prog prog;    /* the program there */
	bool prog_known;	    /* prog could be read */
	bool same_build;	    /* prog is of the object that ran here */
	char compiler[LOADER_COMPILER_LEN]; /* of that object; "": unknown */

	/* The results. */
	struct trace trace;
	struct entries sources;
	const struct entry *source; /* the source-specific route; NULL: none */
	uint8_t frame[LOADER_RUN_ROOM];
	size_t frame_len;
	struct loader_run_result traced; /* of the trace flavour */
	struct loader_run_result result; /* of the flavour that runs on the port */
	struct packet out, traced_out;	 /* their frames; zero: not a whole IPv6 frame */
	uint32_t differs;		 /* EXPLAIN_*; 0: both did the same */

	char guard_reason[GUARD_REASON_LEN]; /* "": the verdict is not the guard's */
	struct explain_step steps[EXPLAIN_MAX_STEPS];
	size_t n_steps;
};

/* Appends a step. Beyond EXPLAIN_MAX_STEPS it is dropped; without memory its text is NULL. */
void explain_add(struct explain *explain, const char *name, const char *fmt, ...) _printf_(3, 4);

/* The facts of the last record of a step; NULL: not reached. */
const union sixlane_trace_facts *explain_facts(const struct explain *explain,
					       enum sixlane_trace_step step);

#define EXPLAIN_HOP_LEN 96
/* "via GATEWAY dev PORT", without the gateway if the hop has none. none: instead of the name of a
 * port that the hop lacks; NULL: without "dev". */
const char *explain_hop_text(const struct explain *explain, const struct hop_view *hop,
			     const char *none, char buf[EXPLAIN_HOP_LEN]);

/* Offset of the first byte in which the two frames differ, or the length of the shorter one. */
size_t explain_differs_at(const struct explain *explain);
/* "XDP_PASS" … */
const char *explain_action(uint32_t action);

/* Sets port (unless it is set), ingress, prog, and the MACs and tags of packet. The port is the
 * served one by which the packet's source is reached, or else the first served one. The program
 * runs below VLAN devices and on the slaves of bonds. CMD_OK, or CMD_FAILED after logging. */
int explain_find_port(struct explain *explain);

/* Adds the steps packet, maps, port, mac and decided. */
void explain_add_ingress(struct explain *explain);
/* Adds the steps rules, table, prefix, source, route, group, bucket and member. */
void explain_add_route(struct explain *explain);

/* Adds the steps exception, egress, guard, neighbour, mtu and slave. */
void explain_add_egress(struct explain *explain);
/* Sets guard_reason and adds the steps guard reason, program, trace, answer, output and verdict. */
void explain_add_verdict(struct explain *explain);

/* Most keys are always there, and null where there is nothing to report. */
json_t *explain_json(const struct explain *explain);

#endif
