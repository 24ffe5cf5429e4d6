// SPDX-License-Identifier: GPL-2.0-only
/* Destinations of the generator: see generator.h. Pure. */
#include <errno.h>
#include <string.h>

#include "generator.h"

#define DRAWS 65536u
/* Of what no route covers: blocks of these lengths, the largest that there is first. */
#define SHORTEST_MISS 12u
#define LONGEST_MISS 64u

const char *const generator_pattern_names[GENERATOR_N_PATTERNS] = { "random", "flow", "miss",
								    "syn" };

/* All of a prefix that is for routing. */
static struct generator_range range_of(struct prefix prefix)
{
	struct prefix ones;
	struct generator_range range;

	if (prefix_covers(&prefix, &bench_global))
		prefix = bench_global;
	ones.len = prefix.len;
	memset(&ones.addr, 0xff, sizeof(ones.addr));
	prefix_mask(&ones);
	range.low = range.high = prefix.addr;
	for (int i = 0; i < 2; i++)
		range.high.halves[i] |= ~ones.addr.halves[i];
	return range;
}

static void draw_host(struct generator_range *range, uint64_t *seed)
{
	for (int i = 0; i < 2; i++)
		range->low.halves[i] |= bench_random(seed) & range->high.halves[i];
	range->high = range->low;
}

/* Some of the table's prefixes, each once, as a hand of cards is dealt. */
static int draw_prefixes(const struct bench_table *table, uint64_t *seed,
			 struct generator_range *out, size_t *n)
{
	uint32_t *order = calloc(table->n, sizeof(*order));

	if (!order)
		return bench_fail(-ENOMEM, "%zu prefixes", table->n);
	for (size_t i = 0; i < table->n; i++)
		order[i] = (uint32_t)i;
	if (*n > table->n)
		*n = table->n;
	for (size_t i = 0; i < *n; i++) {
		size_t k = i + bench_random(seed) % (table->n - i);
		uint32_t card = order[k];

		order[k] = order[i];
		order[i] = card;
		out[i] = range_of(table->prefixes[card]);
	}
	free(order);
	return 0;
}

static bool is_missed(const struct bench_table *table, const struct prefix *prefix)
{
	return !radix_match(&table->radix, prefix) && !radix_first_under(&table->radix, prefix);
}

static int draw_misses(const struct bench_table *table, uint64_t *seed, struct generator_range *out,
		       size_t *n)
{
	size_t got = 0;

	for (uint8_t len = SHORTEST_MISS; len <= LONGEST_MISS && got < *n; len++)
		for (unsigned int draw = 0; draw < DRAWS / LONGEST_MISS && got < *n; draw++) {
			struct prefix prefix = { .len = len };

			prefix.addr.halves[0] = bench_random(seed);
			prefix.addr.bytes[0] = (uint8_t)(0x20 | (prefix.addr.bytes[0] & 0x1f));
			prefix_mask(&prefix);
			if (is_missed(table, &prefix))
				out[got++] = range_of(prefix);
		}
	if (!got)
		return bench_bad(-ENOENT,
				 "the routes of %s cover all addresses, so that none misses them: "
				 "take the covering routes out of the file",
				 table->name);
	*n = got;
	return 0;
}

int generator_ranges(const struct bench_table *table, enum generator_pattern pattern, uint64_t seed,
		     struct generator_range *out, size_t *n)
{
	int ret;

	if (pattern == GENERATOR_MISS)
		return draw_misses(table, &seed, out, n);
	if (pattern == GENERATOR_FLOW)
		*n = 1;
	ret = draw_prefixes(table, &seed, out, n);
	if (!ret && pattern == GENERATOR_FLOW)
		draw_host(out, &seed);
	return ret;
}
