/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel changes routes without a message. The audit compares the RIB with the kernel's own
 * tables all the time, under a budget of CPU time. Where the two differ, the RIB takes over what
 * the kernel has. A pass reads
 * a table in pieces; the sum of a piece's routes tells whether it has changed since the last pass.
 * Places are destinations that are read out of turn, since an event points at them, a lifetime ends
 * there, or a pass found a difference.
 *
 * Without the kernel reader (no BTF, or no right to read) the tables are dumped instead, and what
 * dumps leave out is punted.
 */
#ifndef USER_DAEMON_AUDIT_H
#define USER_DAEMON_AUDIT_H

#include <sys/queue.h>

#include "../rib/rib.h"
#include "kernel_reader.h"

struct sync;

/* What one call of the kernel reader returned, known by its last destination. */
struct audit_piece {
	struct radix_node node; /* first; of a table's last piece: the greatest prefix */
	uint64_t sum;		/* of its routes, which the RIB has, too; 0: not known */
};

struct audit_table {
	uint32_t id;
	bool incomplete; /* the pass under way has not read all exceptions */
	struct kernel_cursor cursor;
	struct radix pieces;
	uint64_t begin_ns;	/* start of the pass under way; 0: none */
	uint64_t before_ns;	/* start of the last complete pass */
	uint64_t read_since_ns; /* everything in the table was read after this */
	uint64_t turn_ns;	/* time of its last piece, or start of its next pass */
};

struct audit_place {
	TAILQ_ENTRY(audit_place) in_list;
	struct prefix dst;
	uint32_t table;
	uint32_t n_left; /* readings to come */
	uint64_t due_ns; /* of the next reading, or of the next check of lifetimes */
	bool counted;	 /* a difference is counted and logged */
};

struct audit {
	struct kernel_reader *reader; /* NULL: the tables are dumped */
	struct kernel_routes routes;  /* of the destination that was read last */

	/* the tables */
	struct audit_table *tables;
	size_t n_tables;
	uint64_t listed_ns;	  /* when the list was last complete */
	uint64_t passes, pass_ns; /* passes through all tables; duration of the last one */
	uint64_t passed_ns;	  /* ... and its end */

	/* their passes */
	uint64_t next_tables_ns, next_piece_ns;
	bool quiet; /* differences found now are expected, and not counted */

	/* The places: first the places that are to be read, then the others. */
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

/* --- audit_store.c: tables */

/* All known tables and their exceptions were read after this time; 0: not yet. */
uint64_t audit_read_since_ns(const struct audit *audit);
/* Add the tables that have routes or that rules name, and the next-hop objects if there are any. */
void audit_tables_list(struct sync *sync);
void audit_tables_free(struct audit *audit);
/* The table whose turn it is; NULL: there are none. */
struct audit_table *audit_tables_next(const struct audit *audit);
/* A pass through a table has ended. */
void audit_table_end_pass(struct audit *audit, struct audit_table *table);

/* A route of a table changed, or differs from the kernel's: compare its piece in the next pass. */
void audit_table_invalidate(struct audit *audit, uint32_t table, const struct prefix *dst);
/*
 * Store the sum of the piece that was read from the cursor on. True: neither the kernel nor the RIB
 * has changed there. A piece with lifetimes or exceptions always counts as changed.
 */
bool audit_table_renew_piece(struct audit_table *table, const struct kernel_cursor *from,
			     const struct kernel_view *view);
/* The order in which the kernel reader walks: by address, shorter prefixes first. */
int audit_table_compare(const struct prefix *a, const struct prefix *b);
/* Adds data, a multiple of 8 bytes, to a checksum. */
uint64_t audit_table_sum(uint64_t sum, const void *data, size_t bytes);
/* The first node behind the cursor. radix may be NULL. */
struct radix_node *audit_table_node_after(const struct radix *radix,
					  const struct kernel_cursor *cursor);

/* --- audit_store.c: places */

/*
 * Read the routes of a destination from the kernel's own table into the RIB, since a message left
 * something out. False: they cannot be read.
 */
bool audit_place_read(struct sync *sync, uint32_t table, const struct prefix *dst);
/* The same within some milliseconds, three times: the kernel is about to change them. */
void audit_place_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * ... for all destinations with a route that a router advertised on this device. 0: with a route
 * that has an MTU, which may follow that of a device.
 */
void audit_place_read_unsteady(struct sync *sync, uint32_t advertised_by);
/* Routes of a destination changed: it becomes a place if they may change without a message. */
void audit_place_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst);
/* A pass found a difference, which audit_places_run() corrects. 0, or -E2BIG: too many. */
int audit_place_add_difference(struct audit *audit, uint32_t table, const struct prefix *dst);
/* The RIB takes over audit->routes. */
void audit_place_store(struct sync *sync, uint32_t table, const struct prefix *dst);

/* Count a reading of the place, and set when the next one is due. */
void audit_place_begin(struct audit_place *place, uint64_t now_ns);
/* Read all places that are due. */
void audit_places_run(struct sync *sync);
void audit_places_free(struct audit *audit);

#endif
