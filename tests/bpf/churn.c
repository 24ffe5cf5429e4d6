// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookups on one CPU while routes change on the other, as the daemon changes them. The answer of
 * each lookup must have been right at some moment between its begin and its end.
 *
 * The writer numbers its changes and publishes the number before and after each. The reader (follow
 * in agree.bpf.c) records the numbers around each lookup. Afterwards the changes are made once
 * more, on routes alone, which yields the right answer of each address after each change.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../../user/lib/util.h"
#include "../../user/maps/access.h"
#include "agree_run.h"
#include "tests.h"

#define MAIN SIXLANE_TABLE_MAIN
#define RATE 10000ull /* changes a second */
#define DURATION_NS 2000000000ull
/* On a slow or busy machine it goes on until there is this much to check. */
#define CHANGES_MIN 2000u
#define CHANGES_MANY 15000u
#define SWEEPS_MIN 20u
#define SWEEPS_MAX 600u
#define CHANGES_MAX 200000u
#define ENGINE_EVERY 997u    /* changes until the other engine is asked */
#define REBUILD_EVERY 13007u /* … and until all is built anew, meanwhile the trie answers */

/* A route that comes, goes or changes. */
struct change {
	uint32_t table;
	struct prefix prefix;
	uint32_t value; /* 0: goes */
};

static struct agree agree;
static struct change changes[CHANGES_MAX];
static atomic_uint n_changes;
static atomic_bool stop;

/* What a sweep has found, lookup by lookup. */
struct seen {
	uint32_t which, before, after, found;
};
static struct seen (*seen)[AGREE_PROBES];
static size_t n_sweeps;

/* --- routes ----------------------------------------------------------------------------------- */

/*
 * Every second /48 of a dense row is stable, its siblings come, go and change. Under a stable cover
 * prefixes of any length come and go. Over stable /64s covers of any length come and go. Tables
 * come and go with their only routes, and so does the default route.
 */
#define DENSE 2048u  /* /48s, in a row */
#define HOSTS 64u    /* places under whose way prefixes of any length change */
#define COVERED 256u /* stable /64s */

static const uint32_t small_tables[] = { 1, 100, 253, 255, 0x80000000, 0xffffffff };
#define N_SMALL (sizeof(small_tables) / sizeof(small_tables[0]))

static struct prefix dense(uint32_t i)
{
	struct prefix prefix = { .len = 48 };

	prefix.addr.words[0] = htonl(0x20010db8);
	prefix.addr.words[1] = htonl(i << 16);
	return prefix;
}

/* A prefix of one of few addresses, which are alike in many first bits. */
static struct prefix nested(uint32_t word, uint32_t i, uint32_t len)
{
	struct prefix prefix = { .len = (uint8_t)len };

	prefix.addr.words[0] = htonl(word);
	prefix.addr.words[1] = htonl(i * 0x9e3779b9u & 0x0f0f0fff);
	prefix.addr.words[2] = htonl(i * 0x85ebca6bu);
	prefix.addr.words[3] = htonl(i * 0xc2b2ae35u);
	prefix_mask(&prefix);
	return prefix;
}

#define NESTED 0x20010db9u   /* under a stable /32 */
#define COVERING 0x20010dbau /* over stable /64s */

/* Each value differs from the last, so that an answer shows which change it is of. */
static uint32_t n_values;

static uint32_t next_value(uint32_t len)
{
	n_values++;
	return sixlane_route_value(1 + n_values % (SIXLANE_MAX_NEXT_HOPS - 1), len);
}

static void put(struct tables *tables, uint32_t table, const struct prefix *prefix)
{
	tables_put(tables, table, prefix, next_value(prefix->len));
}

/* The routes at first, which are the same whenever this is called. */
static void add_first_routes(struct tables *tables)
{
	struct prefix prefix = nested(NESTED, 0, 32);

	n_values = 0;
	put(tables, MAIN, &prefix);
	for (uint32_t i = 0; i < DENSE; i += 2) {
		prefix = dense(i);
		put(tables, MAIN, &prefix);
	}
	for (uint32_t i = 0; i < COVERED; i++) {
		prefix = nested(COVERING, i, 64);
		put(tables, MAIN, &prefix);
	}
}

