// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every second /48 of a dense row is stable, its siblings come, go and change. Under a stable cover
 * prefixes of any length come and go. Over stable /64s covers of any length come and go. Tables
 * come and go with their only routes, and so does the default route.
 */
#include "churn.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define MAIN SIXLANE_TABLE_MAIN
#define DENSE 2048u  /* /48s, in a row */
#define HOSTS 64u    /* places under whose way prefixes of any length change */
#define COVERED 256u /* stable /64s */

static const uint32_t small_tables[] = { 1, 100, 253, 255, 0x80000000, 0xffffffff };
#define N_SMALL (sizeof(small_tables) / sizeof(small_tables[0]))

static struct prefix dense(uint32_t i)
{
	struct prefix prefix = { .len = 48 };

	prefix.addr.words[0] = htonl(0x20010db8);
	prefix.addr.words[1] = htonl(i << 16);
	return prefix;
}

/* A prefix of one of few addresses, which are alike in many first bits. */
static struct prefix nested(uint32_t word, uint32_t i, uint32_t len)
{
	struct prefix prefix = { .len = (uint8_t)len };

	prefix.addr.words[0] = htonl(word);
	prefix.addr.words[1] = htonl(i * 0x9e3779b9u & 0x0f0f0fff);
	prefix.addr.words[2] = htonl(i * 0x85ebca6bu);
	prefix.addr.words[3] = htonl(i * 0xc2b2ae35u);
	prefix_mask(&prefix);
	return prefix;
}

#define NESTED 0x20010db9u   /* under a stable /32 */
#define COVERING 0x20010dbau /* over stable /64s */

/* Another one each time: an answer tells which change it is of. */
static uint32_t next_value(uint32_t len)
{
	static uint32_t n;

	n++;
	return sixlane_route_value(1 + n % (SIXLANE_MAX_NEXT_HOPS - 1), len);
}

static void put(struct tables *tables, uint32_t table, const struct prefix *prefix)
{
	tables_put(tables, table, prefix, next_value(prefix->len));
}

void churn_routes(struct tables *tables)
{
	struct prefix prefix = nested(NESTED, 0, 32);

	put(tables, MAIN, &prefix);
	for (uint32_t i = 0; i < DENSE; i += 2) {
		prefix = dense(i);
		put(tables, MAIN, &prefix);
	}
	for (uint32_t i = 0; i < COVERED; i++) {
		prefix = nested(COVERING, i, 64);
		put(tables, MAIN, &prefix);
	}
}

int churn_compare_probes(const void *a, const void *b)
{
	const struct agree_probe *left = a, *right = b;

	if (left->table != right->table)
		return left->table < right->table ? -1 : 1;
	return memcmp(&left->addr, &right->addr, sizeof(left->addr));
}

/* Where something may change; *table: in which table. */
static struct prefix choose_place(uint32_t *table)
{
	uint32_t which;

	*table = MAIN;
	switch (fuzz_below(16)) {
	case 0:
		return fuzz_one_in(20) ? (struct prefix){ 0 }
				       : nested(NESTED, 0, 33 + fuzz_below(7));
	case 1:
		which = fuzz_below(N_SMALL);
		*table = small_tables[which];
		return which % 2 ? nested(NESTED, 0, 64) /* alone: the table goes with it */
				 : nested(NESTED, fuzz_below(4), 32 + fuzz_below(97));
	case 2:
	case 3:
		return nested(COVERING, fuzz_below(COVERED), 36 + fuzz_below(28));
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
		return dense(fuzz_below(DENSE / 2) * 2 + 1);
	default:
		return nested(NESTED, fuzz_below(HOSTS), 40 + fuzz_below(89));
	}
}

void churn_probes(struct agree_probe probes[AGREE_PROBES])
{
	for (size_t i = 0; i < AGREE_PROBES; i++) {
		struct agree_probe *probe = &probes[i];
		struct prefix at;

		*probe = (struct agree_probe){ .table = MAIN };
		switch (i % 4) {
		case 0:
			at = dense(fuzz_below(DENSE));
			break;
		case 1:
			at = nested(COVERING, fuzz_below(COVERED), 64);
			break;
		case 2:
			at = nested(NESTED, fuzz_below(HOSTS), 128);
			break;
		default:
			at = choose_place(&probe->table);
			break;
		}
		probe->addr = at.addr;
		if (fuzz_one_in(2))
			probe->addr.bytes[15] ^= (uint8_t)fuzz_below(256);
		if (fuzz_one_in(16))
			probe->addr.bytes[fuzz_below(16)] ^= (uint8_t)(1u << fuzz_below(8));
	}
	qsort(probes, AGREE_PROBES, sizeof(*probes), churn_compare_probes);
}

void churn_choose(struct tables *tables, struct churn_change *change)
{
	bool is_there;

	change->prefix = choose_place(&change->table);
	is_there = radix_find(tables_routes(tables, change->table), &change->prefix);
	change->value = is_there && fuzz_below(3) ? 0 : next_value(change->prefix.len);
}
