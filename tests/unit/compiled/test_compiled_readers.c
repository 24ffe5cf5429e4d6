// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow readers of the compiled FIB: each stops between any two of its loads while prefixes change.
 * A grace period waits for all of them. A reader's answer was right at one moment between its
 * beginning and its end.
 */

#include "compiled_world.h"

#define N_HISTORIES 80
#define N_OPERATIONS 3000
#define N_READERS 24u
#define MAX_CHANGES 32u /* during one lookup; then it is finished at once */

enum where { AT_KEY, AT_LONG_KEY, AT_DEFAULT, AT_CELL, AT_WIDE_CELL, AT_END };

/* A lookup as bpf/compiled.h does it, one load a step. */
struct reader {
	bool is_under_way;
	const struct cworld_table *table;
	compiled_bits target;
	enum where where;
	bool among_tables;
	uint32_t entry, skip, levels;
	uint64_t key;
	const uint8_t *at;  /* the node */
	compiled_bits addr; /* the bits that are left */
	uint32_t answer;
	/* Values by length when it began, and what has changed since. */
	uint32_t values[129];
	struct {
		uint8_t len;
		uint32_t value;
	} changes[MAX_CHANGES];
	uint32_t n_changes;
};

static struct cworld world;
static struct reader readers[N_READERS];
static unsigned long finished, overtaken, failed_checks, graces;

/* --- lookups in steps ------------------------------------------------------------------------- */

static void enter_node(struct reader *reader, uint32_t entry)
{
	reader->entry = entry;
	reader->at = world.view.chunks[sixlane_fib_chunk_of(entry)] + sixlane_fib_offset(entry);
	reader->skip = sixlane_fib_skip(entry);
	reader->where = reader->skip == SIXLANE_FIB_SKIP_WIDE ? AT_WIDE_CELL : AT_KEY;
	assert_true(++reader->levels <= SIXLANE_FIB_LEVELS);
}

static void start_at(struct reader *reader, const struct cworld_table *table, compiled_bits target)
{
	*reader = (struct reader){
		.is_under_way = true, .table = table, .target = target, .addr = target
	};
	for (uint32_t len = 0; len <= 128; len++) {
		struct cworld_prefix prefix = { reader->target & cworld_mask((uint8_t)len),
						(uint8_t)len };

		reader->values[len] = cworld_value(table, &prefix);
	}
	if (table->id == SIXLANE_TABLE_MAIN) {
		enter_node(reader, world.view.fib.main);
		return;
	}
	reader->among_tables = true;
	reader->addr = (compiled_bits)table->id << 96;
	enter_node(reader, world.view.fib.tables);
}

static void start(struct reader *reader, const struct cworld_table *table)
{
	start_at(reader, table, cworld_random_target(&world, table));
}

/* At a leaf, or where a check failed. */
static void end_trie(struct reader *reader, uint32_t leaf)
{
	if (!reader->among_tables || !leaf) {
		reader->answer = leaf;
		reader->where = AT_END;
		return;
	}
	reader->among_tables = false;
	reader->levels = 0;
	reader->addr = reader->target;
	enter_node(reader, leaf | SIXLANE_FIB_NODE);
}

static uint32_t load(const struct reader *reader, uint32_t offset)
{
	uint32_t word;

	memcpy(&word, reader->at + offset, sizeof(word));
	return word;
}

static uint32_t cells_offset(const struct reader *reader)
{
	return sixlane_fib_skip(reader->entry) == SIXLANE_FIB_SKIP_LONG
		       ? sizeof(struct sixlane_fib_long_header)
		       : sizeof(struct sixlane_fib_header);
}

static void follow_entry(struct reader *reader, uint32_t entry)
{
	if (entry & SIXLANE_FIB_NODE)
		enter_node(reader, entry);
	else
		end_trie(reader, entry);
}

static void load_cell(struct reader *reader)
{
	uint32_t stride = sixlane_fib_stride(reader->entry);
	uint32_t number = (uint32_t)compiled_slice(reader->addr, reader->skip, stride);

	reader->addr = reader->addr << reader->skip << stride;
	follow_entry(reader, load(reader, cells_offset(reader) + 4 * number));
}

