// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the trie with the compiled FIB.
 *
 * A lookup in the trie is a system call. So the trie is copied once, lookups use the copy, and at
 * most TRIE_LOOKUPS of them are repeated in the trie itself. Routes change meanwhile: a difference
 * counts only if the trie itself and a new view of the compiled FIB still differ several times
 * later.
 */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "fib.h"
#include "show.h"

#define TRIE_LOOKUPS 1000000u
#define TRIES 5
#define PAUSE_NS 20000000
#define MAX_SHOWN 10u
/* How long the daemon may take, which handles routes in between. */
#define WAIT_NS 5000000000ull
#define WAIT_EACH_NS 20000ull

struct difference {
	uint32_t table;
	union sixlane_addr addr;
	uint32_t trie, compiled; /* values of sl_routes */
};

struct verify {
	const struct cmd_options *options;
	const struct maps *maps;
	struct entries routes;
	uint32_t *tables; /* the ids in routes */
	size_t n_tables;
	struct compiled_view view;
	uint64_t every;		     /* each so many-th lookup is repeated in the trie itself */
	uint64_t random;	     /* state of the generator */
	unsigned long long n;	     /* addresses */
	unsigned long long compared; /* … that the compiled FIB answered */
	unsigned long long trie_lookups;
	unsigned long long wrong;
	struct difference shown[MAX_SHOWN];
	int error; /* -errno; -ENODATA: the compiled FIB was removed meanwhile */
	struct {
		bool runs, done;
		unsigned long long compared, wrong;
	} daemon;
};

/* Copies the trie. 0 or -errno. */
static int read_routes(struct verify *verify)
{
	struct entries *routes = &verify->routes;
	const int rc = maps_route_each(verify->maps, entries_add, routes);

	if (rc)
		return rc;
	entries_sort(routes);
	verify->tables = calloc(routes->n + 1, sizeof(*verify->tables));
	if (!verify->tables)
		return -ENOMEM;
	for (size_t i = 0; i < routes->n; i++)
		if (!i || routes->at[i].table != routes->at[i - 1].table)
			verify->tables[verify->n_tables++] = routes->at[i].table;
	return 0;
}

/* --- comparing -------------------------------------------------------------------------------- */

static uint32_t lookup_trie(struct verify *verify, uint32_t table, const union sixlane_addr *addr)
{
	uint32_t value;
	int rc = maps_route_lookup(verify->maps, table, addr, &value);

	if (rc && rc != -ENOENT)
		verify->error = rc;
	return rc ? 0 : value;
}

/* Updates the root; with chunks maps them again, too. */
static int refresh_view(struct verify *verify, bool chunks)
{
	if (chunks) {
		maps_unview(&verify->view);
		return maps_view(verify->maps, &verify->view);
	}
	verify->view.fib.word =
		__atomic_load_n(&verify->maps->fib_head->fib.word, __ATOMIC_ACQUIRE);
	return verify->view.fib.word ? 0 : -ENODATA;
}

/* Compares the trie itself with a new view, and records a difference that stays. */
static void recheck(struct verify *verify, uint32_t table, const union sixlane_addr *addr)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct difference seen = { .table = table, .addr = *addr };
	/* further ones are only counted: no need to be as sure */
	int tries = verify->wrong < MAX_SHOWN ? TRIES : 2;

	for (int i = 0; i < tries && !verify->error; i++) {
		int rc;

		if (i > 1)
			nanosleep(&pause, NULL);
		seen.trie = lookup_trie(verify, table, addr);
		verify->error = verify->error ?: refresh_view(verify, i);
		rc = compiled_find(&verify->view, table, addr, &seen.compiled);
		/* rc: the chunk is missing; it may be new, so the next round maps it */
		if (rc ? i
		       : seen.compiled == seen.trie &&
				    seen.trie == lookup_trie(verify, table, addr))
			return;
	}
	if (verify->error)
		return;
	if (verify->wrong < MAX_SHOWN)
		verify->shown[verify->wrong] = seen;
	verify->wrong++;
}

/* Looks up in the compiled FIB. False: it has no answer. */
static bool lookup_compiled(struct verify *verify, uint32_t table, const union sixlane_addr *addr,
			    uint32_t *found)
{
	uint64_t n = verify->maps->meta->fib_chunk_bytes / SIXLANE_FIB_CHUNK_BYTES;

	if (!compiled_find(&verify->view, table, addr, found))
		return true;
	/* the daemon's last chunk may be newer than the view */
	if (!n || n > SIXLANE_FIB_CHUNKS || verify->view.chunks[n - 1])
		return false;
	verify->error = verify->error ?: refresh_view(verify, true);
	return !compiled_find(&verify->view, table, addr, found);
}

