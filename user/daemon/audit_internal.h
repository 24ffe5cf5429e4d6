/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the audit share: audit.c (passes through the tables) and audit_place.c (places
 * that are read out of turn). Nothing else includes it.
 */
#ifndef USER_DAEMON_AUDIT_INTERNAL_H
#define USER_DAEMON_AUDIT_INTERNAL_H

#include <sys/queue.h>

#include "../rib/radix.h"
#include "audit.h"
#include "kernel_reader.h"
#include "kernel_routes.h"

/*
 * A destination in a table that is not left to the passes: its routes are unsteady, an event
 * pointed at it, or a pass saw a difference there.
 */
struct audit_place {
	TAILQ_ENTRY(audit_place) in_list;
	struct prefix dst;
	uint32_t table;
	uint32_t n_left; /* readings to come */
	uint64_t due_ns; /* of the next one, or of a look at what expires */
	bool counted;	 /* a difference is one of the passes */
};

/* See audit.c. Its prefix is its last destination; of a table's last piece, the greatest one. */
struct audit_piece {
	struct radix_node node; /* first */
	uint64_t sum;		/* of its routes, which the RIB has, too; 0: perhaps not */
};

struct audit_table {
	uint32_t id;
	bool incomplete; /* the pass under way has not read all exceptions */
	struct kernel_cursor cursor;
	struct radix pieces;
	uint64_t begin_ns;	/* of the pass under way, 0: none */
	uint64_t before_ns;	/* of the last whole one */
	uint64_t read_since_ns; /* all that there is was seen since */
	uint64_t turn_ns; /* its last piece; or if no pass is under way when the next begins */
};

struct audit {
	struct kernel_reader *reader; /* NULL: the tables are dumped */
	struct kernel_routes routes;  /* of the destination that is looked at */

	struct audit_table *tables;
	size_t n_tables;
	uint64_t listed_ns; /* when the list was whole */
	uint64_t next_tables_ns, next_piece_ns;
	uint64_t passes, pass_ns; /* all tables, and how long that took last … */
	uint64_t passed_ns;	  /* … and when */
	bool quiet;		  /* what a pass finds now is nothing to report */

	/* All places: those that are to be read, then the others, … */
	TAILQ_HEAD(audit_places, audit_place) list;
	void *places;		/* … and the same as a tree by tsearch() */
	size_t n_soon;		/* of them, that are to be read */
	uint64_t next_soon_ns;	/* none of those is due earlier, … */
	uint64_t next_look_ns;	/* … and none of the others */
	struct audit_place all; /* not a place, but all tables */

	uint64_t mended[RIB_N_DIFFERENCES];
};

/* audit.c. The RIB has changed there, or differs: the next pass compares that piece. */
void audit_forget(struct audit *audit, uint32_t table, const struct prefix *dst);
/* audit_place.c. In the order of a walk. */
int audit_prefix_compare(const struct prefix *a, const struct prefix *b);
/* What was read into audit->routes is what the RIB has from now on. */
void audit_place_put(struct sync *sync, uint32_t table, const struct prefix *dst);
/* A pass saw a difference: audit_places_run() mends it. 0 or -E2BIG. */
int audit_suspect(struct audit *audit, uint32_t table, const struct prefix *dst);
/* It is read now. */
void audit_place_take(struct audit_place *place, uint64_t now_ns);
/* Read all places that are due. */
void audit_places_run(struct sync *sync);
void audit_places_free(struct audit *audit);

#endif