static void load_wide_cell(struct reader *reader)
{
	uint32_t stride = sixlane_fib_stride(reader->entry);
	uint64_t cell;

	memcpy(&cell,
	       reader->at + cells_offset(reader) + 8 * compiled_slice(reader->addr, 0, stride),
	       sizeof(cell));
	reader->addr <<= stride;
	if (!sixlane_fib_passes(cell, (uint64_t)(reader->addr >> 64))) {
		reader->where = AT_DEFAULT;
		failed_checks++;
		return;
	}
	reader->addr <<= sixlane_fib_checked(cell);
	follow_entry(reader, sixlane_fib_entry(cell));
}

static void compare_key(struct reader *reader)
{
	bool same = compiled_slice(reader->addr, 0, reader->skip) == reader->key;

	reader->where = same ? AT_CELL : AT_DEFAULT;
}

static void load_next(struct reader *reader)
{
	switch (reader->where) {
	case AT_KEY:
		reader->key = load(reader, 0);
		if (reader->skip == SIXLANE_FIB_SKIP_LONG)
			reader->where = AT_LONG_KEY;
		else
			compare_key(reader);
		break;
	case AT_LONG_KEY:
		reader->key |= (uint64_t)load(reader, 4) << 32;
		reader->skip = sixlane_fib_long_skip(reader->key);
		reader->key = sixlane_fib_long_key(reader->key);
		compare_key(reader);
		break;
	case AT_DEFAULT:
		end_trie(reader, load(reader, cells_offset(reader) + SIXLANE_FIB_DEFAULT_LEAF));
		break;
	case AT_WIDE_CELL:
		load_wide_cell(reader);
		break;
	default:
		load_cell(reader);
		break;
	}
}

/* --- answers ---------------------------------------------------------------------------------- */

static uint32_t longest(const uint32_t values[129])
{
	for (int len = 128; len >= 0; len--) {
		if (values[len])
			return values[len];
	}
	return 0;
}

/* At some one moment since it began. */
static bool was_right(const struct reader *reader)
{
	uint32_t values[129];

	memcpy(values, reader->values, sizeof(values));
	for (uint32_t t = 0; t < reader->n_changes; t++) {
		if (longest(values) == reader->answer)
			return true;
		values[reader->changes[t].len] = reader->changes[t].value;
	}
	return longest(values) == reader->answer;
}

static void check_end(const struct reader *reader)
{
	finished++;
	overtaken += reader->n_changes != 0;
	if (!was_right(reader))
		fail_msg("SEED=%llu operation %u, table %u %016llx%016llx: %08x after %u changes",
			 (unsigned long long)world.seed, cworld_operation, reader->table->id,
			 (unsigned long long)(reader->target >> 64),
			 (unsigned long long)reader->target, reader->answer, reader->n_changes);
}

static void advance(struct reader *reader)
{
	load_next(reader);
	if (reader->where != AT_END)
		return;
	check_end(reader);
	reader->is_under_way = false;
}

static void finish(struct reader *reader)
{
	while (reader->is_under_way)
		advance(reader);
}

static void finish_all(struct cworld *at)
{
	for (uint32_t i = 0; i < N_READERS; i++)
		finish(&readers[i]);
}

/* --- histories -------------------------------------------------------------------------------- */

static void record_change(const struct cworld_change *change)
{
	for (uint32_t i = 0; i < N_READERS; i++) {
		struct reader *reader = &readers[i];

		if (!reader->is_under_way || reader->table != change->table ||
		    !cworld_covers(&change->prefix, reader->target))
			continue;
		if (reader->n_changes == MAX_CHANGES) {
			finish(reader);
			continue;
		}
		reader->changes[reader->n_changes].len = change->prefix.len;
		reader->changes[reader->n_changes++].value = change->after;
	}
}

static void let_read(uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++) {
		struct reader *reader = &readers[cworld_random(&world, N_READERS)];

		/* Most wait between a wide cell whose check failed and the default leaf. */
		if (reader->is_under_way && reader->where == AT_DEFAULT &&
		    reader->skip == SIXLANE_FIB_SKIP_WIDE && cworld_random(&world, 32))
			continue;
		if (reader->is_under_way)
			advance(reader);
		else
			start(reader, &world.tables[cworld_random(&world, world.n_tables)]);
	}
}

static void build(bool tight)
{
	world.chunks_max = SIXLANE_FIB_CHUNKS;
	assert_int_equal(cworld_build(&world), 0);
	if (tight)
		cworld_make_tight(&world, 200 + cworld_random(&world, 2000));
}