static void compare(struct verify *verify, uint32_t table, const union sixlane_addr *addr)
{
	const struct entry *route = entries_match(&verify->routes, table, addr);
	uint32_t wanted = route ? route->value : 0, found = 0;
	bool answered = lookup_compiled(verify, table, addr, &found);
	bool same = !answered || found == wanted;

	verify->compared += answered;
	if (verify->n++ % verify->every == 0) {
		verify->trie_lookups++;
		same = same && lookup_trie(verify, table, addr) == wanted;
	}
	if (!same)
		recheck(verify, table, addr);
}

static void compare_edges(struct verify *verify)
{
	union sixlane_addr edges[PREFIX_EDGES];

	for (size_t i = 0; i < verify->routes.n && !verify->error; i++) {
		const struct entry *route = &verify->routes.at[i];

		prefix_edges(&route->prefix, edges);
		for (size_t j = 0; j < PREFIX_EDGES; j++)
			compare(verify, route->table, &edges[j]);
	}
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t word = *state += 0x9e3779b97f4a7c15u;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
	word = (word ^ word >> 27) * 0x94d049bb133111ebu;
	return word ^ word >> 31;
}

/* Makes addr an address under a prefix. */
static void move_under(union sixlane_addr *addr, const struct prefix *prefix)
{
	for (unsigned int bit = 0; bit < prefix->len; bit++) {
		const uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		addr->bytes[bit / 8] = (uint8_t)((addr->bytes[bit / 8] & ~mask) |
						 (prefix->addr.bytes[bit / 8] & mask));
	}
}

/* Every second address is under a prefix of its table. A few others are looked up in a random
 * table, which mostly does not exist. */
static void compare_random(struct verify *verify, uint32_t n)
{
	const struct entries *routes = &verify->routes;
	union sixlane_addr addr;
	uint32_t table;

	for (uint32_t i = 0; i < n && !verify->error; i++) {
		uint64_t draw = next_random(&verify->random);

		addr.halves[0] = next_random(&verify->random);
		addr.halves[1] = next_random(&verify->random);
		if (i % 2 && routes->n) {
			const struct entry *route = &routes->at[draw % routes->n];

			table = route->table;
			move_under(&addr, &route->prefix);
		} else if (verify->n_tables && i % 64) {
			table = verify->tables[draw % verify->n_tables];
		} else {
			table = (uint32_t)draw;
		}
		compare(verify, table, &addr);
	}
}

/* --- the daemon ------------------------------------------------------------------------------- */

static void run_daemon_check(struct verify *verify)
{
	struct sixlane_meta *meta = verify->maps->meta;
	uint64_t number;

	verify->daemon.runs = loader_daemon_runs();
	if (!verify->daemon.runs)
		return;
	number = __atomic_add_fetch(&meta->fib_verify_wanted, 1, __ATOMIC_SEQ_CST);
	verify->daemon.done = cmd_wait_for_daemon(&meta->fib_verify_done, number,
						  WAIT_NS + verify->routes.n * WAIT_EACH_NS);
	verify->daemon.compared = meta->fib_verify_checked;
	verify->daemon.wrong = meta->fib_verify_wrong;
	if (!verify->daemon.done)
		log_warning("sixlaned has not compared the compiled FIB with its own table yet");
	else if (!verify->daemon.compared && verify->routes.n)
		log_warning("sixlaned had no compiled FIB to compare with its own table");
	verify->daemon.done &= verify->daemon.compared || !verify->routes.n;
}

/* --- the output ------------------------------------------------------------------------------- */

#define VALUE_LEN (PRINT_PREFIX_LEN + 48)

static const char *value_text(const struct difference *difference, uint32_t value,
			      char buf[VALUE_LEN])
{
	uint32_t len = sixlane_route_len(value) <= 128 ? sixlane_route_len(value) : 128;
	char prefix[PRINT_PREFIX_LEN];

	if (!value)
		return "no route";
	snprintf(buf, VALUE_LEN, "%s next hop %u flags 0x%x",
		 print_covering(&difference->addr, len, prefix), sixlane_route_next_hop(value),
		 value >> SIXLANE_ROUTE_FLAGS_SHIFT);
	return buf;
}

