// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes through all tables, in pieces. A table's pass goes through the kernel's trie and the RIB's
 * side by side, in their common order; what differs is read once more and corrected
 * (audit_place.c). Tables take turns, a piece each within the budget, and each is passed through
 * once a second at most. The exceptions that stand behind the routes are handed on, and those of
 * next-hop objects, which are as a table of their own here.
 *
 * Without a kernel reader a pass is a dump of everything, as often as the budget allows.
 */
#include <errno.h>
#include <string.h>

#include "audit_internal.h"
#include "state.h"

#define NS_PER_S 1000000000ull
#define INTERVAL_NS NS_PER_S
#define USUAL_PERMILLE 5u
#define PIECE_RECORDS 1024u
/* More of them in one piece: messages were lost, and a dump is what helps. */
#define MAX_SUSPECTS 2048u

struct audit *audit_new(void)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	char err[LOADER_ERR];

	if (audit && kernel_reader_open(&audit->reader, KERNEL_READER_CAST, err))
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
	kernel_routes_free(&audit->routes);
	free(audit->tables);
	free(audit->suspects.list);
	free(audit->unsteady.list);
	free(audit);
}

struct kernel_reader *audit_reader(const struct audit *audit)
{
	return audit->reader;
}

/* --- a piece of a table ----------------------------------------------------------------------- */

/* Where the two tables are compared. */
struct side_by_side {
	struct sync *sync;
	uint32_t table;
	const struct radix_node *node; /* the RIB's next destination */
	uint64_t now_ns;
	int err;
};

static void suspect(struct side_by_side *both, const struct prefix *dst)
{
	struct audit_places *suspects = &both->sync->audit->suspects;

	if (suspects->n == MAX_SUSPECTS)
		both->err = -E2BIG;
	else if (!both->err)
		both->err = audit_place_add(suspects, both->table, dst);
}

/*
 * Goes through the RIB's destinations up to the kernel's next one (NULL: to the table's end). Those
 * before it are not in the kernel. Returns what the RIB has of it.
 */
static const struct rib_dest *advance(struct side_by_side *both, const struct prefix *dst)
{
	static const struct prefix all;
	const struct radix_node *node;

	while ((node = both->node)) {
		const int order = dst ? audit_prefix_compare(&node->prefix, dst) : -1;

		if (order > 0)
			return NULL;
		both->node = radix_next_under(node, &all);
		if (!order)
			return (const struct rib_dest *)node;
		suspect(both, &node->prefix);
	}
	return NULL;
}

/* The kernel's next destination. */
static void compare_next(struct side_by_side *both, const struct kernel_view *view,
			 const struct kernel_record *records, size_t n)
{
	struct kernel_routes *routes = &both->sync->audit->routes;
	const struct prefix dst = kernel_routes_dst(records);
	const struct rib_dest *dest = advance(both, &dst);
	enum rib_difference difference;

	if (!both->err)
		both->err = kernel_routes_fill(routes, view, both->table, records, n);
	if (both->err)
		return;
	difference = rib_compare(dest, routes->routes, routes->n, both->now_ns);
	if (difference == RIB_RENEWED)
		audit_place_put(both->sync, both->table, &dst);
	else if (difference != RIB_SAME)
		suspect(both, &dst);
}

/* A route of the same destination, or an exception of it. */
static bool belongs_to(const struct kernel_record *a, const struct kernel_record *b)
{
	return b->kind == KERNEL_RECORD_EXCEPTION ||
	       (a->dst_len == b->dst_len && !memcmp(a->dst, b->dst, sizeof(a->dst)));
}

static void compare_view(struct side_by_side *both, const struct kernel_view *view)
{
	size_t begin = 0, end;

	for (; begin < view->n; begin = end) {
		for (end = begin + 1; end < view->n; end++)
			if (!belongs_to(&view->records[begin], &view->records[end]))
				break;
		compare_next(both, view, &view->records[begin], end - begin);
		exceptions_note(both->sync, both->table, view, &view->records[begin], end - begin);
	}
	if (view->end)
		advance(both, NULL);
}

static const struct radix_node *node_behind(const struct sync *sync, uint32_t table,
					    const struct kernel_cursor *cursor)
{
	static const struct prefix all;
	const struct radix *radix = rib_table(sync->rib, table);

	if (!radix)
		return NULL;
	return cursor->started ? radix_after(radix, &cursor->last) : radix_first_under(radix, &all);
}

static void mend_suspects(struct sync *sync, bool expected)
{
	struct audit *audit = sync->audit;

	for (size_t i = 0; i < audit->suspects.n; i++)
		audit_place_mend(sync, &audit->suspects.list[i], expected);
	audit->suspects.n = 0;
}

