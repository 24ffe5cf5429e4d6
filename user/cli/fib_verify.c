// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane fib verify: the trie against the compiled FIB, at the edges of every prefix of the trie
 * and at random addresses; then the daemon does the same with its own table.
 *
 * A lookup in the trie is a system call, so the trie is read once into memory, where the lookups
 * are done, and the trie itself is asked a part of them, at most TRIE_ASKED. What is read goes on
 * changing: a difference counts if it is still there after the trie itself was asked and the
 * compiled FIB read anew several times.
 */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../lib/wakeup.h"
#include "fib.h"

#define TRIE_ASKED 1000000u
#define TRIES 5
#define PAUSE_NS 20000000
#define MAX_TOLD 10u
/* For the daemon, which sees to routes in between. */
#define WAIT_NS 5000000000ull
#define WAIT_EACH_NS 20000ull
#define WAIT_PAUSE_NS 1000000

struct difference {
	uint32_t table;
	union sixlane_addr addr;
	uint32_t trie, compiled;
};

struct verify {
	const struct cmd_options *options;
	const struct maps *maps;
	struct fib_routes routes;
	struct compiled_view view;
	uint64_t every;	      /* which lookups the trie itself is asked */
	uint64_t random;      /* state */
	uint64_t n, compared; /* addresses, and those of which the compiled FIB said something */
	uint64_t asked;
	uint64_t wrong;
	struct difference told[MAX_TOLD];
	int error; /* -ENODATA: the compiled FIB has gone meanwhile */
	struct {
		bool runs, came;
		uint64_t compared, wrong;
	} daemon;
};

/* --- comparing -------------------------------------------------------------------------------- */

static uint32_t ask_trie(struct verify *verify, uint32_t table, const union sixlane_addr *addr)
{
	uint32_t value;
	int rc = maps_route_lookup(verify->maps, table, addr, &value);

	if (rc && rc != -ENOENT)
		verify->error = rc;
	return rc ? 0 : value;
}

/* Where it begins may be elsewhere; thoroughly: and chunks may be new. */
static int view_again(struct verify *verify, bool thoroughly)
{
	if (thoroughly) {
		maps_unview(&verify->view);
		return maps_view(verify->maps, &verify->view);
	}
	verify->view.fib.word =
		__atomic_load_n(&verify->maps->fib_head->fib.word, __ATOMIC_ACQUIRE);
	return verify->view.fib.word ? 0 : -ENODATA;
}

static void note(struct verify *verify, const struct difference *difference)
{
	if (verify->wrong < MAX_TOLD)
		verify->told[verify->wrong] = *difference;
	verify->wrong++;
}

/* They seem to differ: look again, at what is there and not at the copy. */
static void look_again(struct verify *verify, uint32_t table, const union sixlane_addr *addr)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct difference seen = { .table = table, .addr = *addr };
	/* who has so many knows enough */
	int tries = verify->wrong < MAX_TOLD ? TRIES : 2;

	for (int i = 0; i < tries && !verify->error; i++) {
		int rc;

		if (i > 1)
			nanosleep(&pause, NULL);
		seen.trie = ask_trie(verify, table, addr);
		verify->error = verify->error ?: view_again(verify, i);
		rc = compiled_find(&verify->view, table, addr, &seen.compiled);
		/* of a chunk that is not there yet: later */
		if (rc ? i
		       : seen.compiled == seen.trie && seen.trie == ask_trie(verify, table, addr))
			return;
	}
	if (!verify->error)
		note(verify, &seen);
}

/* Whether the compiled FIB says something, and what. */
static bool find(struct verify *verify, uint32_t table, const union sixlane_addr *addr,
		 uint32_t *found)
{
	uint64_t n = verify->maps->meta->fib_chunk_bytes / SIXLANE_FIB_CHUNK_BYTES;

	if (!compiled_find(&verify->view, table, addr, found))
		return true;
	/* the daemon's last chunk may be newer than the view */
	if (!n || n > SIXLANE_FIB_CHUNKS || verify->view.chunks[n - 1])
		return false;
	verify->error = verify->error ?: view_again(verify, true);
	return !compiled_find(&verify->view, table, addr, found);
}

static void compare(struct verify *verify, uint32_t table, const union sixlane_addr *addr)
{
	uint32_t wanted = fib_routes_match(&verify->routes, table, addr), found = 0;
	bool unknown = !find(verify, table, addr, &found);
	bool ask = verify->n++ % verify->every == 0;
	bool same = unknown || found == wanted;

	verify->compared += !unknown;
	if (ask) {
		verify->asked++;
		same = same && ask_trie(verify, table, addr) == wanted;
	}
	if (!same)
		look_again(verify, table, addr);
}

