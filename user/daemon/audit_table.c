// SPDX-License-Identifier: GPL-2.0-only
/* See audit_table.h. */
#include "audit_table.h"

#include <linux/ipv6_route.h>
#include <string.h>

#include "audit.h"
#include "daemon.h"

static const struct prefix all, greatest = { .addr.halves = { ~0ull, ~0ull }, .len = 128 };

struct kernel_reader *audit_reader(const struct audit *audit)
{
	return audit->reader;
}

void audit_tables_free(struct audit *audit)
{
	struct radix_node *piece;

	for (size_t i = 0; i < audit->n_tables; i++)
		while ((piece = radix_first_under(&audit->tables[i].pieces, &all)))
			radix_remove(&audit->tables[i].pieces, piece);
	free(audit->tables);
}

/* Multiplication moves bits only upwards: without the shift upper halves could cancel out. */
uint64_t audit_table_sum(uint64_t sum, const void *data, size_t bytes)
{
	const uint64_t *words = data;

	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		sum = sum * 0x9e3779b97f4a7c15 + (words[i] ^ words[i] >> 32);
	return sum;
}

struct radix_node *audit_table_node_after(const struct radix *radix,
					  const struct kernel_cursor *cursor)
{
	if (!radix)
		return NULL;
	return cursor->started ? radix_after(radix, &cursor->last) : radix_first_under(radix, &all);
}

/* 0: the piece has lifetimes or exceptions, and is compared in any case. */
static uint64_t sum_of(const struct kernel_cursor *from, const struct kernel_view *view)
{
	uint64_t sum = audit_table_sum(from->started + 2u * from->last.len, &from->last.addr,
				       sizeof(from->last.addr));

	for (uint32_t i = 0; i < view->n; i++) {
		if (view->cut || view->records[i].kind != KERNEL_RECORD_ROUTE ||
		    view->records[i].flags & RTF_EXPIRES)
			return 0;
		sum = audit_table_sum(sum, &view->records[i], sizeof(view->records[i]));
	}
	return sum;
}

bool audit_table_renew_piece(struct audit_table *table, const struct kernel_cursor *from,
			     const struct kernel_view *view)
{
	const struct prefix *last = view->end ? &greatest : &table->cursor.last;
	struct radix *pieces = &table->pieces;
	const uint64_t sum = sum_of(from, view);
	struct audit_piece *piece;
	bool known = sum != 0;

	while ((piece = (struct audit_piece *)audit_table_node_after(pieces, from)) &&
	       audit_table_compare(&piece->node.prefix, last) < 0) {
		radix_remove(pieces, &piece->node); /* no piece ends there any more */
		known = false;
	}
	piece = (struct audit_piece *)radix_find(pieces, last)
			?: radix_add(pieces, last, sizeof(*piece));
	if (!piece)
		return false;
	known &= sum == piece->sum;
	piece->sum = sum;
	return known;
}

static struct audit_table *find_table(const struct audit *audit, uint32_t id)
{
	for (size_t i = 0; i < audit->n_tables; i++)
		if (audit->tables[i].id == id)
			return &audit->tables[i];
	return NULL;
}

void audit_table_invalidate(struct audit *audit, uint32_t id, const struct prefix *dst)
{
	const struct audit_table *table = find_table(audit, id);
	struct radix_node *piece = table ? radix_find(&table->pieces, dst) : NULL;

	if (table && !piece)
		piece = radix_after(&table->pieces, dst);
	if (piece)
		((struct audit_piece *)piece)->sum = 0;
}

static void add_table(void *ctx, uint32_t id)
{
	struct audit *audit = ctx;
	struct audit_table *list;

	if (find_table(audit, id))
		return;
	list = reallocarray(audit->tables, audit->n_tables + 1, sizeof(*list));
	if (!list) { /* tried again in a second */
		audit->listed_ns = 0;
		return;
	}
	audit->tables = list;
	list[audit->n_tables++] = (struct audit_table){ .id = id };
}

void audit_tables_list(struct sync *sync)
{
	struct audit *audit = sync->audit;

	audit->listed_ns = sync->schedule.backlog ? audit->listed_ns : util_now_ns();
	rib_each_table(sync->stores.rib, add_table, audit);
	for (size_t i = 0; i < sync->stores.program.n; i++)
		/* 0: no lookup, or by the table of a VRF, which the RIB lists */
		if (sync->stores.program.rules[i].table)
			add_table(audit, sync->stores.program.rules[i].table);
	if (nexthops_count(sync->stores.nexthops))
		add_table(audit, KERNEL_READER_OBJECTS);
}

struct audit_table *audit_tables_next(const struct audit *audit)
{
	struct audit_table *next = NULL;

	for (size_t i = 0; i < audit->n_tables; i++)
		if (!next || audit->tables[i].turn_ns < next->turn_ns)
			next = &audit->tables[i];
	return next;
}

/* Start of the oldest reading of a table. */
static uint64_t oldest_ns(const struct audit *audit)
{
	uint64_t since_ns = audit->n_tables ? UINT64_MAX : 0;

	for (size_t i = 0; i < audit->n_tables; i++)
		since_ns = util_earlier(since_ns, audit->tables[i].read_since_ns);
	return since_ns;
}

/* Tables that came after the last listing have not been read. */
uint64_t audit_read_since_ns(const struct audit *audit)
{
	return util_earlier(oldest_ns(audit), audit->listed_ns);
}

void audit_table_end_pass(struct audit *audit, struct audit_table *table)
{
	const uint64_t now_ns = util_now_ns();

	if (!table->incomplete) {
		/* one walk through the objects may miss some, two do not */
		table->read_since_ns =
			table->id == KERNEL_READER_OBJECTS ? table->before_ns : table->begin_ns;
		table->before_ns = table->begin_ns;
	}
	table->begin_ns = 0;
	if (audit_read_since_ns(audit) <= audit->passed_ns)
		return;
	audit->passes++;
	audit->pass_ns = now_ns - oldest_ns(audit);
	audit->passed_ns = now_ns;
}

uint64_t audit_passes(const struct audit *audit)
{
	return audit->passes;
}

int audit_table_compare(const struct prefix *a, const struct prefix *b)
{
	const int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : a->len - b->len;
}
