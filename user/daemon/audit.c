// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes through all tables, in pieces. A pass goes through the kernel's table and the RIB side by
 * side, in their common order. A destination that differs is read once more and corrected
 * (a place). Tables take turns, some pieces each, within the budget. With the usual budget no
 * table is passed through more than once a second. The exceptions behind the routes go to
 * exceptions_decide.c; those of next-hop objects count as a table of their own.
 *
 * A piece is not compared if neither the kernel nor the RIB has changed there .
 *
 * Without a kernel reader a pass is a dump of everything, as often as the budget allows.
 */
#include "audit.h"

#include <errno.h>
#include <string.h>

#include "daemon.h"

#define INTERVAL_NS NS_PER_S
#define USUAL_PERMILLE 5u
#define PIECE_RECORDS 512u /* at most, see kernel_reader_walk() */
#define BURST_NS 10000000u /* pieces in a row: for the first one the caches are cold */

static const struct prefix all;

struct audit *audit_new(void)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	char err[LOADER_ERR];

	if (!audit)
		return NULL;
	audit->all.due_ns = audit->next_pending_ns = audit->next_check_ns = UINT64_MAX;
	TAILQ_INIT(&audit->list);
	if (kernel_reader_open(&audit->reader, KERNEL_READER_CAST, err))
		log_warning(
			"cannot read the kernel's own routing tables: %s; routes with a lifetime, and multipath routes from dumps, pass to the kernel",
			err);
	return audit;
}

void audit_free(struct audit *audit)
{
	if (!audit)
		return;
	kernel_reader_close(audit->reader);
	audit_places_free(audit);
	audit_tables_free(audit);
	free(audit);
}

/* --- a piece of a table ----------------------------------------------------------------------- */

/* The kernel lacks the RIB's destinations before dst (NULL: up to the end of the table). */
static int add_differences_before(struct sync *sync, uint32_t table, const struct radix_node **node,
				  const struct prefix *dst)
{
	int err = 0;

	while (!err && *node && (!dst || audit_table_compare(&(*node)->prefix, dst) < 0)) {
		err = audit_place_add_difference(sync->audit, table, &(*node)->prefix);
		*node = radix_next_under(*node, &all);
	}
	return err;
}

/* dest: the destination in the RIB; NULL: it is not there. */
static int compare_destination(struct sync *sync, uint32_t table, const struct prefix *dst,
			       const struct rib_dest *dest, const struct kernel_view *view,
			       const struct kernel_record *records, size_t n)
{
	struct kernel_routes *routes = &sync->audit->routes;
	enum rib_difference difference;

	kernel_routes_fill(routes, view, table, records, n);
	difference = rib_compare(dest, routes->routes, routes->n, view->now_ns);
	if (difference == RIB_RENEWED)
		audit_place_store(sync, table, dst);
	else if (difference != RIB_SAME)
		return audit_place_add_difference(sync->audit, table, dst);
	return 0;
}

/* b is a route of the same destination as a, or an exception of it. */
static bool belongs_to(const struct kernel_record *a, const struct kernel_record *b)
{
	return b->kind == KERNEL_RECORD_EXCEPTION ||
	       (a->dst_len == b->dst_len && !memcmp(a->dst, b->dst, sizeof(a->dst)));
}

/* node: the next destination of the RIB. */
static int compare_view(struct sync *sync, uint32_t table, const struct radix_node *node,
			const struct kernel_view *view)
{
	size_t begin = 0, end;
	int err = 0;

	for (; !err && begin < view->n; begin = end) {
		const struct kernel_record *records = &view->records[begin];
		const struct prefix dst = kernel_routes_dst(records);
		const struct radix_node *same = NULL;

		end = begin + 1;
		while (end < view->n && belongs_to(records, &view->records[end]))
			end++;
		err = add_differences_before(sync, table, &node, &dst);
		if (node && prefix_equal(&node->prefix, &dst)) {
			same = node;
			node = radix_next_under(node, &all);
		}
		if (!err)
			err = compare_destination(sync, table, &dst, (const struct rib_dest *)same,
						  view, records, end - begin);
		exceptions_note(sync, table, view, records, end - begin);
	}
	return !err && view->end ? add_differences_before(sync, table, &node, NULL) : err;
}

/* A destination with more exceptions than fit into a view: read those of one hop at a time. */
static int note_by_hop(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	struct kernel_choice choice = { .exceptions = KERNEL_EXCEPTIONS_ALL, .hop = 1 };
	uint64_t sum = 0, before; /* of the routes in their order */
	struct kernel_view view;
	uint32_t n_routes;
	int err;

	do {
		err = kernel_reader_find(sync->audit->reader, table, dst, &choice, &view)
			      ?: exceptions_note(sync, table, &view, view.records, view.n);
		before = sum;
		sum = n_routes = 0;
		for (uint32_t i = 0; !err && i < view.n; i++) {
			if (view.records[i].kind != KERNEL_RECORD_ROUTE)
				continue;
			sum = audit_table_sum(sum, &view.records[i], sizeof(view.records[i]));
			n_routes++;
		}
		if (!err && choice.hop > 1 && sum != before)
			err = -EAGAIN;
	} while (!err && choice.hop++ < n_routes);
	if (err)
		log_info_limited("audit: a route in table %u was not read whole", table);
	return err;
}

