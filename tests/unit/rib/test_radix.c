// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trie against a flat array: random insertions, removals and look-ups, every answer
 * compared. And prefixes as values: cover, mask, text.
 */
#include "rib_unit.h"

#include "../../../user/rib/radix.h"

static struct prefix pfx(const char *text)
{
	struct prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static void test_parse(void **state)
{
	static const char *const bad[] = { "",
					   "::/129",
					   "::/-1",
					   "::/",
					   "/0",
					   "::/1x",
					   "1.2.3.4",
					   "::/ 1",
					   "g::/1",
					   "::1/0x8",
					   "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000/1" };
	char buf[PREFIX_STRLEN];
	struct prefix out = { .len = 77 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(prefix_parse(bad[i], &out), -EINVAL);
	assert_int_equal(out.len, 77);
	out = pfx("2001:db8:ffff::1/33");
	assert_string_equal(prefix_format(&out, buf), "2001:db8:8000::/33");
	out = pfx("fe80::1");
	assert_string_equal(prefix_format(&out, buf), "fe80::1/128");
	out = pfx("ffff::1/0");
	assert_string_equal(prefix_format(&out, buf), "::/0");
	out = pfx("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127");
	assert_string_equal(prefix_format(&out, buf),
			    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127");
}

static void test_covers(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool covers;
	} rows[] = {
		{ "::/0", "::/0", true },
		{ "::/0", "ffff::/128", true },
		{ "::/1", "8000::/1", false },
		{ "2001:db8::/32", "2001:db8::/31", false },
		{ "2001:db8::/32", "2001:db8:ffff::/48", true },
		{ "2001:db8::/64", "2001:db8:0:0:8000::/65", true },
		{ "2001:db8::/64", "2001:db8:0:1::/65", false },
		{ "2001:db8::/65", "2001:db8:0:0:8000::/65", false },
		{ "2001:db8::2/127", "2001:db8::3/128", true },
		{ "2001:db8::2/127", "2001:db8::4/128", false },
		{ "2001:db8::2/128", "2001:db8::2/128", true },
		{ "2001:db8::2/128", "2001:db8::3/128", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct prefix outer = pfx(rows[i].outer), inner = pfx(rows[i].inner);

		assert_int_equal(prefix_covers(&outer, &inner), rows[i].covers);
	}
}

/* --- against an array ------------------------------------------------------------------------- */

#define MAX_ENTRIES 600
#define OPERATIONS 150000

struct entry {
	struct radix_node node;
	uint32_t magic;
};

struct world {
	struct radix radix;
	struct entry *entries[MAX_ENTRIES];
	size_t n;
	uint64_t random;
};

static uint32_t rnd(struct world *world, uint32_t n)
{
	world->random = world->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(world->random >> 33) % n;
}

/* Few different bits, so that prefixes nest and meet. */
static struct prefix random_prefix(struct world *world)
{
	static const uint8_t lens[] = { 0,  1,	3,  8,	16, 17,	 31,  32,  33,	48,
					63, 64, 65, 96, 99, 112, 120, 126, 127, 128 };
	struct prefix prefix = { .len = lens[rnd(world, ARRAY_SIZE(lens))] };

