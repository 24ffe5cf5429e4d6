/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel changes some routes without a notification. So the audit compares the RIB with the
 * kernel's own tables all the time, under a budget of CPU time. Where they differ, the RIB takes
 * over the kernel's routes.
 *
 * A pass reads one table in pieces. The checksum of a piece shows whether its routes have changed
 * since the last pass; only then are they compared.
 *
 * A place is a destination that is also read between the passes.
 * - It is pending while readings are to come, because an event or a pass pointed at it.
 * - Otherwise it is idle: its routes may change without a notification. Only their lifetimes are
 *   checked, and the kernel is read when one is about to end.
 *
 * Without the kernel reader (no BTF, or no permission) the tables are dumped instead, and routes
 * that dumps leave out are punted.
 */
#ifndef USER_DAEMON_AUDIT_H
#define USER_DAEMON_AUDIT_H

#include <sys/queue.h>

#include "../rib/rib.h"
#include "kernel_reader.h"

struct sync;

/*
 * The routes that one call of the kernel reader returned. Its key is their last destination. A
 * checksum that is not 0 shows that the RIB had the same routes.
 */
struct audit_piece {
	struct radix_node node; /* first. A table's last piece has the greatest prefix, all ones */
	uint64_t sum;		/* checksum of its routes; 0: compare them in the next pass */
};

struct audit_table {
	uint32_t id;
	bool incomplete;	     /* the current pass has not read all exceptions */
	struct kernel_cursor cursor; /* end of the last piece that was read */
	struct radix pieces;
	uint64_t begin_ns;	/* start of the current pass; 0: none */
	uint64_t before_ns;	/* start of the last complete pass */
	uint64_t read_since_ns; /* everything in the table was read after this */
	uint64_t turn_ns;	/* last piece, or start of the next pass: the lowest is next */
};

struct audit_place {
	TAILQ_ENTRY(audit_place) in_list;
	struct prefix dst;
	uint32_t table;
	uint32_t n_left; /* readings to come; 0: idle */
	uint64_t due_ns; /* of the next reading, or of the next check of lifetimes */
	bool counted;	 /* count and log the difference that the next reading finds */
};

struct audit {
	struct kernel_reader *reader; /* NULL: the tables are dumped */
	struct kernel_routes routes;  /* of the destination that was read last */

	/* the tables */
	struct audit_table *tables;
	size_t n_tables;
	uint64_t listed_ns;	  /* the list has all tables that existed then */
	uint64_t passes, pass_ns; /* number through all tables; duration of the last one */
	uint64_t passed_ns;	  /* ... and its end */

	/* their passes: when to list the tables again, and when the next piece may be read */
	uint64_t next_tables_ns, next_piece_ns;
	bool quiet; /* differences found now are expected, and not counted */

	/* the places: first pending ones, then idle ones */
	TAILQ_HEAD(audit_places, audit_place) list;
	void *places;		  /* the same, as a tree of tsearch() */
	size_t n_pending;	  /* pending places */
	uint64_t next_pending_ns; /* no pending place is due earlier */
	uint64_t next_check_ns;	  /* no idle place is due earlier */
	struct audit_place all;	  /* in no list; pending if all tables are to be read */
	uint64_t corrected[RIB_N_DIFFERENCES];
};

/* Opens the kernel reader; if that fails a warning says why. NULL: out of memory. */
struct audit *audit_new(void);
void audit_free(struct audit *audit);

/*
 * Read all tables now. Used after a dump, which may lack routes and attributes. Differences are not
 * counted.
 */
void audit_read_all(struct sync *sync);

/* Read the next piece and all places, if they are due. */
void audit_run(struct sync *sync);
uint64_t audit_due_ns(const struct sync *sync);
/*
 * Without a kernel reader full synchronisations serve as the audit. When the next one is due, if
 * the last one took cost_ns of CPU time. UINT64_MAX: never.
 */
uint64_t audit_dump_due_ns(const struct sync *sync, uint64_t cost_ns);

struct sixlane_meta;
void audit_write_meta(const struct audit *audit, struct sixlane_meta *meta);

/* --- audit_store.c: tables */

/* All known tables and their exceptions were read after this time; 0: not yet. */
uint64_t audit_read_since_ns(const struct audit *audit);
/*
 * Add the tables that have routes or that rules name. Next-hop objects count as the table
 * KERNEL_READER_OBJECTS. While messages wait, the list counts as incomplete.
 */
void audit_tables_list(struct sync *sync);
void audit_tables_free(struct audit *audit);
/* The table to read a piece of; NULL: there are no tables. */
struct audit_table *audit_tables_next(const struct audit *audit);
/* The pass through a table has ended: update the times, and the statistics. */
void audit_table_end_pass(struct audit *audit, struct audit_table *table);

/* The routes to dst changed, or differ from the kernel's: the next pass compares their piece. */
void audit_table_invalidate(struct audit *audit, uint32_t table, const struct prefix *dst);
/*
 * Store the checksum of a piece: the view, read from `from` to table->cursor. True: since the last
 * pass neither the kernel nor the RIB has changed there. Without a checksum a piece counts as
 * changed.
 */
bool audit_table_renew_piece(struct audit_table *table, const struct kernel_cursor *from,
			     const struct kernel_view *view);
/* The order in which the kernel reader walks: by address, shorter prefixes first. */
int audit_table_compare(const struct prefix *a, const struct prefix *b);
/* Adds data, a multiple of 8 bytes, to a checksum. */
uint64_t audit_table_sum(uint64_t sum, const void *data, size_t bytes);
/* The first node after the cursor. radix may be NULL. */
struct radix_node *audit_table_node_after(const struct radix *radix,
					  const struct kernel_cursor *cursor);

/* --- audit_store.c: places */

/*
 * Read the routes of a destination from the kernel's own table into the RIB, because a message did
 * not show all of them. If the kernel is changing them, read them soon. False: cannot read them.
 */
bool audit_place_read(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * An event points at the destination: three readings within 40 ms are to come. If too many places
 * are pending, all tables are read instead; without a kernel reader they are dumped.
 */
void audit_place_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * Do so for all places with a transient route (rib.h) on this device. ifindex 0: for all places
 * with a route that has an MTU, because it may follow a device's.
 */
void audit_place_read_unsteady(struct sync *sync, uint32_t ifindex);
/* Routes of a destination changed: it becomes a place if one is unsteady (rib.h). */
void audit_place_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst);
/* A pass found a difference: audit_places_run() reads again, and corrects. -E2BIG: too many. */
int audit_place_add_difference(struct audit *audit, uint32_t table, const struct prefix *dst);
/* Replace the destination's routes in the RIB by audit->routes. */
void audit_place_store(struct sync *sync, uint32_t table, const struct prefix *dst);

/* A reading of the place begins: count it, and set when the next one is due. */
void audit_place_begin(struct audit_place *place, uint64_t now_ns);
/* Read all places that are due. */
void audit_places_run(struct sync *sync);
void audit_places_free(struct audit *audit);

#endif