static int compare_probes(const void *a, const void *b)
{
	const struct agree_probe *left = a, *right = b;

	if (left->table != right->table)
		return left->table < right->table ? -1 : 1;
	return memcmp(&left->addr, &right->addr, sizeof(left->addr));
}

/* Where something may change; *table: in which table. */
static struct prefix choose_place(uint32_t *table)
{
	uint32_t which;

	*table = MAIN;
	switch (fuzz_below(16)) {
	case 0:
		return fuzz_one_in(20) ? (struct prefix){ 0 }
				       : nested(NESTED, 0, 33 + fuzz_below(7));
	case 1:
		which = fuzz_below(N_SMALL);
		*table = small_tables[which];
		return which % 2 ? nested(NESTED, 0, 64) /* alone: the table goes with it */
				 : nested(NESTED, fuzz_below(4), 32 + fuzz_below(97));
	case 2 ... 3:
		return nested(COVERING, fuzz_below(COVERED), 36 + fuzz_below(28));
	case 4 ... 8:
		return dense(fuzz_below(DENSE / 2) * 2 + 1);
	default:
		return nested(NESTED, fuzz_below(HOSTS), 40 + fuzz_below(89));
	}
}

static void choose_probes(struct agree_probe probes[AGREE_PROBES])
{
	for (size_t i = 0; i < AGREE_PROBES; i++) {
		struct agree_probe *probe = &probes[i];
		struct prefix at;

		*probe = (struct agree_probe){ .table = MAIN };
		switch (i % 4) {
		case 0:
			at = dense(fuzz_below(DENSE));
			break;
		case 1:
			at = nested(COVERING, fuzz_below(COVERED), 64);
			break;
		case 2:
			at = nested(NESTED, fuzz_below(HOSTS), 128);
			break;
		default:
			at = choose_place(&probe->table);
			break;
		}
		probe->addr = at.addr;
		if (fuzz_one_in(2))
			probe->addr.bytes[15] ^= (uint8_t)fuzz_below(256);
		if (fuzz_one_in(16))
			probe->addr.bytes[fuzz_below(16)] ^= (uint8_t)(1u << fuzz_below(8));
	}
	qsort(probes, AGREE_PROBES, sizeof(*probes), compare_probes);
}

static void choose_change(struct tables *tables, struct change *change)
{
	bool is_there;

	change->prefix = choose_place(&change->table);
	is_there = radix_find(tables_routes(tables, change->table), &change->prefix);
	change->value = is_there && fuzz_below(3) ? 0 : next_value(change->prefix.len);
}

/* --- addresses ------------------------------------------------------------------------------- */

