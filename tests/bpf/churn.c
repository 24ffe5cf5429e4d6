// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookups on one CPU while routes change on the other, as the daemon changes them, each lookup
 * judged by itself: its answer must have been right at some moment between its begin and its end.
 *
 * The writer numbers its changes and tells the number before and after each; the reader (follow in
 * agree.bpf.c) notes the numbers around each lookup. Afterwards the changes are made once more, on
 * routes alone, which says what was right for each address after each of them.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/lib/util.h"
#include "../../user/maps/access.h"
#include "agree_run.h"
#include "churn.h"
#include "fuzz.h"
#include "harness.h"
#include "tests.h"

#define RATE 10000ull /* changes a second */
#define DURATION_NS 2000000000ull
/* Where the machine is slow or busy it goes on until there is this much to judge. */
#define CHANGES_MIN 2000u
#define CHANGES_MANY 15000u
#define SWEEPS_MIN 20u
#define SWEEPS_MAX 600u
#define CHANGES_MAX 200000u
#define ENGINE_EVERY 997u    /* changes until the other engine is asked */
#define REBUILD_EVERY 13007u /* … and until all is built anew, meanwhile the trie answers */

static struct agree agree;
static struct churn_change changes[CHANGES_MAX];
static atomic_uint n_changes;
static atomic_bool stop;

/* What a sweep has found, lookup by lookup. */
struct seen {
	uint32_t which, before, after, found;
};
static struct seen (*seen)[AGREE_PROBES];
static size_t n_sweeps;

/* --- addresses ------------------------------------------------------------------------------- */

/* The probes are in order: those under a prefix are in a row. */
static size_t first_probe(uint32_t table, const struct prefix *prefix)
{
	const struct agree_probe key = { .addr = prefix->addr, .table = table };
	size_t low = 0, high = AGREE_PROBES;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (churn_compare_probes(&agree.probes[middle], &key) < 0)
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

static void apply(const struct churn_change *change, bool trie_first)
{
	struct tables_change said =
		tables_begin_change(&agree.tables, change->table, &change->prefix, change->value);

	if (trie_first)
		agree_put(&agree, change->table, &change->prefix, change->value);
	tables_end_change(&agree.tables, &said);
	if (!trie_first)
		agree_put(&agree, change->table, &change->prefix, change->value);
}

/* Lead the reader to an address that the change is about. */
static void heat(const struct churn_change *change)
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

	churn_choose(&agree.tables, &changes[n]);
	heat(&changes[n]);
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

/* As many as the clock says are due. */
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

/* --- the judge -------------------------------------------------------------------------------- */

/* What was right for an address, from which change on. */
struct answer {
	uint32_t since, value;
};
struct history {
	struct answer *answers;
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
	history->answers[history->n++] = (struct answer){ since, value };
}

static void replay(const struct tables *at_first)
{
	static struct tables routes;

	tables_open_bare(&routes);
	tables_copy(&routes, at_first);
	for (size_t i = 0; i < AGREE_PROBES; i++)
		note(i, 0, tables_match(&routes, agree.probes[i].table, &agree.probes[i].addr));
	for (uint32_t n = 0; n < n_changes; n++) {
		const struct churn_change *change = &changes[n];

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
		const struct answer *answer = &history->answers[i];

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

/* Of all lookups; *during: those with a change beside them. */
static size_t judge(size_t *during)
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

static void run(const struct tables *at_first)
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
	sweep(); /* when all is still: the last answers, and nothing else */
	replay(at_first);
	wrong = judge(&during);
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

void churn_test_lookups_beside_changes(void **state)
{
	static struct tables at_first;

	fuzz_seed(8);
	seen = calloc(SWEEPS_MAX + 1, sizeof(*seen));
	assert_non_null(seen);
	agree_open(&agree);
	agree.tables.has_readers = true;
	churn_routes(&agree.tables);
	agree_install(&agree);
	churn_probes(agree.probes);
	tables_open_bare(&at_first);
	tables_copy(&at_first, &agree.tables);
	run(&at_first);
	tables_clear(&at_first);
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
	agree_run(&agree, AGREE_LINGER);
	atomic_store(&lingered, true);
	return arg;
}

/* The daemon's wait ends after a reader that was under way when it began. */
void churn_test_grace_waits_for_readers(void **state)
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
