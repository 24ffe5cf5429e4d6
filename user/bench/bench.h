/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The measurement of lookups: tables of routes, engines that look addresses up in them, and sides,
 * each an engine filled with a table. An engine is a row of bench_engines[] and knows no other;
 * rounds and rows know no engine.
 *
 * Functions return 0, or -errno after having said on stderr what failed.
 */
#ifndef USER_BENCH_H
#define USER_BENCH_H

#include "../cli/cmd.h"
#include "../lib/util.h"
#include "../rib/radix.h"
#include "lookup/lookup.h"

/* Of a frame, around what the MTU counts: header and FCS. */
#define BENCH_ETHERNET_BYTES 18u

/* --- tables --------------------------------------------------------------------------------- */

/* A route of the radix: its value is its place in the list, from 1 on. */
struct bench_entry {
	struct radix_node node;
	uint32_t value;
};

/* Which addresses are looked up. */
enum bench_pattern {
	BENCH_HIT,	/* under a random route each */
	BENCH_MISS,	/* near a random route each, and under none */
	BENCH_FALLBACK, /* the same, but there is a route to ::/0 */
	BENCH_N_PATTERNS
};
extern const char *const bench_pattern_names[BENCH_N_PATTERNS];

struct bench_table {
	char name[64];
	uint64_t seed;
	bool is_ipv4;
	enum bench_pattern pattern;
	struct prefix *prefixes; /* in the order of their addresses, each once */
	size_t n;
	struct radix radix;		   /* the same, entries of struct bench_entry */
	struct bench_addresses *addresses; /* at random, by the pattern */
	uint32_t *expected;		   /* the value of the longest match of each */
};

/* By name: see bench_table_names. -ENOENT with nothing said: no such table. */
int bench_table_named(const char *name, uint64_t seed, struct bench_table *out);
/* As many as its name says; 0: it says nothing of that. */
size_t bench_table_routes(const char *name);
extern const char bench_table_names[];
/* One prefix a line; the table is named after the file. */
int bench_table_file(const char *path, uint64_t seed, struct bench_table *out);
/* As many IPv4 routes, of lengths as the Internet has them, and the same pattern; addresses are the
 * first 32 bits. */
int bench_table_ipv4(const struct bench_table *like, struct bench_table *out);
void bench_table_free(struct bench_table *table);
/* A table is made for hits. Of any other pattern after that once. */
int bench_table_set_pattern(struct bench_table *table, enum bench_pattern pattern);
/* Another list of such addresses each; that of number 0 is the table's. */
int bench_table_addresses(const struct bench_table *table, uint32_t list,
			  struct bench_addresses *out);
/* Nodes on the longest way down a path-compressed binary trie of the routes. */
uint32_t bench_table_depth(const struct bench_table *table);

/* The next number of a sequence that the seed determines (SplitMix64). */
uint64_t bench_random(uint64_t *seed);

/* The route of an address, NULL: none. */
const struct prefix *bench_table_match(const struct bench_table *table,
				       const union sixlane_addr *addr);

/* 2000::/3: what a prefix stands for that covers it and more, which is in part not for routing. */
extern const struct prefix bench_global;
/* Random bits under a prefix. */
void bench_draw_under(const struct prefix *prefix, uint64_t *seed, union sixlane_addr *out);
/* Near a route and under none, but for a fallback: far from all routes, the first node would end
 * every lookup. */
int bench_draw_miss(const struct bench_table *table, uint64_t *seed, union sixlane_addr *out);

/* n distinct prefixes, which the function draws; fewer exist than are wanted: -ERANGE. */
typedef void (*bench_draw_fn)(uint64_t *seed, struct prefix *out);
int bench_draw(struct bench_table *table, size_t n, bench_draw_fn draw);
/* For a table whose prefixes are there: order, radix, addresses, answers. */
int bench_table_finish(struct bench_table *table);

/* --- engines -------------------------------------------------------------------------------- */

enum bench_mode {
	BENCH_INDEPENDENT, /* all addresses are known in advance */
	BENCH_DEPENDENT,   /* the next one when the answer to the one before is there */
	BENCH_N_MODES
};

extern const char *const bench_mode_names[BENCH_N_MODES];

struct bench_side {
	const struct bench_engine *engine;
	const struct bench_table *table;
	struct bench_table own_table; /* of an engine that cannot take the other */
	unsigned int threads;	      /* that look up at once, at most */
	void *state;		      /* the engine's */
	uint64_t insert_ns;	      /* the time to fill it with all routes */
	uint64_t bytes;		      /* that it takes for them; 0: not known */
	uint32_t depth;		      /* nodes on the longest way down; 0: not known */
	double *change_ns;	      /* of n_changes single ones; NULL: not measured */
	size_t n_changes;
};

struct bench_time {
	double gross_ns, dry_ns; /* per lookup, of one thread: the mean of all */
	double elapsed_ns;	 /* until the last one had ended, per lookup of all, gross */
};

