/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables that the audit passes through. A pass reads a table in pieces; the sum of a piece's
 * routes tells whether it has changed since the last pass.
 */
#ifndef USER_DAEMON_AUDIT_TABLE_H
#define USER_DAEMON_AUDIT_TABLE_H

#include "../rib/radix.h"
#include "kernel_reader.h"

struct audit;
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

/* The kernel reader; NULL: the kernel's own tables cannot be read. */
struct kernel_reader *audit_reader(const struct audit *audit);
/* All known tables and their exceptions were read after this time; 0: not yet. */
uint64_t audit_read_since_ns(const struct audit *audit);
/* How often all tables were read. */
uint64_t audit_passes(const struct audit *audit);

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

#endif
