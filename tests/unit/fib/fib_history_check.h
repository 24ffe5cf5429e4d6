/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether packets meet what the model has. exact: as the model is now. Else packets may also meet
 * what was before the operation, or be punted for lack of room.
 */
#ifndef TEST_FIB_HISTORY_CHECK_H
#define TEST_FIB_HISTORY_CHECK_H

#include "fib_history.h"

/* After a failure a packet may be punted, or find no route, if SIXLANE_META_GAPS is set. */
static inline bool is_pass(const struct history *history, const struct sim_found *found)
{
	uint32_t verdict = found ? sim_verdict(found) : SIXLANE_FORWARD;

	if (!history->trouble && !history->tight && !history->forgot)
		return false;
	if (!found)
		return history->sim->gaps;
	/* An object for which there was no memory, or which is set later. */
	if (verdict == SIXLANE_PUNT_NEXT_HOP_OBJECT)
		return history->trouble || history->forgot || history_at_work;
	return verdict == SIXLANE_PUNT_MAP_FULL || verdict == SIXLANE_PUNT_SOURCE_ROUTE;
}

/* The route and the exception that the probe meets agree with state. */
static inline bool agrees(const struct history *history, const struct model_state *state,
			  const struct model_probe *probe, const struct sim_found *found,
			  bool exact)
{
	bool excused = history->trouble;

	return model_agrees(&history->model, state, probe, found, exact) &&
	       (!found || sim_verdict(found) != SIXLANE_FORWARD ||
		model_exception_agrees(&history->model, state, probe, found, excused));
}

static inline void history_check_found(const struct history *history,
				       const struct model_probe *probe,
				       const struct sim_found *found, bool exact)
{
	if (agrees(history, &history->model.now, probe, found, exact))
		return;
	if (!exact && (agrees(history, &history->model.before, probe, found, false) ||
		       is_pass(history, found)))
		return;
	fail_msg("table %#x probe %zu has verdict %d, which is neither old nor new", probe->table,
		 (size_t)(probe - history->model.probes), found ? (int)sim_verdict(found) : -1);
}

/* Look the probe up in the trie, and in the compiled FIB if that is active. */
static inline void history_check_probe(const struct history *history,
				       const struct model_probe *probe, bool exact)
{
	struct sim_found at;
	bool has = sim_find(history->sim, probe->table, &probe->dst, &probe->src, &at);

	history_check_found(history, probe, has ? &at : NULL, exact);
	if (!sim_find_compiled(history->sim, probe->table, &probe->dst, &probe->src, &at, &has))
		history_check_found(history, probe, has ? &at : NULL, exact);
}

/* exact: each tag of the model must be found. */
static inline void history_check_vlans(const struct history *history, bool exact)
{
	for (uint32_t lower = 1; lower <= 2; lower++) {
		for (uint16_t vid = 1; vid <= 2; vid++) {
			const union sixlane_tag tag = { .tpid = 0x81, .tci = vid };
			uint32_t found = sim_vlan_ifindex(history->sim, lower, tag);

			if (found)
				assert_true(
					model_has_tag(&history->model.now, found, lower, tag) ||
					model_has_tag(&history->model.before, found, lower, tag));
			else if (exact)
				assert_false(model_has_tag(&history->model.now, 0, lower, tag));
		}
	}
}

static inline void history_check_write(void *ctx)
{
	struct history *history = ctx;
	bool at_work = history_at_work;

	for (int i = 0; i < 6; i++)
		history_check_probe(
			history, &history->model.probes[history_random(history, N_PROBES)], false);
	history_check_vlans(history, false);
	history_at_work = at_work;
}

static inline void history_report_wrong(void *ctx, uint32_t table, const union sixlane_addr *addr,
					uint32_t trie, uint32_t compiled)
{
	fail_msg("table %#x: the compiled FIB has 0x%x, the trie 0x%x", table, compiled, trie);
}

/* fib_verify_*() finds nothing wrong. */
static inline void history_verify(const struct history *history)
{
	struct fib_verify run;
	int rc = fib_verify_begin(history->fib, &run);

	if (rc == -ENODATA)
		return;
	assert_int_equal(rc, 0);
	while (fib_verify_some(history->fib, &run, 5, history_report_wrong, NULL) > 0)
		;
	fib_verify_end(&run);
}

/* Between operations. */
static inline void history_check(struct history *history)
{
	struct fib_stats stats;
	size_t there = 0;
	bool exact;

	fib_get_stats(history->fib, &stats);
	exact = !stats.missing && !history->forgot;
	history->model.before = history->model.now;
	for (size_t i = 0; i < N_PROBES; i++)
		history_check_probe(history, &history->model.probes[i], exact);
	sim_fib_check(history->sim);
	history_verify(history);
	for (size_t i = 0; i < N_PREFIXES; i++)
		there += history->model.now.slots[i].there;
	history_check_vlans(history, false);
	assert_int_equal(stats.exceptions, history->sim->n_exceptions);
	assert_int_equal(stats.routes, history->sim->routes.n);
	assert_int_equal(stats.sources, history->sim->sources.n);
	assert_int_equal(stats.neighbours, history->sim->n_neigh_index);
	if (exact) {
		assert_int_equal(stats.routes, there);
		assert_false(history->sim->gaps);
	}
	if (!history->trouble && !history->tight)
		assert_int_equal(stats.missing, 0);
}

#endif