	for (size_t i = 0; i < 16; i++) {
		if (rnd(world, 6) == 0)
			prefix.addr.bytes[i] = (uint8_t)(1u << rnd(world, 8));
	}
	prefix_mask(&prefix);
	return prefix;
}

static struct radix_node *find_plainly(const struct world *world, const struct prefix *prefix)
{
	for (size_t i = 0; i < world->n; i++) {
		if (prefix_equal(&world->entries[i]->node.prefix, prefix))
			return &world->entries[i]->node;
	}
	return NULL;
}

/* The longest that covers prefix and is shorter than below. */
static struct radix_node *match_plainly(const struct world *world, const struct prefix *prefix,
					unsigned int below)
{
	struct radix_node *best = NULL;

	for (size_t i = 0; i < world->n; i++) {
		struct radix_node *node = &world->entries[i]->node;

		if (prefix_covers(&node->prefix, prefix) && node->prefix.len < below &&
		    (!best || node->prefix.len > best->prefix.len))
			best = node;
	}
	return best;
}

static int compare(const struct prefix *a, const struct prefix *b)
{
	int diff = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return diff ? diff : (int)a->len - (int)b->len;
}

static void check_walk(const struct world *world, const struct prefix *under)
{
	const struct radix_node *order[MAX_ENTRIES];
	size_t seen = 0, expected = 0;

	for (struct radix_node *n = radix_first_under(&world->radix, under); n;
	     n = radix_next_under(n, under)) {
		assert_true(prefix_covers(under, &n->prefix));
		assert_int_equal(((struct entry *)n)->magic, 0x51a1e);
		if (seen)
			assert_true(compare(&order[seen - 1]->prefix, &n->prefix) < 0);
		order[seen++] = n;
	}
	for (size_t i = 0; i < world->n; i++)
		expected += prefix_covers(under, &world->entries[i]->node.prefix);
	assert_int_equal(seen, expected);
	for (struct radix_node *n = radix_last_under(&world->radix, under); n;
	     n = radix_prev_under(n, under))
		assert_ptr_equal(n, order[--seen]);
	assert_int_equal(seen, 0);
}

static void insert(struct world *world, const struct prefix *prefix)
{
	struct entry *entry = radix_add(&world->radix, prefix, sizeof(*entry));

	assert_non_null(entry);
	entry->magic = 0x51a1e;
	world->entries[world->n++] = entry;
}

static void remove_at(struct world *world, size_t i)
{
	struct entry *entry = world->entries[i];

	world->entries[i] = world->entries[--world->n];
	entry->magic = 0;
	radix_remove(&world->radix, &entry->node);
}

static void test_edges(void **state)
{
	static const struct {
		const char *prefix, *edges[PREFIX_EDGES];
	} cases[] = {
		{ "2001:db8::/32",
		  { "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
		    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::" } },
		{ "2001:db8::100/121",
		  { "2001:db8::100", "2001:db8::17f", "2001:db8::ff", "2001:db8::180" } },
		{ "fd00::/128",
		  { "fd00::", "fd00::", "fcff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fd00::1" } },
		{ "::/0",
		  { "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix prefix, wanted;
		union sixlane_addr edges[PREFIX_EDGES];

		assert_int_equal(prefix_parse(cases[i].prefix, &prefix), 0);
		prefix_edges(&prefix, edges);
		for (size_t j = 0; j < PREFIX_EDGES; j++) {
			assert_int_equal(prefix_parse(cases[i].edges[j], &wanted), 0);
			assert_memory_equal(&edges[j], &wanted.addr, sizeof(wanted.addr));
		}
	}
}

static void test_against_array(void **state)
{
	struct world world = { .random = util_now_ns() };

	print_message("seed %llu\n", (unsigned long long)world.random);
	for (int op = 0; op < OPERATIONS; op++) {
		struct prefix prefix = random_prefix(&world);
		struct radix_node *node = radix_find(&world.radix, &prefix);

		assert_ptr_equal(node, find_plainly(&world, &prefix));
		assert_ptr_equal(radix_match(&world.radix, &prefix),
				 match_plainly(&world, &prefix, 129));
		if (node)
			assert_ptr_equal(radix_cover(node),
					 match_plainly(&world, &prefix, prefix.len));
		/* Grow and shrink in turn, so that both ends are seen. */
		if (!node && world.n < MAX_ENTRIES && rnd(&world, 4) < (op & 0x2000 ? 1 : 3))
			insert(&world, &prefix);
		else if (world.n && rnd(&world, 4) < (op & 0x2000 ? 3 : 1))
			remove_at(&world, rnd(&world, (uint32_t)world.n));
		assert_int_equal(world.radix.entries, world.n);
		if (op % 64 == 0)
			check_walk(&world, &prefix);
	}
	while (world.n)
		remove_at(&world, rnd(&world, (uint32_t)world.n));
	assert_null(world.radix.root);
}

/* The current node may go once the next has been taken, whatever it branches. */
static void test_remove_while_walking(void **state)
{
	static const struct prefix all;
	struct world world = { .random = 4711 };
	struct radix_node *node, *next;

	while (world.n < MAX_ENTRIES) {
		struct prefix prefix = random_prefix(&world);

		if (!radix_find(&world.radix, &prefix))
			insert(&world, &prefix);
	}
	for (node = radix_first_under(&world.radix, &all); node; node = next) {
		next = radix_next_under(node, &all);
		radix_remove(&world.radix, node);
		world.n--;
	}
	assert_int_equal(world.n, 0);
	assert_null(world.radix.root);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_against_array),
		cmocka_unit_test(test_remove_while_walking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