static json_t *to_json(const struct verify *verify, uint32_t seed)
{
	json_t *object = json_object(), *daemon = json_object(), *array = json_array(), *one;
	char addr[PRINT_PREFIX_LEN], buf[VALUE_LEN];

	print_set(object, "addresses", verify->n);
	print_set(object, "compared", verify->compared);
	print_set(object, "trie_lookups", verify->trie_lookups);
	print_set(object, "routes", verify->routes.n);
	print_set(object, "tables", verify->n_tables);
	print_set(object, "wrong", verify->wrong);
	print_set(object, "seed", seed);
	for (size_t i = 0; i < verify->wrong && i < MAX_SHOWN; i++) {
		const struct difference *shown = &verify->shown[i];

		one = json_object();
		print_set(one, "table", shown->table);
		print_set(one, "address", print_addr(&shown->addr, addr));
		print_set(one, "trie", value_text(shown, shown->trie, buf));
		print_set(one, "compiled", value_text(shown, shown->compiled, buf));
		print_append(array, one);
	}
	print_set(object, "differences", array);
	print_set(daemon, "runs", verify->daemon.runs);
	print_set(daemon, "done", verify->daemon.done);
	print_set(daemon, "compared", verify->daemon.compared);
	print_set(daemon, "wrong", verify->daemon.wrong);
	print_set(object, "daemon", daemon);
	return object;
}

static void daemon_text(const struct verify *verify)
{
	if (!verify->daemon.runs)
		printf("sixlaned does not run: only the trie and the compiled FIB were compared\n");
	else if (!verify->daemon.done)
		printf("sixlaned's own table was not compared\n");
	else if (verify->daemon.wrong)
		printf("sixlaned compared %llu addresses with its own table: at least %llu differ; see its log; lookups use the LPM trie now\n",
		       verify->daemon.compared, verify->daemon.wrong);
	else
		printf("sixlaned compared %llu addresses with its own table: no difference\n",
		       verify->daemon.compared);
}

static int to_text(const struct verify *verify, uint32_t seed)
{
	char addr[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN], trie[VALUE_LEN], compiled[VALUE_LEN];

	for (size_t i = 0; i < verify->wrong && i < MAX_SHOWN; i++) {
		const struct difference *shown = &verify->shown[i];

		printf("%s table %s: trie says %s, compiled FIB says %s\n",
		       print_addr(&shown->addr, addr), show_table(shown->table, table),
		       value_text(shown, shown->trie, trie),
		       value_text(shown, shown->compiled, compiled));
	}
	printf("compared %llu addresses in %zu tables, seed %u: ", verify->compared,
	       verify->n_tables, seed);
	if (verify->wrong)
		printf("%llu differ\n", verify->wrong);
	else
		printf("no difference\n");
	if (verify->n != verify->compared)
		printf("%llu more addresses are left to the LPM trie\n",
		       verify->n - verify->compared);
	daemon_text(verify);
	return print_flush();
}

static int print_result(const struct verify *verify, uint32_t seed)
{
	const int rc = verify->options->json ? print_json(verify->options, to_json(verify, seed))
					     : to_text(verify, seed);

	if (!verify->compared || verify->wrong || verify->daemon.wrong ||
	    (verify->daemon.runs && !verify->daemon.done))
		return CMD_FAILED;
	return rc;
}

static int fail(const struct verify *verify)
{
	if (verify->error == -ENODATA)
		log_error("there is no compiled FIB to compare: %s",
			  fib_why_absent(verify->maps, loader_daemon_runs())
				  ?: "it was removed meanwhile");
	else
		log_error("cannot read the maps: %s", strerror(-verify->error));
	return CMD_FAILED;
}

int fib_verify(const struct cmd_options *options, uint32_t n_random, uint32_t seed)
{
	struct verify verify = { .options = options, .random = seed };
	_cleanup_(cmd_view_close) struct cmd_view view;
	int rc = cmd_view_open(&view, true);

	if (rc)
		return rc;
	verify.maps = &view.maps;
	verify.error = maps_view(&view.maps, &verify.view);
	if (!verify.error)
		verify.error = read_routes(&verify);
	verify.every = 1 + (PREFIX_EDGES * verify.routes.n + n_random) / TRIE_LOOKUPS;
	if (!verify.error)
		compare_edges(&verify);
	if (!verify.error)
		compare_random(&verify, n_random);
	/* last: the daemon removes a compiled FIB that it finds wrong */
	if (!verify.error)
		run_daemon_check(&verify);
	rc = verify.error ? fail(&verify) : print_result(&verify, seed);
	entries_free(&verify.routes);
	free(verify.tables);
	maps_unview(&verify.view);
	return rc;
}