static int compare_piece(struct sync *sync, struct audit_table *table, struct kernel_view *view)
{
	static const struct kernel_choice choice = { .exceptions = KERNEL_EXCEPTIONS_ALL };
	struct kernel_reader *reader = sync->audit->reader;
	struct side_by_side both = {
		.sync = sync,
		.table = table->id,
		.node = node_behind(sync, table->id, &table->cursor),
		.now_ns = util_now_ns(),
	};

	both.err =
		kernel_reader_walk(reader, table->id, PIECE_RECORDS, &choice, &table->cursor, view);
	if (both.err)
		return both.err;
	if (table->id == KERNEL_READER_OBJECTS)
		exceptions_note(sync, table->id, view, view->records, view->n);
	else
		compare_view(&both, view);
	return both.err;
}

/*
 * The next piece of a table's pass. expected: differences are nothing to report. Returns whether
 * the pass is at its end.
 */
static bool read_piece(struct sync *sync, struct audit_table *table, bool expected)
{
	struct kernel_view view = { 0 };
	int err = compare_piece(sync, table, &view);

	if (err == -EAGAIN) /* the kernel is just changing what comes next */
		return false;
	if (err) {
		sync->audit->suspects.n = 0;
		sync_want(sync, err == -E2BIG ? 0 : SYNC_LATER_NS);
		log_warning_limited("cannot audit table %u: %s; sixlaned reads all tables again",
				    table->id,
				    err == -E2BIG ? "too many routes are not as the kernel has them"
						  : strerror(-err));
		return true;
	}
	mend_suspects(sync, expected); /* does not change the list of tables */
	table->cut |= view.cut;
	if (view.cut)
		log_warning_limited(
			"a route in table %u has more exceptions than can be read: packets to the destinations of new ones pass to the kernel",
			table->id);
	return view.end;
}

/* --- which table ------------------------------------------------------------------------------ */

static struct audit_table *find_table(const struct audit *audit, uint32_t id)
{
	for (size_t i = 0; i < audit->n_tables; i++)
		if (audit->tables[i].id == id)
			return &audit->tables[i];
	return NULL;
}

static void note_table(void *ctx, uint32_t id)
{
	struct audit *audit = ctx;
	struct audit_table *table = find_table(audit, id), *list;

	if (table) {
		table->known = true;
		return;
	}
	list = reallocarray(audit->tables, audit->n_tables + 1, sizeof(*list));
	if (!list) { /* looked for again in a second */
		audit->listed_ns = 0;
		return;
	}
	audit->tables = list;
	list[audit->n_tables++] = (struct audit_table){ .id = id, .known = true };
}

/* Tables that the kernel or the RIB has: one of the two may have missed that one came or went. */
static void find_tables(struct sync *sync)
{
	struct audit *audit = sync->audit;
	struct kernel_view view = { 0 };
	size_t kept = 0;
	int ret;

	audit->listed_ns = util_now_ns();
	ret = kernel_reader_tables(audit->reader, &view);
	if (ret)
		log_warning_limited("cannot list the kernel's routing tables: %s", strerror(-ret));
	for (size_t i = 0; i < audit->n_tables; i++)
		audit->tables[i].known = false;
	for (size_t i = 0; i < view.n; i++)
		note_table(audit, view.records[i].table);
	rib_each_table(sync->rib, note_table, audit);
	if (nexthops_count(sync->nexthops))
		note_table(audit, KERNEL_READER_OBJECTS);
	for (size_t i = 0; i < audit->n_tables; i++)
		if (audit->tables[i].known)
			audit->tables[kept++] = audit->tables[i];
	audit->n_tables = kept;
}

/* Whose turn is next. NULL: there are no tables. */
static struct audit_table *next_table(const struct audit *audit)
{
	struct audit_table *next = NULL;

	for (size_t i = 0; i < audit->n_tables; i++)
		if (!next || audit->tables[i].turn_ns < next->turn_ns)
			next = &audit->tables[i];
	return next;
}

/* With a larger budget than usual more often than every second. */
static uint64_t interval_ns(const struct sync *sync)
{
	const uint32_t permille = sync->config->audit_permille;

	return permille > USUAL_PERMILLE ? INTERVAL_NS * USUAL_PERMILLE / permille : INTERVAL_NS;
}

static uint64_t read_since_ns(const struct audit *audit)
{
	uint64_t since_ns = audit->n_tables ? UINT64_MAX : 0;

	for (size_t i = 0; i < audit->n_tables; i++)
		if (audit->tables[i].read_since_ns < since_ns)
			since_ns = audit->tables[i].read_since_ns;
	return since_ns;
}

