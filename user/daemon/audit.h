/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel changes routes without a message. The audit compares the RIB with the kernel's own
 * tables all the time, under a budget of CPU time. Where the two differ, the RIB takes over what
 * the kernel has. Its parts: audit_table.c (the tables and their pieces), audit_place.c (single
 * destinations that are read out of turn) and audit.c (passes through the tables).
 *
 * Without the kernel reader (no BTF, or no right to read) the tables are dumped instead, and what
 * dumps leave out is punted.
 */
#ifndef USER_DAEMON_AUDIT_H
#define USER_DAEMON_AUDIT_H

#include "../rib/rib.h"
#include "audit_place.h"
#include "audit_table.h"
#include "kernel_routes.h"

struct sync;

struct audit {
	struct kernel_reader *reader; /* NULL: the tables are dumped */
	struct kernel_routes routes;  /* of the destination that was read last */

	/* audit_table.c */
	struct audit_table *tables;
	size_t n_tables;
	uint64_t listed_ns;	  /* when the list was last complete */
	uint64_t passes, pass_ns; /* passes through all tables; duration of the last one */
	uint64_t passed_ns;	  /* ... and its end */

	/* audit.c */
	uint64_t next_tables_ns, next_piece_ns;
	bool quiet; /* differences found now are expected, and not counted */

	/* audit_place.c. The list: first the places that are to be read, then the others. */
	TAILQ_HEAD(audit_places, audit_place) list;
	void *places;		/* the same as a tree of tsearch() */
	size_t n_soon;		/* places that are to be read */
	uint64_t next_soon_ns;	/* none of those is due earlier */
	uint64_t next_check_ns; /* none of the others is due earlier */
	struct audit_place all; /* stands for all tables */
	uint64_t corrected[RIB_N_DIFFERENCES];
};

/* Opens the kernel reader; if that fails a warning says why. NULL: out of memory. */
struct audit *audit_new(void);
void audit_free(struct audit *audit);

/*
 * Read all tables now, as after a dump, which may leave routes out and not say all of them.
 * Differences are not counted.
 */
void audit_read_all(struct sync *sync);

/* Read the next piece and what else is due. */
void audit_run(struct sync *sync);
uint64_t audit_due_ns(const struct sync *sync);
/*
 * Without a kernel reader: when the next full synchronisation is due as an audit, after one that
 * took cost_ns of CPU time. UINT64_MAX: never.
 */
uint64_t audit_dump_due_ns(const struct sync *sync, uint64_t cost_ns);

struct sixlane_meta;
void audit_write_meta(const struct audit *audit, struct sixlane_meta *meta);

#endif