static int compare_piece(struct sync *sync, struct audit_table *table, struct kernel_view *view)
{
	static const struct kernel_choice choice = { .exceptions = KERNEL_EXCEPTIONS_ALL };
	struct kernel_reader *reader = sync->audit->reader;
	const struct kernel_cursor from = table->cursor;
	int err;

	err = kernel_reader_walk(reader, table->id, PIECE_RECORDS, &choice, &table->cursor, view);
	if (err)
		return err;
	if (table->id == KERNEL_READER_OBJECTS) {
		table->incomplete |= exceptions_note(sync, table->id, view, view->records, view->n);
		return 0;
	}
	if (audit_table_renew_piece(table, &from, view) &&
	    !sync->audit->quiet) /* a dump may put what is known into another order */
		return 0;
	err = compare_view(sync, table->id,
			   audit_table_node_after(rib_table(sync->stores.rib, table->id), &from),
			   view);
	if (!err && view->cut)
		table->incomplete |= note_by_hop(sync, table->id, &table->cursor.last) != 0;
	return err;
}

/* Read the next piece of a table. True: the pass is at its end. */
static bool read_piece(struct sync *sync, struct audit_table *table)
{
	struct kernel_view view = { 0 };
	int err = compare_piece(sync, table, &view);

	if (err == -EAGAIN) /* the kernel is changing the next destination */
		return false;
	if (err) {
		schedule_tables(&sync->schedule, err == -E2BIG ? 0 : SCHEDULE_LATER_NS);
		log_warning_limited("cannot audit table %u: %s; sixlaned reads all tables again",
				    table->id,
				    err == -E2BIG ? "too many routes are not as the kernel has them"
						  : strerror(-err));
	}
	table->incomplete |= err != 0;
	audit_places_run(sync); /* does not change the list of tables */
	return err || view.end;
}

/* --- which table ------------------------------------------------------------------------------ */

/* The budget, of one CPU. Passes that exceptions need come even if the audit is switched off. */
static uint32_t permille(const struct sync *sync)
{
	return sync->config->audit_permille ?: USUAL_PERMILLE * exceptions_need_pass(sync);
}

/* Between two passes through a table; shorter with a larger budget than usual. */
static uint64_t interval_ns(const struct sync *sync)
{
	return INTERVAL_NS * USUAL_PERMILLE / util_later(permille(sync), USUAL_PERMILLE);
}

/* Read the next piece of a table. True: its pass is complete. */
static bool run_piece(struct sync *sync, struct audit_table *table)
{
	const uint64_t now_ns = util_now_ns();
	bool end;

	if (!table->begin_ns) {
		table->begin_ns = now_ns;
		table->incomplete = false;
		table->cursor = (struct kernel_cursor){ 0 };
	}
	end = read_piece(sync, table);
	table->turn_ns = end ? table->begin_ns + interval_ns(sync) : now_ns;
	if (end)
		audit_table_end_pass(sync->audit, table);
	return end;
}

void audit_read_all(struct sync *sync)
{
	struct audit *audit = sync->audit;

	if (!audit->reader) {
		audit->passes++; /* the dump was one */
		return;
	}
	audit_tables_list(sync);
	audit->quiet = true;
	for (size_t i = 0; i < audit->n_tables; i++) {
		audit->tables[i].begin_ns = 0;
		while (!run_piece(sync, &audit->tables[i]))
			;
	}
	audit->quiet = false;
}

/* --- when ------------------------------------------------------------------------------------- */

/* Time until the budget allows for another such cost. The budget may have become 0. */
static uint64_t rest_ns(const struct sync *sync, uint64_t cost_ns)
{
	return cost_ns * 1000 / util_later(permille(sync), 1);
}

static uint64_t piece_due_ns(const struct audit *audit)
{
	const struct audit_table *table = audit_tables_next(audit);

	return util_later(table ? table->turn_ns : UINT64_MAX, audit->next_piece_ns);
}

void audit_run(struct sync *sync)
{
	struct audit *audit = sync->audit;
	const uint64_t now_ns = util_now_ns();
	struct audit_table *table;
	uint64_t cpu_ns;

	if (!audit->reader)
		return;
	if (now_ns >= audit->all.due_ns) {
		audit_place_begin(&audit->all, now_ns);
		audit_read_all(sync);
	}
	audit_places_run(sync);
	if (!permille(sync))
		return;
	if (now_ns >= audit->next_tables_ns) {
		audit->next_tables_ns = now_ns + interval_ns(sync);
		audit_tables_list(sync);
	}
	if (now_ns < piece_due_ns(audit))
		return;
	cpu_ns = util_cpu_ns();
	table = audit_tables_next(audit);
	while (!run_piece(sync, table) && util_cpu_ns() - cpu_ns < BURST_NS)
		;
	audit->next_piece_ns = now_ns + rest_ns(sync, util_cpu_ns() - cpu_ns);
}

uint64_t audit_due_ns(const struct sync *sync)
{
	const struct audit *audit = sync->audit;
	const uint64_t next_place_ns = util_earlier(audit->next_pending_ns, audit->next_check_ns);
	const uint64_t next_ns = util_earlier(audit->all.due_ns, next_place_ns);

	if (!audit->reader)
		return UINT64_MAX;
	if (!permille(sync))
		return next_ns;
	return util_earlier(next_ns, util_earlier(piece_due_ns(audit), audit->next_tables_ns));
}

uint64_t audit_dump_due_ns(const struct sync *sync, uint64_t cost_ns)
{
	if (sync->audit->reader || !sync->config->audit_permille)
		return UINT64_MAX;
	return util_now_ns() + util_later(INTERVAL_NS, rest_ns(sync, cost_ns));
}

void audit_write_meta(const struct audit *audit, struct sixlane_meta *meta)
{
	meta->audit_reader = audit->reader != NULL;
	meta->audit_passes = audit->passes;
	meta->audit_pass_ns = audit->pass_ns;
	for (size_t i = 0; i < RIB_N_DIFFERENCES; i++)
		meta->audit_corrected[i] = audit->corrected[i];
}