/* The probes are in order: those under a prefix are in a row. */
static size_t first_probe(uint32_t table, const struct prefix *prefix)
{
	const struct agree_probe key = { .addr = prefix->addr, .table = table };
	size_t low = 0, high = AGREE_PROBES;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_probes(&agree.probes[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_under(const struct agree_probe *probe, uint32_t table, const struct prefix *prefix)
{
	const struct prefix addr = { .addr = probe->addr, .len = 128 };

	return probe->table == table && prefix_covers(prefix, &addr);
}

/* --- the writer ------------------------------------------------------------------------------- */

static void apply(const struct change *change, bool trie_first)
{
	struct tables_change pending =
		tables_begin_change(&agree.tables, change->table, &change->prefix, change->value);

	if (trie_first)
		agree_put(&agree, change->table, &change->prefix, change->value);
	tables_end_change(&agree.tables, &pending);
	if (!trie_first)
		agree_put(&agree, change->table, &change->prefix, change->value);
}

/* Let the reader ask for an address that the change is about. */
static void publish_hot(const struct change *change)
{
	size_t first = first_probe(change->table, &change->prefix);
	size_t hot = first + fuzz_below(16);

	if (hot >= AGREE_PROBES || !is_under(&agree.probes[hot], change->table, &change->prefix))
		hot = first;
	if (hot < AGREE_PROBES)
		__atomic_store_n(&agree.state->hot, (uint32_t)hot, __ATOMIC_RELEASE);
}

static void change_next(void)
{
	uint32_t n = atomic_load(&n_changes);

	choose_change(&agree.tables, &changes[n]);
	publish_hot(&changes[n]);
	__atomic_store_n(&agree.state->started, n + 1, __ATOMIC_SEQ_CST);
	apply(&changes[n], n % 2);
	__atomic_store_n(&agree.state->finished, n + 1, __ATOMIC_SEQ_CST);
	atomic_store(&n_changes, n + 1);
	if (n % ENGINE_EVERY == ENGINE_EVERY - 1)
		__atomic_store_n(&agree.tables.maps.fib_head->engine,
				 agree.tables.maps.fib_head->engine == SIXLANE_ENGINE_TRIE
					 ? SIXLANE_ENGINE_COMPILED
					 : SIXLANE_ENGINE_TRIE,
				 __ATOMIC_RELEASE);
	if (n % REBUILD_EVERY == REBUILD_EVERY - 1)
		tables_build(&agree.tables);
}

/* At RATE, by the clock. */
static void *write_changes(void *arg)
{
	uint64_t start = util_now_ns();

	harness_pin(1);
	while (!atomic_load(&stop) && atomic_load(&n_changes) < CHANGES_MAX) {
		uint64_t due = (util_now_ns() - start) * RATE / 1000000000u;

		if (atomic_load(&n_changes) < due)
			change_next();
		else
			sched_yield();
	}
	return arg;
}

/* --- the reader ------------------------------------------------------------------------------- */

static void sweep(void)
{
	agree_sweep(&agree, AGREE_FOLLOW);
	for (size_t i = 0; i < AGREE_PROBES; i++)
		seen[n_sweeps][i] = (struct seen){ agree.probes[i].which, agree.probes[i].before,
						   agree.probes[i].after, agree.probes[i].found };
	n_sweeps++;
}

static void read_on(void)
{
	uint64_t end = util_now_ns() + DURATION_NS;

	while (n_sweeps < SWEEPS_MAX && (util_now_ns() < end || n_sweeps < SWEEPS_MIN ||
					 atomic_load(&n_changes) < CHANGES_MIN))
		sweep();
}

/* --- the check -------------------------------------------------------------------------------- */

/* What was right for an address, from which change on. */
struct right {
	uint32_t since, value;
};
struct history {
	struct right *answers;
	size_t n, room;
};
static struct history histories[AGREE_PROBES];

static void note(size_t probe, uint32_t since, uint32_t value)
{
	struct history *history = &histories[probe];

	if (history->n && history->answers[history->n - 1].value == value)
		return;
	if (history->n == history->room) {
		history->room = history->room ? 2 * history->room : 2;
		history->answers =
			realloc(history->answers, history->room * sizeof(*history->answers));
		assert_non_null(history->answers);
	}
	history->answers[history->n++] = (struct right){ since, value };
}

static void replay(void)
{
	static struct tables routes;

	add_first_routes(&routes);
	for (size_t i = 0; i < AGREE_PROBES; i++)
		note(i, 0, tables_match(&routes, agree.probes[i].table, &agree.probes[i].addr));
	for (uint32_t n = 0; n < n_changes; n++) {
		const struct change *change = &changes[n];

		tables_put(&routes, change->table, &change->prefix, change->value);
		for (size_t i = first_probe(change->table, &change->prefix);
		     i < AGREE_PROBES && is_under(&agree.probes[i], change->table, &change->prefix);
		     i++)
			note(i, n + 1, tables_match(&routes, change->table, &agree.probes[i].addr));
	}
	tables_clear(&routes);
}

static bool was_right(const struct history *history, const struct seen *one)
{
	for (size_t i = history->n; i--;) {
		const struct right *answer = &history->answers[i];

		if (answer->since <= one->after && answer->value == one->found)
			return true;
		if (answer->since <= one->before)
			return false;
	}
	return false;
}

static void explain(size_t probe, const struct seen *one)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &agree.probes[probe].addr, text, sizeof(text));
	fprintf(stderr, "table %u, %s: %08x between the changes %u and %u\n",
		agree.probes[probe].table, text, one->found, one->before, one->after);
	for (size_t i = 0; i < histories[probe].n; i++)
		if (histories[probe].answers[i].since <= one->after + 1)
			fprintf(stderr, "  from %u on %08x\n", histories[probe].answers[i].since,
				histories[probe].answers[i].value);
}

/* Wrong answers of all lookups; *during: those of lookups that ran during a change. */
static size_t count_wrong(size_t *during)
{
	size_t wrong = 0;

	for (size_t s = 0; s < n_sweeps; s++) {
		for (size_t i = 0; i < AGREE_PROBES; i++) {
			const struct seen *one = &seen[s][i];

			*during += one->before != one->after;
			if (!was_right(&histories[one->which], one) && !wrong++)
				explain(one->which, one);
		}
	}
	return wrong;
}

/* --- the test --------------------------------------------------------------------------------- */

static void run(void)
{
	struct compiled_stats stats;
	pthread_t thread;
	size_t during = 0, wrong;

	harness_pin(0);
	assert_int_equal(pthread_create(&thread, NULL, write_changes, NULL), 0);
	read_on();
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	harness_unpin();
	sweep(); /* without changes: only the last answers are right */
	replay();
	wrong = count_wrong(&during);
	compiled_get_stats(agree.tables.compiled, &stats);
	printf("  %u changes, %zu lookups, %zu beside a change; %llu replans, %llu builds, %llu "
	       "grace periods\n",
	       n_changes, n_sweeps * AGREE_PROBES, during, (unsigned long long)stats.replans,
	       (unsigned long long)stats.builds, (unsigned long long)agree.tables.graces);
	assert_int_equal(wrong, 0);
	assert_true(n_changes >= CHANGES_MIN && n_sweeps >= SWEEPS_MIN && during);
	assert_true(stats.replans);
	/* Those of builds are not all: memory that was given back is used again, if there were as
	 * many changes as there should be. */
	assert_true(n_changes < CHANGES_MANY || agree.tables.graces >= stats.builds);
}

TEST(test_lookups_beside_changes, "lookups beside changes")
{
	fuzz_seed(8);
	seen = calloc(SWEEPS_MAX + 1, sizeof(*seen));
	assert_non_null(seen);
	agree_open(&agree);
	agree.tables.has_readers = true;
	add_first_routes(&agree.tables);
	agree_install(&agree);
	choose_probes(agree.probes);
	run();
	agree_close(&agree);
	for (size_t i = 0; i < AGREE_PROBES; i++)
		free(histories[i].answers);
	free(seen);
}

/* --- grace periods ---------------------------------------------------------------------------- */

static atomic_bool lingered;

static void *linger(void *arg)
{
	harness_pin(1);
	agree_run(&agree, AGREE_LINGER, 1);
	atomic_store(&lingered, true);
	return arg;
}

/* The daemon's grace period outlasts a reader that had begun before. */
TEST(test_grace_waits_for_readers, "a grace period waits for readers")
{
	pthread_t thread;
	uint32_t inside;

	agree_open(&agree);
	for (int i = 0; i < 10; i++) {
		atomic_store(&lingered, false);
		assert_int_equal(pthread_create(&thread, NULL, linger, NULL), 0);
		while (!__atomic_load_n(&agree.state->inside, __ATOMIC_ACQUIRE) &&
		       !atomic_load(&lingered))
			sched_yield();
		assert_int_equal(maps_write_grace(&agree.tables.maps), 0);
		inside = __atomic_load_n(&agree.state->inside, __ATOMIC_ACQUIRE);
		pthread_join(thread, NULL);
		assert_int_equal(inside, 0);
	}
	agree_close(&agree);
}