static void compare_edges(struct verify *verify)
{
	union sixlane_addr edges[PREFIX_EDGES];

	for (size_t i = 0; i < verify->routes.n && !verify->error; i++) {
		const struct routes_entry *route = verify->routes.at[i];

		prefix_edges(&route->node.prefix, edges);
		for (size_t j = 0; j < PREFIX_EDGES; j++)
			compare(verify, route->table, &edges[j]);
	}
}

static union sixlane_addr random_address(struct verify *verify)
{
	return (union sixlane_addr){ .halves = { fib_random(&verify->random),
						 fib_random(&verify->random) } };
}

/* An address under a random prefix. */
static union sixlane_addr random_under(struct verify *verify, const struct prefix *prefix)
{
	union sixlane_addr addr = random_address(verify);

	for (unsigned int bit = 0; bit < prefix->len; bit++) {
		const uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		addr.bytes[bit / 8] = (uint8_t)((addr.bytes[bit / 8] & ~mask) |
						(prefix->addr.bytes[bit / 8] & mask));
	}
	return addr;
}

/* Every second one is under a prefix of its table; a few of the others in a table that may not be
 * there. */
static void compare_random(struct verify *verify, uint32_t n)
{
	const struct fib_routes *routes = &verify->routes;
	union sixlane_addr addr;
	uint32_t table;

	for (uint32_t i = 0; i < n && !verify->error; i++) {
		uint64_t draw = fib_random(&verify->random);

		addr = random_address(verify);
		if (i % 2 && routes->n) {
			const struct routes_entry *route = routes->at[draw % routes->n];

			table = route->table;
			addr = random_under(verify, &route->node.prefix);
		} else if (routes->n_tables && i % 64) {
			table = routes->tables[draw % routes->n_tables].id;
		} else {
			table = (uint32_t)draw;
		}
		compare(verify, table, &addr);
	}
}

/* --- the daemon ------------------------------------------------------------------------------- */

static void ask_daemon(struct verify *verify)
{
	static const struct timespec pause = { .tv_nsec = WAIT_PAUSE_NS };
	struct sixlane_meta *meta = verify->maps->meta;
	uint64_t until = util_now_ns() + WAIT_NS + verify->routes.n * WAIT_EACH_NS, number;

	verify->daemon.runs = loader_daemon_runs();
	if (!verify->daemon.runs)
		return;
	number = __atomic_add_fetch(&meta->fib_verify_wanted, 1, __ATOMIC_SEQ_CST);
	/* it looks once a second by itself: from another network namespace that has to do */
	wakeup_send(loader_pin_dir());
	while (!verify->daemon.came && util_now_ns() < until) {
		verify->daemon.came =
			__atomic_load_n(&meta->fib_verify_done, __ATOMIC_ACQUIRE) >= number;
		if (!verify->daemon.came)
			nanosleep(&pause, NULL);
	}
	verify->daemon.compared = meta->fib_verify_checked;
	verify->daemon.wrong = meta->fib_verify_wrong;
	if (!verify->daemon.came)
		log_warning("sixlaned has not compared the compiled FIB with its own table yet");
	else if (!verify->daemon.compared && verify->routes.n)
		log_warning("sixlaned had no compiled FIB to compare with its own table");
	verify->daemon.came &= verify->daemon.compared || !verify->routes.n;
}

/* --- telling ---------------------------------------------------------------------------------- */

#define VALUE_LEN (PRINT_PREFIX_LEN + 48)

static const char *value_text(const struct difference *difference, uint32_t value,
			      char buf[VALUE_LEN])
{
	uint32_t len = sixlane_route_len(value) <= 128 ? sixlane_route_len(value) : 128;
	char prefix[PRINT_PREFIX_LEN];

	if (!value)
		return "no route";
	show_covering(&difference->addr, len, prefix);
	snprintf(buf, VALUE_LEN, "%s next hop %u flags 0x%x", prefix, sixlane_route_next_hop(value),
		 value >> SIXLANE_ROUTE_MARKS_SHIFT);
	return buf;
}

static size_t n_told(const struct verify *verify)
{
	return verify->wrong < MAX_TOLD ? verify->wrong : MAX_TOLD;
}

