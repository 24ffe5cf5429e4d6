/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled FIB in user space, the tables that it is compiled from, and a naive longest match: a
 * hash over (length, bits), asked for each length from the longest down. The naive side shares no
 * code with the tries.
 *
 * A grace period ends at once, and overwrites all retired units: no reader may reach them.
 */
#ifndef UNIT_COMPILED_COMPILED_WORLD_H
#define UNIT_COMPILED_COMPILED_WORLD_H

#include "../unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/compiled/compiled.h"
#include "../../../user/compiled/node.h"
#include "../../../user/lib/util.h"

#define CWORLD_TABLES 6u
#define CWORLD_NONE UINT32_MAX

/* The prefixes of a table. */
enum cworld_shape {
	CWORLD_REAL,	/* lengths as in the Internet's table */
	CWORLD_DENSE48, /* /48s beside each other */
	CWORLD_HOSTS,	/* /128s in a /108 */
	CWORLD_PATHS,	/* all lengths on few paths */
	CWORLD_ANY,	/* any length of any address, many near each other */
	CWORLD_SMALL,	/* none, one, or two */
	CWORLD_SHAPES
};

/* A prefix; addr has no bits beyond len. */
struct cworld_prefix {
	compiled_bits addr;
	uint8_t len;
};

struct cworld_entry {
	struct radix_node node;
	uint32_t value;
};

struct cworld_route {
	struct cworld_prefix prefix;
	uint32_t value;		    /* 0: withdrawn, though the trie still has its entry */
	uint32_t next;		    /* in the bucket: an index, or CWORLD_NONE */
	struct cworld_entry *entry; /* in the trie */
};

struct cworld_table {
	uint32_t id;
	enum cworld_shape shape;
	compiled_bits pool[8]; /* addresses that prefixes are made of */
	struct radix radix;
	struct cworld_route *routes;
	uint32_t n, room, n_live, n_buckets;
	uint32_t *buckets;
	uint32_t by_length[129];
};

struct cworld {
	uint64_t seed, random, lookups, graces;
	struct compiled *compiled;
	struct compiled_view view;
	uint8_t *chunks; /* room for all of them */
	uint32_t n_chunks;
	struct cworld_table tables[CWORLD_TABLES];
	uint32_t n_tables;
	/* Failures: */
	uint32_t chunks_max;
	int grace_error;
	struct compiled_run ballast[64]; /* allocated, so that little is free */
	uint32_t n_ballast;
	/* Called after a publication, and at a grace period; may be NULL. */
	void (*published)(struct cworld *world);
	void (*grace)(struct cworld *world);
	void *ctx;
};

/* --- compiled_world.c ------------------------------------------------------------------------- */

/* Play n histories, or HISTORIES of the environment, from its SEED on. Returns how many. */
uint64_t cworld_play(uint64_t n, void (*play)(uint64_t seed));
/* A teardown: prints how to repeat a history that failed, and at which operation. */
extern unsigned int cworld_operation;
int cworld_print_seed(void **state);

/* Without tables. */
void cworld_open(struct cworld *world, uint64_t seed);
/*
 * kind below CWORLD_SHAPES: one table of this shape, for `large` prefixes. Else six tables of
 * random shapes, for `small` prefixes each. Returns large or small.
 */
uint32_t cworld_add_tables(struct cworld *world, uint64_t kind, uint32_t large, uint32_t small);
void cworld_close(struct cworld *world);
struct cworld_table *cworld_add_table(struct cworld *world, uint32_t id, enum cworld_shape shape,
				      uint32_t room);
/* Build all tables. 0 or -errno. */
int cworld_build(struct cworld *world);

/* Leave about so many units free, and give no chunk any more, until the next build. */
void cworld_make_tight(struct cworld *world, uint32_t units);

/* Set a route in the trie and on the naive side; value 0: withdrawn. */
void cworld_put(struct cworld *world, struct cworld_table *table,
		const struct cworld_prefix *prefix, uint32_t value);
/* compiled_change() after that. */
int cworld_apply(struct cworld *world, struct cworld_table *table,
		 const struct cworld_prefix *prefix, bool same_prefix);
/* cworld_put() and cworld_apply(). */
int cworld_set(struct cworld *world, struct cworld_table *table, const struct cworld_prefix *prefix,
	       uint32_t value);
/* Remove some withdrawn routes from the trie, without compiled_change(). */
void cworld_sweep(struct cworld *world, struct cworld_table *table);

uint32_t cworld_value(const struct cworld_table *table, const struct cworld_prefix *prefix);
uint32_t cworld_naive(const struct cworld_table *table, compiled_bits addr);
/* Look addr up in the published FIB. 0 or -ENODATA. */
int cworld_find(const struct cworld *world, const struct cworld_table *table, compiled_bits addr,
		uint32_t *value);
/* Fail the test unless both sides agree. */
void cworld_check(struct cworld *world, const struct cworld_table *table, compiled_bits addr);
void cworld_check_edges(struct cworld *world, const struct cworld_table *table,
			const struct cworld_prefix *prefix);
void cworld_check_all(struct cworld *world);

/* --- compiled_world_random.c ------------------------------------------------------------------ */

uint32_t cworld_random(struct cworld *world, uint32_t n);
compiled_bits cworld_random_addr(struct cworld *world);
uint32_t cworld_random_value(struct cworld *world, uint8_t len);
struct cworld_prefix cworld_random_prefix(struct cworld *world, const struct cworld_table *table);
/* A prefix of the table, if it has any. */
struct cworld_prefix cworld_random_present(struct cworld *world, const struct cworld_table *table);
/* An address near the table's prefixes, often at the edge of one. */
compiled_bits cworld_random_target(struct cworld *world, const struct cworld_table *table);
void cworld_fill(struct cworld *world, struct cworld_table *table, uint32_t n);

struct cworld_change {
	struct cworld_table *table;
	struct cworld_prefix prefix;
	uint32_t before, after;
};
/* Choose a change, so that the table keeps about `want` prefixes. */
struct cworld_change cworld_random_change(struct cworld *world, uint32_t want);

/* --- compiled_world_audit.c ------------------------------------------------------------------- */

/* Each unit belongs to a node in use, is retired, or is free; all counters are right. */
void cworld_audit(const struct cworld *world);

/* --- addresses -------------------------------------------------------------------------------- */

static inline compiled_bits cworld_mask(uint8_t len)
{
	return len ? ~(compiled_bits)0 << (128 - len) : 0;
}

static inline bool cworld_covers(const struct cworld_prefix *prefix, compiled_bits addr)
{
	return (addr & cworld_mask(prefix->len)) == prefix->addr;
}

static inline compiled_bits cworld_last(const struct cworld_prefix *prefix)
{
	return prefix->addr | ~cworld_mask(prefix->len);
}

static inline union sixlane_addr cworld_network(compiled_bits addr)
{
	return (union sixlane_addr){ .halves = { __builtin_bswap64((uint64_t)(addr >> 64)),
						 __builtin_bswap64((uint64_t)addr) } };
}

#endif