struct bench_bpf_engine; /* bpf.h */

struct bench_engine {
	const char *name;
	bool ipv4;	     /* takes bench_table_ipv4() of the same number of routes */
	bool any_answer;     /* does not say which route it found */
	bool weighs_machine; /* bytes are what the machine had less of */
	bool no_lookup;	     /* answers anything but 0, whatever it is asked */
	bool user_space;     /* is not measured by several threads */
	bool ours;	     /* is compared with all others */
	bool is_optional;    /* -ENOENT of open() with nothing said: not to be had here */
	/* What each route takes in a table of the kernel's, about; 0: it is no such table. */
	uint32_t route_bytes;
	const struct bench_bpf_engine *bpf; /* of those whose open() is bench_bpf_open() */
	int (*open)(struct bench_side *side);
	/* Of about so many lookups by each thread; the first address is any. */
	int (*measure)(struct bench_side *side, enum bench_mode mode, unsigned int threads,
		       uint64_t lookups, struct bench_time *out);
	/* BENCH_ADDRESSES of them */
	int (*answers)(struct bench_side *side, uint32_t *out);
	/* Take the route at this place of the table away, or put it back, while others look up.
	 * NULL: that is not measured. */
	int (*change)(struct bench_side *side, size_t i, bool back);
	/* Nodes on the longest way down. NULL: not known. */
	int (*depth)(struct bench_side *side, uint32_t *nodes);
	void (*close)(struct bench_side *side); /* state may be NULL */
};

extern const struct bench_engine *const bench_engines[];
extern const size_t bench_n_engines;
extern const struct bench_engine bench_compiled, bench_trie, bench_kernel6, bench_kernel4,
	bench_load, bench_load_user, bench_compiled_load, bench_compiled_chunks, bench_dpdk_fib6,
	bench_dpdk_lpm6;

/* Routes at random are taken away and put back, one by one, and each is timed. 0 or -errno. */
int bench_changes(struct bench_side *side);

/* --- results -------------------------------------------------------------------------------- */

struct bench_lookup {
	struct bench_table *tables; /* in the order of the command line */
	size_t n_tables;
	const struct bench_engine **engines;
	size_t n_engines;
	uint32_t threads[16];
	size_t n_threads;
	/* Each side is also measured beside that many changes a second. */
	uint32_t writer_rates[8];
	size_t n_writer_rates;
	bool modes[BENCH_N_MODES]; /* which are measured */
	size_t rounds;
};

/* What is measured again in each round: one number of it each. */
struct bench_series {
	struct bench_side *side;
	enum bench_mode mode;
	unsigned int threads;
	uint32_t writer_rate; /* changes a second meanwhile */
	uint64_t lookups;     /* of a round */
	size_t rounds;	      /* that were measured */
	/* rounds of each; ns, elapsed: less the dry run of the same round */
	double *gross, *ns, *elapsed;
	double *rate; /* rounds of changes a second that there were */
};

struct bench_result; /* result.h */

/* Open, check and measure all sides, every one in each round, and add the rows. -EINTR: somebody
 * wanted it to end, and the rows are of fewer rounds. */
int bench_lookup_run(const struct bench_lookup *lookup, struct bench_result *result);

/*
 * Changes at a steady rate by a thread of its own on the last CPU, from begin to end, which says
 * how many a second there were. All routes are back then.
 */
struct bench_writer;
int bench_writer_begin(struct bench_side *side, uint32_t rate, struct bench_writer **out);
int bench_writer_end(struct bench_writer *writer, double *rate);

/* All rows of what was measured, in the order of the series. */
int bench_lookup_report(const struct bench_lookup *lookup, const struct bench_series *series,
			size_t n, struct bench_result *result);

/* --- helpers -------------------------------------------------------------------------------- */

/* Say it, with what the error means and without, and return error. */
int bench_fail(int error, const char *fmt, ...) _printf_(2, 3);
int bench_bad(int error, const char *fmt, ...) _printf_(2, 3);
/* From now on what they say is written there, the last of it, and to nobody else. */
void bench_keep_errors(char *buf, size_t size);

/* The n-th CPU, modulo their number, that this process may run on; how many those are. */
int bench_cpu(unsigned int n);
unsigned int bench_n_cpus(void);
/* The calling thread runs there and nowhere else. */
int bench_pin(unsigned int n);
/* The calling thread runs where this process may. */
void bench_unpin(void);

/* Of n sides, the one whose turn comes after i others in a round: there and back, so that nobody
 * always comes after the same one. */
size_t bench_turn(size_t round, size_t n, size_t i);

/* Of the executable, as it was when it was asked for first. */
const char *bench_own_dir(void);
/* A file that is installed with the command: next to the executable, else in ../lib/sixlane. */
int bench_find_file(const char *name, char *path, size_t size);

#endif
