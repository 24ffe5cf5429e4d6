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

/* Random bits under a random prefix; of one that covers more than 2000::/3 within that, since what
 * else it covers is in part not for routing. */
static void draw_address(const struct bench_table *table, uint64_t *seed, union sixlane_addr *out)
{
	const struct prefix *prefix = &table->prefixes[bench_random(seed) % table->n];
	uint64_t bits[2] = { bench_random(seed), bench_random(seed) };
	struct prefix kept = { .len = prefix->len };

	memcpy(&kept.addr, bits, sizeof(bits));
	*out = kept.addr;
	prefix_mask(&kept);
	for (int i = 0; i < 2; i++)
		out->halves[i] ^= kept.addr.halves[i] ^ prefix->addr.halves[i];
	if (prefix->len < 3)
		out->bytes[0] = (uint8_t)(0x20 | (out->bytes[0] & 0x1f));
}

static int add_entries(struct bench_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		struct bench_entry *entry = calloc(1, sizeof(*entry));

		if (!entry)
			return -ENOMEM;
		entry->node.prefix = table->prefixes[i];
		entry->value = (uint32_t)i + 1;
		if (radix_insert(&table->radix, &entry->node)) {
			free(entry);
			return -ENOMEM;
		}
	}
	return 0;
}

static void expect(struct bench_table *table)
{
	for (size_t i = 0; i < BENCH_ADDRESSES; i++) {
		struct prefix host = { .addr = table->addresses->at[i], .len = 128 };
		const struct radix_node *node = radix_match(&table->radix, &host);

		table->expected[i] = node ? container_of(node, struct bench_entry, node)->value : 0;
	}
}

void bench_table_addresses(const struct bench_table *table, uint32_t list,
			   struct bench_addresses *out)
{
	uint64_t seed = ~table->seed - list;

	for (size_t i = 0; i < BENCH_ADDRESSES; i++)
		draw_address(table, &seed, &out->at[i]);
}

int bench_table_finish(struct bench_table *table)
{
	sort(table);
	if (!table->n)
		return bench_bad(-ENODATA, "%s: no routes", table->name);
	table->addresses = calloc(1, sizeof(*table->addresses));
	table->expected = calloc(BENCH_ADDRESSES, sizeof(*table->expected));
	if (!table->addresses || !table->expected || add_entries(table))
		return bench_fail(-ENOMEM, "%s: %zu routes", table->name, table->n);
	bench_table_addresses(table, 0, table->addresses);
	expect(table);
	return 0;
}

void bench_table_free(struct bench_table *table)
{
	static const struct prefix all = { .len = 0 };
	struct radix_node *node = radix_first_under(&table->radix, &all), *next;

	for (; node; node = next) {
		next = radix_next_under(node, &all);
		radix_remove(&table->radix, node);
	}
	free(table->expected);
	free(table->addresses);
	free(table->prefixes);
	*table = (struct bench_table){ 0 };
}