static void operate(bool tight, uint32_t want)
{
	struct cworld_change change = cworld_random_change(&world, want);
	int err;

	/* Before the change: a grace period within it finishes readers before or after it. */
	record_change(&change);
	err = cworld_set(&world, change.table, &change.prefix, change.after);
	if (err) {
		assert_true(tight && err == -ENOSPC);
		assert_int_equal(world.view.fib.word, 0);
	}
	if (err || !cworld_random(&world, 300))
		build(tight);
	let_read(cworld_random(&world, 40));
	if (cworld_operation % 500 == 0)
		cworld_audit(&world);
}

/*
 * Grace periods are rare, so that readers are in retired nodes. Or (tight) there is so little
 * memory that grace periods come in the middle of changes.
 */
static void play(uint64_t seed)
{
	bool tight = seed / (CWORLD_SHAPES + 2) % 2;
	uint32_t want;

	cworld_open(&world, seed);
	memset(readers, 0, sizeof(readers));
	world.grace = finish_all;
	want = cworld_add_tables(&world, seed % (CWORLD_SHAPES + 2),
				 60 + 200 * cworld_random(&world, 3), 8);
	for (uint32_t i = 0; i < world.n_tables; i++)
		cworld_fill(&world, &world.tables[i], cworld_random(&world, want + 1));
	build(tight);
	for (cworld_operation = 0; cworld_operation < N_OPERATIONS; cworld_operation++)
		operate(tight, want);
	finish_all(&world);
	cworld_check_all(&world);
	cworld_audit(&world);
	graces += world.graces;
	cworld_close(&world);
}

/* --- between a cell and the default leaf ------------------------------------------------------ */

static void change_one(struct cworld_table *table, compiled_bits addr, uint8_t len, uint32_t value)
{
	const struct cworld_change change = { .table = table,
					      .prefix = { addr & cworld_mask(len), len },
					      .after = value };

	record_change(&change);
	assert_int_equal(cworld_set(&world, table, &change.prefix, value), 0);
}

static const compiled_bits lone = (compiled_bits)0x200 << 116; /* 2000::/12 */

/*
 * 64 prefixes, each alone below a cell of a wide node. Then the cell of one gets another cover than
 * the default leaf, or a second prefix. withdrawn: the first one is withdrawn before.
 */
static void check_late_default(uint8_t len, bool withdrawn)
{
	struct reader *reader = &readers[0];
	struct cworld_table *table;

	cworld_open(&world, 1);
	memset(readers, 0, sizeof(readers));
	table = cworld_add_table(&world, SIXLANE_TABLE_MAIN, CWORLD_ANY, 100);
	for (compiled_bits i = 0; i < 64; i++)
		change_one(table, lone | i << 110 | (compiled_bits)1 << 84, 44,
			   cworld_random_value(&world, 44));
	change_one(table, 0, 1, sixlane_route_value(1, 1));
	change_one(table, (compiled_bits)1 << 127, 1, sixlane_route_value(1, 1));
	build(false);
	start_at(reader, table, lone);
	while (reader->where != AT_DEFAULT && reader->is_under_way)
		advance(reader);
	assert_true(reader->is_under_way);
	assert_int_equal(reader->skip, SIXLANE_FIB_SKIP_WIDE);
	if (withdrawn)
		change_one(table, lone | (compiled_bits)1 << 84, 44, 0);
	change_one(table, lone, len, sixlane_route_value(2, len));
	change_one(table, 0, 1, sixlane_route_value(3, 1));
	finish(reader);
	cworld_check_all(&world);
	cworld_audit(&world);
	cworld_close(&world);
}

static void test_late_default_leaf(void **state)
{
	for (int withdrawn = 0; withdrawn < 2; withdrawn++) {
		check_late_default(14, withdrawn); /* among the cells */
		check_late_default(18, withdrawn); /* all of one */
		check_late_default(40, withdrawn); /* beside what was alone */
	}
}

static void test_histories(void **state)
{
	uint64_t n = cworld_play(N_HISTORIES, play);

	print_message("%lu readers, %lu were overtaken by changes, %lu went from a wide cell to "
		      "the default leaf; %lu grace periods\n",
		      finished, overtaken, failed_checks, graces);
	assert_true(overtaken);
	if (n >= 2 * (CWORLD_SHAPES + 2))
		assert_true(failed_checks);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_late_default_leaf, cworld_print_seed),
		cmocka_unit_test_teardown(test_histories, cworld_print_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