/* A table that came after the last time that they were listed has not been read. */
uint64_t audit_read_since_ns(const struct audit *audit)
{
	const uint64_t since_ns = read_since_ns(audit);

	return since_ns < audit->listed_ns ? since_ns : audit->listed_ns;
}

/* Perhaps all have been read since the last time that they had. */
static void end_pass(struct audit *audit, struct audit_table *table)
{
	const uint64_t now_ns = util_now_ns();

	if (!table->cut)
		table->read_since_ns = table->begin_ns;
	table->begin_ns = 0;
	if (audit_read_since_ns(audit) <= audit->passed_ns)
		return;
	audit->passes++;
	audit->pass_ns = now_ns - read_since_ns(audit);
	audit->passed_ns = now_ns;
}

uint64_t audit_passes(const struct audit *audit)
{
	return audit->passes;
}

/* The next piece of a table. Returns whether its pass is through. */
static bool run_piece(struct sync *sync, struct audit_table *table, bool expected)
{
	const uint64_t now_ns = util_now_ns();
	bool end;

	if (!table->begin_ns) {
		table->begin_ns = now_ns;
		table->cut = false;
		table->cursor = (struct kernel_cursor){ 0 };
	}
	end = read_piece(sync, table, expected);
	table->turn_ns = end ? table->begin_ns + interval_ns(sync) : now_ns;
	if (end)
		end_pass(sync->audit, table);
	return end;
}

void audit_read_all(struct sync *sync)
{
	struct audit *audit = sync->audit;

	if (!audit->reader) {
		audit->passes++; /* a dump was one */
		return;
	}
	find_tables(sync);
	for (size_t i = 0; i < audit->n_tables; i++) {
		audit->tables[i].begin_ns = 0;
		while (!run_piece(sync, &audit->tables[i], true))
			;
	}
}

/* --- when --------------------------------------------------------------------------------------
 */

/* So much time must pass for the budget, which is not 0, to have been kept. */
static uint64_t rest_ns(const struct sync *sync, uint64_t cost_ns)
{
	return cost_ns * 1000 / sync->config->audit_permille;
}

/* UINT64_MAX: there is nothing to do. */
static uint64_t piece_due_ns(const struct audit *audit)
{
	const struct audit_table *table = next_table(audit);
	const uint64_t due_ns = table ? table->turn_ns : UINT64_MAX;

	return due_ns > audit->next_piece_ns ? due_ns : audit->next_piece_ns;
}

void audit_run(struct sync *sync)
{
	struct audit *audit = sync->audit;
	const uint64_t now_ns = util_now_ns();
	uint64_t cpu_ns;

	if (!audit->reader)
		return;
	audit_event_run(sync, now_ns);
	if (!sync->config->audit_permille)
		return;
	if (now_ns >= audit->next_tables_ns) {
		audit->next_tables_ns = now_ns + interval_ns(sync);
		find_tables(sync);
	}
	if (now_ns < piece_due_ns(audit))
		return;
	cpu_ns = util_cpu_ns();
	run_piece(sync, next_table(audit), false);
	audit->next_piece_ns = now_ns + rest_ns(sync, util_cpu_ns() - cpu_ns);
}

uint64_t audit_due_ns(const struct sync *sync)
{
	const struct audit *audit = sync->audit;
	uint64_t next_ns, due_ns;

	if (!audit->reader)
		return UINT64_MAX;
	next_ns = audit_event_due_ns(audit);
	if (!sync->config->audit_permille)
		return next_ns;
	due_ns = piece_due_ns(audit);
	if (audit->next_tables_ns < due_ns)
		due_ns = audit->next_tables_ns;
	return due_ns < next_ns ? due_ns : next_ns;
}

uint64_t audit_dump_due_ns(const struct sync *sync, uint64_t cost_ns)
{
	uint64_t rest;

	if (sync->audit->reader || !sync->config->audit_permille)
		return UINT64_MAX;
	rest = rest_ns(sync, cost_ns);
	return util_now_ns() + (rest < INTERVAL_NS ? INTERVAL_NS : rest);
}

void audit_tell(const struct audit *audit, struct sixlane_meta *meta)
{
	meta->audit_reader = audit->reader != NULL;
	meta->audit_passes = audit->passes;
	meta->audit_pass_ns = audit->pass_ns;
	for (size_t i = 0; i < RIB_N_DIFFERENCES; i++)
		meta->audit_corrected[i] = audit->mended[i];
}
