// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables that a name and a seed determine: random ones with the lengths of the real table, those
 * of Bernat's "IPv6 route lookup on Linux" (2017), and such as an adversary would choose.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "bench.h"

const char bench_table_names[] =
	"N (random routes: 1, 10k, 1m …), full-view, dense-48[-4|-16][:N], hosts-108[:N], nested, "
	"nested-1000";

#define MOST_ROUTES 4000000u
#define HOSTS 100000u
#define HOST_BITS 20 /* of a /108 */
#define MOST_HOSTS (1u << HOST_BITS)
#define PATHS 1000u

struct share {
	uint8_t len;
	uint32_t weight;
};

static uint8_t draw_length(const struct share *shares, size_t n, uint64_t *seed)
{
	uint64_t all = 0, at;

	for (size_t i = 0; i < n; i++)
		all += shares[i].weight;
	if (!all)
		return 0;
	at = bench_random(seed) % all;
	while (at >= shares->weight)
		at -= shares++->weight;
	return shares->len;
}

static void draw_bits(uint64_t *seed, struct prefix *out)
{
	out->addr.halves[0] = bench_random(seed);
	out->addr.halves[1] = bench_random(seed);
}

/* Anywhere in 2000::/3. */
static void draw_global(uint64_t *seed, struct prefix *out)
{
	draw_bits(seed, out);
	out->addr.bytes[0] = (uint8_t)(0x20 | (out->addr.bytes[0] & 0x1f));
}

/* Routes of each length in tests/data/full-view-v6.txt.gz; of those that are too few to be seen in
 * any result only the longest. */
static const struct share real[] = {
	{ 20, 16 },    { 24, 30 },   { 28, 193 },   { 29, 4371 }, { 30, 650 },	 { 31, 284 },
	{ 32, 22548 }, { 33, 2926 }, { 34, 2603 },  { 35, 1043 }, { 36, 5996 },	 { 37, 880 },
	{ 38, 1617 },  { 39, 1377 }, { 40, 13418 }, { 41, 903 },  { 42, 2301 },	 { 43, 1001 },
	{ 44, 14365 }, { 45, 1553 }, { 46, 3039 },  { 47, 3153 }, { 48, 75488 }, { 56, 24 },
	{ 64, 184 },   { 126, 19 },  { 127, 42 },   { 128, 6 },
};

static void draw_real(uint64_t *seed, struct prefix *out)
{
	draw_global(seed, out);
	out->len = draw_length(real, ARRAY_SIZE(real), seed);
	prefix_mask(out);
}

/* As the Internet has them: six of ten routes are /24s, and few are shorter than /16. */
static const struct share ipv4[] = {
	{ 16, 13 }, { 17, 8 },	 { 18, 14 },  { 19, 25 },  { 20, 44 },
	{ 21, 52 }, { 22, 115 }, { 23, 105 }, { 24, 624 },
};

/* From 1.0.0.0 to 223.255.255.255, and neither of the loopback nor of the next hop's network. */
static void draw_ipv4(uint64_t *seed, struct prefix *out)
{
	uint64_t bits;

	do {
		bits = bench_random(seed);
	} while (bits % 256 < 1 || bits % 256 > 223 || bits % 256 == 127 || bits % 256 == 169);
	*out = (struct prefix){ .len = draw_length(ipv4, ARRAY_SIZE(ipv4), seed) };
	memcpy(&out->addr, &bits, 4);
	prefix_mask(out);
}

static int make_room(struct bench_table *table, size_t n)
{
	table->prefixes = calloc(n, sizeof(*table->prefixes));
	return table->prefixes ? 0 : bench_fail(-ENOMEM, "%s: %zu routes", table->name, n);
}

/* Every step-th /48 from 3fff:1::/48 on, which is for documentation: 65,536 are one /32. */
static int make_dense(struct bench_table *table, unsigned int step, size_t n)
{
	int ret = make_room(table, n);

	for (uint32_t i = 0; !ret && i < n; i++) {
		uint64_t bits = 0x3fff00010000u + (uint64_t)i * step;
		struct prefix *prefix = &table->prefixes[table->n++];

		prefix->addr.words[0] = htonl((uint32_t)(bits >> 16));
		prefix->addr.words[1] = htonl((uint32_t)(bits << 16));
		prefix->len = 48;
	}
	return ret;
}

/* Another number of so many bits for each, in no order. */
static uint32_t shuffle(uint32_t number, uint64_t seed)
{
	for (int i = 0; i < 3; i++) {
		number = number * ((uint32_t)bench_random(&seed) | 1) & (MOST_HOSTS - 1);
		number ^= number >> HOST_BITS / 2;
	}
	return number;
}

