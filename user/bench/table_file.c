// SPDX-License-Identifier: GPL-2.0-only
/* Tables from a file: one prefix a line; empty lines and what is behind a '#' count for nothing. */
#include <errno.h>
#include <string.h>

#include "../lib/input.h"
#include "bench.h"

#define MOST_SAID 10 /* bad lines: a file of something else has as many as it likes */

static int append(struct bench_table *table, size_t *room, const struct prefix *prefix)
{
	if (table->n == *room) {
		size_t more = *room ? 2 * *room : 1024;
		struct prefix *grown = reallocarray(table->prefixes, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		table->prefixes = grown;
		*room = more;
	}
	table->prefixes[table->n++] = *prefix;
	return 0;
}

/* In place. */
static char *strip(char *line)
{
	size_t n;

	line[strcspn(line, "#\r\n")] = '\0';
	line += strspn(line, " \t");
	n = strlen(line);
	while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		line[--n] = '\0';
	return line;
}

/* Why no packet is forwarded there, or not to all of it, whatever the table says; NULL: it may be.
 */
static const char *why_unrouted(const struct prefix *prefix)
{
	static const struct {
		struct prefix all;
		const char *is, *covers; /* covers: NULL: hardly ever drawn */
	} rows[] = {
		{ { .addr.bytes = { 0xff }, .len = 8 }, "is multicast", "covers multicast" },
		{ { .addr.bytes = { 0xfe, 0x80 }, .len = 10 },
		  "is link-local",
		  "covers link-local addresses" },
		{ { .addr.bytes = { [15] = 1 }, .len = 128 }, "is the loopback address", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (prefix_covers(&rows[i].all, prefix))
			return rows[i].is;
		if (rows[i].covers && prefix_covers(prefix, &rows[i].all) &&
		    !prefix_covers(prefix, &bench_global))
			return rows[i].covers;
	}
	return NULL;
}

/* -EINVAL: it was said. */
static int parse_line(const char *text, const char *path, size_t number, struct prefix *out)
{
	const char *why;

	if (prefix_parse(text, out))
		return bench_bad(-EINVAL, "%s:%zu: \"%.60s\" is not an IPv6 prefix", path, number,
				 text);
	why = why_unrouted(out);
	if (why)
		return bench_bad(
			-EINVAL,
			"%s:%zu: \"%.60s\" %s, and nothing is forwarded there: leave it out", path,
			number, text, why);
	return 0;
}

/* Of other lines than prefixes the file has none, or it is another kind of file. */
#define EXPECTED "a table has one IPv6 prefix a line, as 2001:db8::/32"

static int read_lines(FILE *file, const char *path, struct bench_table *table)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0, size = 0, bad = 0;
	struct prefix prefix;

	for (size_t number = 1; getline(&line, &size, file) >= 0; number++) {
		const char *text = strip(line);

		if (!*text)
			continue;
		if (parse_line(text, path, number, &prefix)) {
			if (++bad == MOST_SAID)
				return bench_bad(-EINVAL, "%s: %d bad lines: " EXPECTED, path,
						 MOST_SAID);
		} else if (append(table, &room, &prefix)) {
			return bench_fail(-ENOMEM, "%s:%zu", path, number);
		}
	}
	if (ferror(file))
		return bench_fail(-EIO, "%s: cannot be read", path);
	if (bad)
		return bench_bad(-EINVAL, "%s: " EXPECTED, path);
	return table->n ? 0 : bench_bad(-ENODATA, "%s has no prefixes: " EXPECTED, path);
}

/* "/tmp/full-view.txt" is called full-view. */
static void take_name(const char *path, struct bench_table *table)
{
	const char *name = strrchr(path, '/');

	if (input_is_stdin(path))
		name = "/stdin";
	snprintf(table->name, sizeof(table->name), "%s", name ? name + 1 : path);
	table->name[strcspn(table->name, ".")] = '\0';
}

int bench_table_file(const char *path, uint64_t seed, struct bench_table *out)
{
	_cleanup_fclose_ FILE *file = input_open(path);
	struct bench_table table = { .seed = seed };
	int ret;

	if (!file)
		return bench_fail(-errno, "%s", path);
	take_name(path, &table);
	ret = read_lines(file, input_name(path), &table) ?: bench_table_finish(&table);
	if (ret)
		bench_table_free(&table);
	else
		*out = table;
	return ret;
}
