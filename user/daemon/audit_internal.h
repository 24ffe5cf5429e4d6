/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the audit share: audit.c (passes through the tables), audit_place.c (one
 * destination), audit_event.c (what events point at). Nothing else includes it.
 */
#ifndef USER_DAEMON_AUDIT_INTERNAL_H
#define USER_DAEMON_AUDIT_INTERNAL_H

#include "audit.h"
#include "kernel_reader.h"
#include "kernel_routes.h"

/* A destination in a table. */
struct audit_place {
	uint32_t table;
	struct prefix dst;
};

struct audit_places {
	struct audit_place *list;
	size_t n, capacity;
};

#define AUDIT_MAX_SOON 256u

/* To be read at due_ns. */
struct audit_soon {
	struct audit_place place;
	uint64_t due_ns;
	uint32_t n_read; /* since the event */
};

struct audit_table {
	uint32_t id;
	bool known;
	bool cut; /* of the pass under way, not all exceptions were read */
	struct kernel_cursor cursor;
	uint64_t begin_ns;	/* of the pass under way, 0: none; … */
	uint64_t read_since_ns; /* … of the one before, which is through */
	uint64_t turn_ns; /* its last piece; or if no pass is under way when the next begins */
};

struct audit {
	struct kernel_reader *reader; /* NULL: the tables are dumped */
	struct kernel_routes routes;  /* of the destination that is looked at */
	struct audit_table *tables;
	size_t n_tables;
	uint64_t listed_ns;	      /* when the list was whole */
	struct audit_places suspects; /* in the piece that was read last */
	struct audit_places unsteady; /* those with unsteady routes; others, and some twice */
	size_t untidy_n;	      /* more of them than are kept without a tidy() */

	struct audit_soon soon[AUDIT_MAX_SOON];
	size_t n_soon;
	struct audit_soon all; /* not a place, but all tables; due_ns 0: not */

	struct audit_place probed;	  /* the one that is being read, … */
	bool probing, touched;		  /* … while messages about it may come */
	uint64_t looked_ns, next_look_ns; /* at what of them expires */
	uint64_t next_tables_ns, next_piece_ns;
	uint64_t passes, pass_ns; /* all tables, and how long that took last … */
	uint64_t passed_ns;	  /* … and when */
	uint64_t mended[RIB_N_DIFFERENCES];
};

/* audit_place.c. In the order of a walk. */
int audit_prefix_compare(const struct prefix *a, const struct prefix *b);
/* 0 or -errno. */
int audit_place_add(struct audit_places *places, uint32_t table, const struct prefix *dst);
/* What was read into audit->routes is what the RIB has from now on. */
void audit_place_put(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * Read it, apply all messages that came meanwhile, and if the two still differ take over what the
 * kernel has. expected: a difference is nothing to report.
 */
void audit_place_mend(struct sync *sync, const struct audit_place *place, bool expected);

/* audit_event.c */
void audit_event_run(struct sync *sync, uint64_t now_ns);
uint64_t audit_event_due_ns(const struct audit *audit);

#endif