/* Hosts of 2001:db8:0:1::/108. */
static int make_hosts(struct bench_table *table, size_t n)
{
	int ret = make_room(table, n);

	for (uint32_t i = 0; !ret && i < n; i++) {
		struct prefix *prefix = &table->prefixes[table->n++];

		prefix->addr.words[0] = htonl(0x20010db8);
		prefix->addr.words[1] = htonl(1);
		prefix->addr.words[3] = htonl(shuffle(i, table->seed));
		prefix->len = 128;
	}
	return ret;
}

/* Every length from 0 to 128 on each of some ways down. */
static int make_nested(struct bench_table *table, size_t paths)
{
	uint64_t seed = table->seed;
	struct prefix path;
	int ret = make_room(table, paths * 129);

	for (size_t i = 0; !ret && i < paths; i++) {
		draw_global(&seed, &path);
		for (int len = 128; len >= 0; len--) {
			path.len = (uint8_t)len;
			prefix_mask(&path);
			table->prefixes[table->n++] = path;
		}
	}
	return ret;
}

/* "100", "10k", "1m". 0: it is none. */
static size_t parse_count(const char *name)
{
	char *end;
	unsigned long n;

	if (*name < '0' || *name > '9')
		return 0;
	n = strtoul(name, &end, 10);
	if (n > MOST_ROUTES)
		return 0;
	if (*end == 'k' || *end == 'K')
		n *= 1000, end++;
	else if (*end == 'm' || *end == 'M')
		n *= 1000000, end++;
	return *end || n > MOST_ROUTES ? 0 : n;
}

static int make_dense_named(struct bench_table *table, size_t n)
{
	static const unsigned int steps[] = { 1, 4, 16 };
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		size_t len = (size_t)(i ? snprintf(name, sizeof(name), "dense-48-%u", steps[i])
					: snprintf(name, sizeof(name), "dense-48"));

		if (!strncmp(table->name, name, len) &&
		    (!table->name[len] || table->name[len] == ':'))
			return make_dense(table, steps[i], n ?: 65536 / steps[i]);
	}
	return -ENOENT;
}

size_t bench_table_routes(const char *name)
{
	const char *colon = strchr(name, ':');

	return parse_count(colon ? colon + 1 : name);
}

static int make(struct bench_table *table)
{
	const char *colon = strchr(table->name, ':');
	size_t n = bench_table_routes(table->name);

	if (colon && (!n || (!strncmp(table->name, "hosts-108", 9) && n > MOST_HOSTS)))
		return bench_bad(-EINVAL, "\"%s\" is no number of such routes", colon + 1);
	if (n && !colon)
		return bench_draw(table, n, draw_real);
	if (!strncmp(table->name, "dense-48", 8))
		return make_dense_named(table, n);
	if (!strcmp(table->name, "hosts-108") || (colon && !strncmp(table->name, "hosts-108:", 10)))
		return make_hosts(table, n ?: HOSTS);
	if (!strcmp(table->name, "nested"))
		return make_nested(table, 1);
	if (!strcmp(table->name, "nested-1000"))
		return make_nested(table, PATHS);
	return -ENOENT;
}

/* The Internet's: a file that comes with the command. */
static int read_full_view(uint64_t seed, struct bench_table *out)
{
	char path[PATH_MAX];
	int ret = bench_find_file("full-view.txt", path, sizeof(path));

	return ret ? bench_fail(ret, "%s, which comes with the command", path)
		   : bench_table_file(path, seed, out);
}

int bench_table_named(const char *name, uint64_t seed, struct bench_table *out)
{
	struct bench_table table = { .seed = seed };
	int ret;

	if (!strcmp(name, "full-view"))
		return read_full_view(seed, out);
	snprintf(table.name, sizeof(table.name), "%s", name);
	ret = make(&table) ?: bench_table_finish(&table);
	if (ret)
		bench_table_free(&table);
	else
		*out = table;
	return ret;
}

int bench_table_ipv4(const struct bench_table *like, struct bench_table *out)
{
	size_t n = like->pattern == BENCH_FALLBACK ? like->n - 1 : like->n;
	struct bench_table table = { .seed = like->seed, .is_ipv4 = true };
	int ret;

	snprintf(table.name, sizeof(table.name), "ipv4:%.48s", like->name);
	ret = bench_draw(&table, n ?: 1, draw_ipv4) ?: bench_table_finish(&table);
	ret = ret ?: bench_table_set_pattern(&table, like->pattern);
	if (ret)
		bench_table_free(&table);
	else
		*out = table;
	return ret;
}
