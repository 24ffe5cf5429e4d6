// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stands under pictures. It is broken into lines that there is room for, since pictures are
 * cut at their edges: in a font of which all characters are as wide, so that these can be counted.
 */
#include <string.h>

#include "../lib/util.h"
#include "result_plot.h"

#define FONT "monospace,9"
/* In a PNG, where they are larger than in an SVG. */
#define CHARACTER_WIDTH 7.3
#define LINE_HEIGHT 15
#define MARGIN_ABOVE 16
#define MARGIN_BELOW 8
/* Of the picture's width. */
#define MARGIN_BESIDE 0.01

/* NULL: no NICs take part. */
static const struct bench_row *find_driver(const struct bench_result *result)
{
	for (size_t i = 0; i < result->n; i++)
		if (result->rows[i].row.driver)
			return &result->rows[i].row;
	return NULL;
}

static void say_where(const struct bench_result *result, char *buf, size_t size)
{
	const struct bench_row *row = find_driver(result);
	size_t used;

	bench_machine_text(&result->machine, buf, size);
	used = strlen(buf);
	if (row)
		snprintf(buf + used, size - used, "; driver %s", row->driver);
	used += strlen(buf + used);
	if (row && row->queues)
		snprintf(buf + used, size - used, ", %u queues", row->queues);
	used += strlen(buf + used);
	if (result->options.seed)
		snprintf(buf + used, size - used, "; seed %llu",
			 (unsigned long long)result->options.seed);
}

/* Of a word that no line has room for: whole characters of UTF-8. */
static size_t break_word(const char *text, size_t width)
{
	size_t n = width;

	while (n > 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

size_t bench_foot_line(const char *text, size_t width, const char **rest)
{
	size_t n = width;

	*rest = NULL;
	if (strlen(text) <= width)
		return strlen(text);
	while (n && text[n] != ' ')
		n--;
	*rest = text + n + 1;
	if (n)
		return n;
	n = break_word(text, width);
	*rest = text + n;
	return n;
}

static size_t count_lines(const char *text, size_t width)
{
	size_t n = 0;

	for (; text; n++)
		bench_foot_line(text, width, &text);
	return n;
}

void bench_foot_make(const struct bench_result *result, size_t width, struct bench_foot *out)
{
	double room = (double)width * (1 - 2 * MARGIN_BESIDE);
	size_t n;

	say_where(result, out->where, sizeof(out->where));
	out->command = result->options.command;
	out->line_bytes = (size_t)(room / CHARACTER_WIDTH);
	n = count_lines(out->where, out->line_bytes) + count_lines(out->command, out->line_bytes);
	out->height = (double)(MARGIN_ABOVE + n * LINE_HEIGHT + MARGIN_BELOW);
}

void bench_foot_put(const struct bench_foot *foot, double height, FILE *out)
{
	const char *const texts[] = { foot->where, foot->command };
	double at = foot->height - MARGIN_ABOVE - LINE_HEIGHT / 2.0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (const char *text = texts[i], *rest; text; text = rest, at -= LINE_HEIGHT) {
			size_t len = bench_foot_line(text, foot->line_bytes, &rest);

			fputs("set label ", out);
			bench_plot_quote(out, text, len);
			fprintf(out, " at screen %g, screen %.4f font '" FONT "'\n", MARGIN_BESIDE,
				at / height);
		}
}
