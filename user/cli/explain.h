/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of `sixlane explain` share: explain.c asks and answers, explain_port.c
 * finds where the packet comes in, explain_words.c and explain_out.c tell every step,
 * explain_json.c the results.
 */
#ifndef USER_CLI_EXPLAIN_H
#define USER_CLI_EXPLAIN_H

#include "../guard/ruleset.h"
#include "../loader/run.h"
#include "packet.h"
#include "show.h"
#include "trace.h"

#define EXPLAIN_MAX_STEPS 512

/* In what the results of the two programs differ. */
#define EXPLAIN_VERDICT (1u << 0)
#define EXPLAIN_COUNTED_FOR (1u << 1)
#define EXPLAIN_ACTION (1u << 2)
#define EXPLAIN_FRAME (1u << 3)

struct explain_step {
	const char *name;
	char *text; /* owned */
};

struct explain {
	struct cmd_view view;
	struct packet packet;
	bool has_mac; /* the frame's destination MAC was asked for */
	bool daemon;

	/* Where it comes in. */
	const struct link *port; /* as asked for or chosen */
	const char *port_reason;
	const struct link *ingress; /* what the program runs on: of a VLAN the lower, of a bond a
				       slave */
	struct loader_prog prog;    /* … and which one that is */
	bool prog_known;	    /* prog could be read */
	bool same_build;	    /* as the object that was run here */
	char compiler[LOADER_COMPILER_LEN]; /* of that object; "": it does not say */

	/* What the program recorded, and what came of it. */
	struct trace trace;
	struct sources sources;
	const struct source *source; /* the prefix in the source set; NULL: none */
	uint8_t frame[LOADER_RUN_ROOM];
	size_t frame_len;
	struct loader_run_result traced; /* by the trace flavour */
	struct loader_run_result result; /* by the flavour that runs on the port */
	struct packet out, traced_out;	 /* of their frames; zero: not a whole IPv6 frame */
	uint32_t differs;		 /* EXPLAIN_*; 0: the two did the same */

	char held_by[GUARD_REASON_LEN]; /* of a verdict of the guard's; "": another one */
	struct explain_step steps[EXPLAIN_MAX_STEPS];
	size_t n_steps;
};

/*
 * Set port, ingress and what depends on them in packet. name: of the port, NULL: choose.
 * CMD_OK, CMD_USAGE or CMD_FAILED (said).
 */
int explain_find_port(struct explain *explain, const char *name);

/* Everything, in words, into steps. False: out of memory. */
bool explain_tell(struct explain *explain);

/* explain_words.c: another step. */
void explain_say(struct explain *explain, const char *name, const char *fmt, ...) _printf_(3, 4);
/* A device's name, or "#IFINDEX" for one that is not in this namespace. */
const char *explain_device(const struct explain *explain, uint32_t ifindex, char buf[IFNAMSIZ]);

/* explain_out.c */
void explain_tell_way_out(struct explain *explain);
void explain_tell_verdict(struct explain *explain);
/* "verdict", "counted_for" … of EXPLAIN_*; NULL: no such bit. */
const char *explain_difference(uint32_t bit);
/* Offset of the first byte in which the two frames differ, or the length of the shorter one. */
size_t explain_differs_at(const struct explain *explain);
/* "XDP_PASS" … */
const char *explain_action(uint32_t action);

json_t *explain_json(const struct explain *explain);

#endif
