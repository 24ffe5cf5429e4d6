// SPDX-License-Identifier: GPL-2.0-only
/* See forward_pattern.h. */
#include "forward_pattern.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MOST_S 10.0
/* Addresses under a route that more specific ones cover nearly whole are not easy to find. */
#define TRIES 64

/* --- names -------------------------------------------------------------------------------- */

int forward_pattern_parse(const char *word, struct forward_pattern *out)
{
	static const struct {
		const char *name;
		enum forward_pattern_kind kind;
	} names[] = { { "random", FORWARD_RANDOM },
		      { "zipf", FORWARD_ZIPF },
		      { "flow", FORWARD_FLOW },
		      { "miss", FORWARD_MISS } };
	struct forward_pattern pattern = { .s = 1 };
	char *end;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pattern.kind = names[i].kind;
		if (!strcmp(word, names[i].name)) {
			*out = pattern;
			return 0;
		}
	}
	if (strncmp(word, "zipf:", strlen("zipf:")) != 0)
		return -EINVAL;
	pattern.kind = FORWARD_ZIPF;
	word += strlen("zipf:");
	pattern.s = strtod(word, &end);
	if (*word < '0' || *word > '9' || *end || !(pattern.s >= 0 && pattern.s <= MOST_S))
		return -EINVAL;
	*out = pattern;
	return 0;
}

bool forward_pattern_is(const struct forward_pattern *a, const struct forward_pattern *b)
{
	return a->kind == b->kind && a->s == b->s;
}

void forward_pattern_name(const struct forward_pattern *pattern, char *name, size_t size)
{
	static const char *const names[] = { "random", "zipf", "flow", "miss" };

	if (pattern->kind == FORWARD_ZIPF)
		snprintf(name, size, "zipf %g", pattern->s);
	else
		snprintf(name, size, "%s", names[pattern->kind]);
}

/* --- addresses ---------------------------------------------------------------------------- */

/* By a route of this prefix itself, if that is not hard to find. */
static void draw_by(const struct bench_table *table, const struct prefix *prefix, uint64_t *seed,
		    union sixlane_addr *out)
{
	for (int i = 0; i < TRIES; i++) {
		const struct prefix *found;

		bench_draw_under(prefix, seed, out);
		found = bench_table_match(table, out);
		if (found && found->len == prefix->len)
			return;
	}
}

static const struct prefix *any(const struct bench_table *table, uint64_t *seed)
{
	return &table->prefixes[bench_random(seed) % table->n];
}

/* --- Zipf's law --------------------------------------------------------------------------- */

struct zipf {
	uint32_t *order; /* places of prefixes in the table, the most frequent one first */
	double *below;	 /* the weight of that one and of all before it */
};

/* Which routes are the frequent ones is at random as well: neighbours in the table are neighbours
 * in memory. */
static int zipf_new(const struct bench_table *table, double s, uint64_t *seed, struct zipf *zipf)
{
	double sum = 0;

	zipf->order = calloc(table->n, sizeof(*zipf->order));
	zipf->below = calloc(table->n, sizeof(*zipf->below));
	if (!zipf->order || !zipf->below)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->n; i++) {
		uint32_t at = (uint32_t)(bench_random(seed) % (i + 1));

		zipf->order[i] = zipf->order[at];
		zipf->order[at] = i;
		sum += pow((double)i + 1, -s);
		zipf->below[i] = sum;
	}
	return 0;
}

static void zipf_free(struct zipf *zipf)
{
	free(zipf->order);
	free(zipf->below);
}

static const struct prefix *zipf_draw(const struct zipf *zipf, const struct bench_table *table,
				      uint64_t *seed)
{
	/* 53 bits are what a double holds */
	double at = (double)(bench_random(seed) >> 11) / 0x1p53 * zipf->below[table->n - 1];
	size_t first = 0, last = table->n - 1;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (zipf->below[middle] > at)
			last = middle;
		else
			first = middle + 1;
	}
	return &table->prefixes[zipf->order[first]];
}

/* --- lists -------------------------------------------------------------------------------- */

static int draw_zipf(const struct forward_pattern *pattern, const struct bench_table *table,
		     uint64_t *seed, size_t n, union sixlane_addr *out)
{
	struct zipf zipf = { 0 };
	int ret = zipf_new(table, pattern->s, seed, &zipf);

	for (size_t i = 0; i < n && !ret; i++)
		draw_by(table, zipf_draw(&zipf, table, seed), seed, &out[i]);
	zipf_free(&zipf);
	return ret ? bench_fail(ret, "%s: Zipf's law over %zu routes", table->name, table->n) : 0;
}

int forward_pattern_draw(const struct forward_pattern *pattern, const struct bench_table *table,
			 uint64_t seed, size_t n, union sixlane_addr *out)
{
	int ret = 0;

	if (pattern->kind == FORWARD_ZIPF)
		return draw_zipf(pattern, table, &seed, n, out);
	for (size_t i = 0; i < n && !ret; i++) {
		if (pattern->kind == FORWARD_MISS)
			ret = bench_draw_miss(table, &seed, &out[i]);
		else if (pattern->kind == FORWARD_FLOW && i)
			out[i] = out[0];
		else
			bench_draw_under(any(table, &seed), &seed, &out[i]);
	}
	return ret;
}
