// SPDX-License-Identifier: GPL-2.0-only
/*
 * What every table needs beside its prefixes: their order, an index to check answers by, and
 * addresses. Where prefixes come from is in table_file.c and table_draw.c.
 */
#include <errno.h>
#include <string.h>

#include "bench.h"

uint64_t bench_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static int by_prefix(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;
	int rc = memcmp(&x->addr, &y->addr, sizeof(x->addr));

	return rc ? rc : (x->len > y->len) - (x->len < y->len);
}

/* In order, and each once. */
static void sort(struct bench_table *table)
{
	size_t n = 0;

	if (table->n)
		qsort(table->prefixes, table->n, sizeof(*table->prefixes), by_prefix);
	for (size_t i = 0; i < table->n; i++)
		if (!n || by_prefix(&table->prefixes[n - 1], &table->prefixes[i]))
			table->prefixes[n++] = table->prefixes[i];
	table->n = n;
}

int bench_draw(struct bench_table *table, size_t n, bench_draw_fn draw)
{
	uint64_t seed = table->seed;

	table->prefixes = calloc(n ? n : 1, sizeof(*table->prefixes));
	if (!table->prefixes)
		return bench_fail(-ENOMEM, "a table of %zu routes", n);
	/* What was drawn twice is drawn again, a few times. */
	for (int round = 0; table->n < n && round < 64; round++) {
		while (table->n < n)
			draw(&seed, &table->prefixes[table->n++]);
		sort(table);
	}
	return table->n < n ? bench_bad(-ERANGE, "there are no %zu such prefixes", n) : 0;
}

/* A prefix's bits, and random ones behind its first len. */
static void draw_behind(const struct prefix *prefix, uint8_t len, uint64_t *seed,
			union sixlane_addr *out)
{
	uint64_t bits[2] = { bench_random(seed), bench_random(seed) };
	struct prefix kept = { .addr = prefix->addr, .len = len }, drawn = { .len = len };

	memcpy(&drawn.addr, bits, sizeof(bits));
	*out = drawn.addr;
	prefix_mask(&drawn);
	prefix_mask(&kept);
	for (int i = 0; i < 2; i++)
		out->halves[i] ^= drawn.addr.halves[i] ^ kept.addr.halves[i];
}

const struct prefix bench_global = { .addr.bytes = { 0x20 }, .len = 3 };

void bench_draw_under(const struct prefix *prefix, uint64_t *seed, union sixlane_addr *out)
{
	if (prefix_covers(prefix, &bench_global))
		prefix = &bench_global;
	draw_behind(prefix, prefix->len, seed, out);
}

static const struct radix_node *match(const struct bench_table *table,
				      const union sixlane_addr *addr)
{
	struct prefix host = { .addr = *addr, .len = 128 };

	return radix_match(&table->radix, &host);
}

const struct prefix *bench_table_match(const struct bench_table *table,
				       const union sixlane_addr *addr)
{
	const struct radix_node *node = match(table, addr);

	return node ? &node->prefix : NULL;
}

/* Of others the kernel knows without any route. */
static bool is_routed(const struct bench_table *table, const union sixlane_addr *addr)
{
	uint8_t first = addr->bytes[0];

	if (table->is_ipv4)
		return first > 0 && first < 224 && first != 127 && first != 169;
	return first >> 5 == 1;
}

#define MISS_BITS 24u	    /* the last of a prefix, of which some are others */
#define MISS_TRIES 1000000u /* where hardly any address is under no route */

int bench_draw_miss(const struct bench_table *table, uint64_t *seed, union sixlane_addr *out)
{
	for (size_t i = 0; i < MISS_TRIES; i++) {
		const struct prefix *prefix = &table->prefixes[bench_random(seed) % table->n];
		uint8_t most = prefix->len < MISS_BITS ? prefix->len : MISS_BITS;
		const struct radix_node *node;

		if (!most)
			continue;
		draw_behind(prefix, (uint8_t)(prefix->len - 1 - bench_random(seed) % most), seed,
			    out);
		node = match(table, out);
		if (is_routed(table, out) &&
		    (table->pattern == BENCH_FALLBACK ? !node->prefix.len : !node))
			return 0;
	}
	return bench_bad(-ERANGE, "table %s covers all that is near its routes: nothing misses it",
			 table->name);
}

static int add_entries(struct bench_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		struct bench_entry *entry =
			radix_add(&table->radix, &table->prefixes[i], sizeof(*entry));

		if (!entry)
			return -ENOMEM;
		entry->value = (uint32_t)i + 1;
	}
	return 0;
}

static void expect(struct bench_table *table)
{
	for (size_t i = 0; i < BENCH_ADDRESSES; i++) {
		const struct radix_node *node = match(table, &table->addresses->at[i]);

		table->expected[i] = node ? container_of(node, struct bench_entry, node)->value : 0;
	}
}

int bench_table_addresses(const struct bench_table *table, uint32_t list,
			  struct bench_addresses *out)
{
	uint64_t seed = ~table->seed - list;
	int ret = 0;

	for (size_t i = 0; i < BENCH_ADDRESSES && !ret; i++)
		if (table->pattern == BENCH_HIT)
			bench_draw_under(&table->prefixes[bench_random(&seed) % table->n], &seed,
					 &out->at[i]);
		else
			ret = bench_draw_miss(table, &seed, &out->at[i]);
	return ret;
}

int bench_table_finish(struct bench_table *table)
{
	int ret;

	sort(table);
	if (!table->n)
		return bench_bad(-ENODATA, "%s: no routes", table->name);
	table->addresses = calloc(1, sizeof(*table->addresses));
	table->expected = calloc(BENCH_ADDRESSES, sizeof(*table->expected));
	if (!table->addresses || !table->expected || add_entries(table))
		return bench_fail(-ENOMEM, "%s: %zu routes", table->name, table->n);
	ret = bench_table_addresses(table, 0, table->addresses);
	if (!ret)
		expect(table);
	return ret;
}

static void free_index(struct bench_table *table)
{
	static const struct prefix all = { .len = 0 };
	struct radix_node *node = radix_first_under(&table->radix, &all), *next;

	for (; node; node = next) {
		next = radix_next_under(node, &all);
		radix_remove(&table->radix, node);
	}
	free(table->expected);
	free(table->addresses);
	table->expected = NULL;
	table->addresses = NULL;
}

/* Values go by the places of prefixes, which another prefix changes. */
int bench_table_set_pattern(struct bench_table *table, enum bench_pattern pattern)
{
	struct prefix *more;

	if (pattern == BENCH_HIT)
		return 0;
	table->pattern = pattern;
	if (pattern == BENCH_FALLBACK) {
		more = reallocarray(table->prefixes, table->n + 1, sizeof(*more));
		if (!more)
			return bench_fail(-ENOMEM, "%s: %zu routes", table->name, table->n);
		table->prefixes = more;
		more[table->n++] = (struct prefix){ .len = 0 };
	}
	free_index(table);
	return bench_table_finish(table);
}

uint32_t bench_table_depth(const struct bench_table *table)
{
	static const struct prefix all = { .len = 0 };
	uint32_t deepest = 0;

	for (const struct radix_node *leaf = radix_first_under(&table->radix, &all); leaf;
	     leaf = radix_next_under(leaf, &all)) {
		uint32_t depth = 0;

		for (const struct radix_node *node = leaf; node; node = node->parent)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

void bench_table_free(struct bench_table *table)
{
	free_index(table);
	free(table->prefixes);
	*table = (struct bench_table){ 0 };
}