static json_t *differences_json(const struct verify *verify)
{
	char addr[PRINT_PREFIX_LEN], buf[VALUE_LEN];
	json_t *array = json_array(), *object;

	for (size_t i = 0; i < n_told(verify); i++) {
		const struct difference *told = &verify->told[i];

		object = json_object();
		print_prefix(&told->addr, 128, true, addr);
		print_set(object, "table", json_integer(told->table));
		print_set(object, "address", print_string(addr));
		print_set(object, "trie", print_string(value_text(told, told->trie, buf)));
		print_set(object, "compiled", print_string(value_text(told, told->compiled, buf)));
		print_append(array, object);
	}
	return array;
}

static json_t *to_json(const struct verify *verify, uint32_t seed)
{
	json_t *object = json_object(), *daemon = json_object();
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "addresses", verify->n },
		{ "compared", verify->compared },
		{ "trie_lookups", verify->asked },
		{ "routes", verify->routes.n },
		{ "tables", verify->routes.n_tables },
		{ "wrong", verify->wrong },
		{ "seed", seed },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		print_set(object, numbers[i].key, json_integer((json_int_t)numbers[i].value));
	print_set(object, "differences", differences_json(verify));
	print_set(daemon, "runs", json_boolean(verify->daemon.runs));
	print_set(daemon, "done", json_boolean(verify->daemon.came));
	print_set(daemon, "compared", json_integer((json_int_t)verify->daemon.compared));
	print_set(daemon, "wrong", json_integer((json_int_t)verify->daemon.wrong));
	print_set(object, "daemon", daemon);
	return object;
}

static void daemon_text(const struct verify *verify)
{
	if (!verify->daemon.runs)
		printf("sixlaned does not run: only the trie and the compiled FIB were compared\n");
	else if (!verify->daemon.came)
		printf("sixlaned's own table was not compared\n");
	else if (verify->daemon.wrong)
		printf("sixlaned compared %llu addresses with its own table: at least %llu differ; see its log; lookups use the LPM trie now\n",
		       (unsigned long long)verify->daemon.compared,
		       (unsigned long long)verify->daemon.wrong);
	else
		printf("sixlaned compared %llu addresses with its own table: no difference\n",
		       (unsigned long long)verify->daemon.compared);
}

static void to_text(const struct verify *verify, uint32_t seed)
{
	char addr[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN], trie[VALUE_LEN], compiled[VALUE_LEN];

	for (size_t i = 0; i < n_told(verify); i++) {
		const struct difference *told = &verify->told[i];

		print_prefix(&told->addr, 128, true, addr);
		printf("%s table %s: trie says %s, compiled FIB says %s\n", addr,
		       show_table(told->table, table), value_text(told, told->trie, trie),
		       value_text(told, told->compiled, compiled));
	}
	printf("compared %llu addresses in %zu tables, seed %u: ",
	       (unsigned long long)verify->compared, verify->routes.n_tables, seed);
	if (verify->wrong)
		printf("%llu differ\n", (unsigned long long)verify->wrong);
	else
		printf("no difference\n");
	if (verify->n != verify->compared)
		printf("%llu more addresses are left to the LPM trie\n",
		       (unsigned long long)(verify->n - verify->compared));
	daemon_text(verify);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int finish(const struct verify *verify, uint32_t seed)
{
	int rc;

	if (verify->options->json) {
		rc = print_json(verify->options, to_json(verify, seed));
	} else {
		to_text(verify, seed);
		rc = print_flush();
	}
	if (!verify->compared || verify->wrong || verify->daemon.wrong ||
	    (verify->daemon.runs && !verify->daemon.came))
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

int fib_verify_run(const struct cmd_options *options, uint32_t n_random, uint32_t seed)
{
	struct verify verify = { .options = options, .random = seed };
	struct cmd_view view;
	int rc = cmd_view_open_writable(&view);

	if (rc)
		return rc;
	verify.maps = &view.maps;
	verify.error = maps_view(&view.maps, &verify.view);
	if (!verify.error)
		verify.error = fib_routes_read(&verify.routes, &view.maps);
	verify.every = 1 + (PREFIX_EDGES * verify.routes.n + n_random) / TRIE_ASKED;
	if (!verify.error)
		compare_edges(&verify);
	if (!verify.error)
		compare_random(&verify, n_random);
	/* last: one that the daemon finds wrong is gone */
	if (!verify.error)
		ask_daemon(&verify);
	rc = verify.error ? fail(&verify) : finish(&verify, seed);
	fib_routes_free(&verify.routes);
	maps_unview(&verify.view);
	cmd_view_close(&view);
	return rc;
}
