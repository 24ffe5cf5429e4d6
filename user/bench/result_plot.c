// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows as pictures, by gnuplot. A panel for each thing that was measured in each way, in it a line
 * for each engine, over what was varied most: routes, threads, frames or changes. Where nothing was
 * varied there are bars. Medians, with the spread from the lowest to the highest. Ratios are left
 * to the table.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "bench.h"
#include "result_plot.h"

#define PANEL_WIDTH 640
#define PANEL_HEIGHT 360
/* Of the width, left and right of all points: a spread on the frame would not be seen. */
#define BESIDE 0.04

/* What may be varied. */
enum axis { AXIS_ROUTES, AXIS_THREADS, AXIS_FRAME, AXIS_WRITER, N_AXES };
static const char *const axis_titles[N_AXES] = { "routes", "CPUs", "bytes a frame",
						 "changes a second" };

struct plot {
	const struct bench_result *result;
	const struct bench_summary **rows; /* that are shown */
	size_t n;
	enum axis axis;
	FILE *out; /* to gnuplot */
};

static double at_axis(const struct bench_summary *row, enum axis axis)
{
	const double values[N_AXES] = { (double)row->row.routes, row->row.threads,
					row->row.frame_bytes, row->row.writer_rate };

	return values[axis];
}

static bool same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* "1", "10k" and "hosts-108:1m" are sizes of one kind of table, which the axis of routes shows. */
static size_t kind_of_table(const char *table)
{
	if (!table || (table[0] >= '0' && table[0] <= '9'))
		return 0;
	return strcspn(table, ":");
}

static bool same_table(const struct plot *plot, const char *a, const char *b)
{
	size_t len = kind_of_table(a);

	if (plot->axis != AXIS_ROUTES)
		return same(a, b);
	return len == kind_of_table(b) && (!len || !strncmp(a, b, len));
}

/* --- what belongs together ------------------------------------------------------------------ */

static bool same_panel(const struct plot *plot, const struct bench_summary *a,
		       const struct bench_summary *b)
{
	for (enum axis axis = 0; axis < N_AXES; axis++)
		if (axis != plot->axis && axis != AXIS_ROUTES &&
		    at_axis(a, axis) != at_axis(b, axis))
			return false;
	return same(a->row.unit, b->row.unit) && same(a->row.mode, b->row.mode) &&
	       same(a->row.pattern, b->row.pattern);
}

static bool same_line(const struct plot *plot, const struct bench_summary *a,
		      const struct bench_summary *b)
{
	return same_panel(plot, a, b) && same(a->row.engine, b->row.engine) &&
	       same_table(plot, a->row.table, b->row.table);
}

typedef bool (*same_fn)(const struct plot *plot, const struct bench_summary *a,
			const struct bench_summary *b);

/* No row before it is of the same panel or line. */
static bool is_first(const struct plot *plot, size_t i, same_fn same_as)
{
	for (size_t k = 0; k < i; k++)
		if (same_as(plot, plot->rows[k], plot->rows[i]))
			return false;
	return true;
}

static size_t count_values(const struct plot *plot, enum axis axis)
{
	size_t n = 0;

	for (size_t i = 0; i < plot->n; i++) {
		bool is_new = true;

		for (size_t k = 0; k < i; k++)
			is_new &= at_axis(plot->rows[k], axis) != at_axis(plot->rows[i], axis);
		n += is_new;
	}
	return n;
}

static void choose_axis(struct plot *plot)
{
	size_t most = count_values(plot, AXIS_ROUTES);

	for (enum axis axis = AXIS_THREADS; axis < N_AXES; axis++)
		if (count_values(plot, axis) > most) {
			plot->axis = axis;
			most = count_values(plot, axis);
		}
}

static int choose_rows(struct plot *plot)
{
	const struct bench_result *result = plot->result;

	plot->rows = calloc(result->n ? result->n : 1, sizeof(*plot->rows));
	for (size_t i = 0; i < result->n && plot->rows; i++)
		if (strcmp(result->rows[i].row.unit, "ratio") != 0)
			plot->rows[plot->n++] = &result->rows[i];
	return plot->rows ? 0 : -ENOMEM;
}

/* --- gnuplot's language --------------------------------------------------------------------- */

/* In single quotes a backslash before one of them is in the way. */
void bench_plot_quote(FILE *out, const char *text, size_t len)
{
	fputc('"', out);
	for (; len--; text++)
		fprintf(out, strchr("\"\\`", *text) ? "\\%03o" : "%c", *text);
	fputc('"', out);
}

static void put_quoted(FILE *out, const char *text)
{
	bench_plot_quote(out, text, strlen(text));
}

static void put_line_data(const struct plot *plot, size_t first)
{
	fprintf(plot->out, "$line%zu << END\n", first);
	for (size_t i = first; i < plot->n; i++) {
		const struct bench_summary *row = plot->rows[i];

		if (same_line(plot, plot->rows[first], row))
			fprintf(plot->out, "%.9g %.9g %.9g %.9g\n", at_axis(row, plot->axis),
				row->median, row->low, row->high);
	}
	fputs("END\n", plot->out);
}

static void put_title(const struct plot *plot, const struct bench_summary *row)
{
	char text[256];
	int used =
		snprintf(text, sizeof(text), "%s", row->row.mode ? row->row.mode : row->row.bench);
	size_t size = sizeof(text);

	if (row->row.pattern)
		used += snprintf(text + used, size - (size_t)used, ", %.64s", row->row.pattern);
	if (plot->axis != AXIS_THREADS && row->row.threads > 1)
		used += snprintf(text + used, size - (size_t)used, ", %u CPUs", row->row.threads);
	if (plot->axis != AXIS_FRAME && row->row.frame_bytes)
		used += snprintf(text + used, size - (size_t)used, ", %u bytes",
				 row->row.frame_bytes);
	if (plot->axis != AXIS_WRITER && row->row.writer_rate)
		snprintf(text + used, size - (size_t)used, ", beside %u changes/s",
			 row->row.writer_rate);
	fputs("set title ", plot->out);
	put_quoted(plot->out, text);
	fputs("\nset ylabel ", plot->out);
	put_quoted(plot->out, row->row.unit);
	fputc('\n', plot->out);
}

static void put_line_name(const struct plot *plot, const struct bench_summary *row)
{
	bool many = false;
	char text[256];
	int kind;

	for (size_t i = 0; i < plot->n; i++)
		many |= same_panel(plot, plot->rows[i], row) &&
			!same_table(plot, plot->rows[i]->row.table, row->row.table);
	kind = plot->axis == AXIS_ROUTES ? (int)kind_of_table(row->row.table) : 64;
	if (many && kind)
		snprintf(text, sizeof(text), "%s, %.*s", row->row.engine, kind, row->row.table);
	else
		snprintf(text, sizeof(text), "%s", row->row.engine);
	put_quoted(plot->out, text);
}

/* Of the lowest and the highest of a panel: are they so far apart that only a logarithm shows both?
 */
static bool is_wide(double low, double high)
{
	return low > 0 && high / low > 30;
}

/* Nothing to draw a line along. */
static bool is_bars(const struct plot *plot, const struct bench_summary *panel)
{
	for (size_t i = 0; i < plot->n; i++)
		if (same_panel(plot, plot->rows[i], panel) &&
		    at_axis(plot->rows[i], plot->axis) != at_axis(panel, plot->axis))
			return false;
	return true;
}

static void put_x_range(const struct plot *plot, double left, double right)
{
	double more;

	if (is_wide(left, right)) {
		more = pow(right / left, BESIDE);
		fputs("set logscale x\n", plot->out);
		left /= more;
		right *= more;
	} else {
		more = BESIDE * (right - left);
		left -= more;
		right += more;
	}
	fprintf(plot->out, "set xrange [%.9g:%.9g]\n", left, right);
}

static void put_scales(const struct plot *plot, const struct bench_summary *panel)
{
	double low = INFINITY, high = 0, left = INFINITY, right = 0;

	for (size_t i = 0; i < plot->n; i++) {
		const struct bench_summary *row = plot->rows[i];

		if (!same_panel(plot, row, panel))
			continue;
		low = fmin(low, row->low);
		high = fmax(high, row->high);
		left = fmin(left, at_axis(row, plot->axis));
		right = fmax(right, at_axis(row, plot->axis));
	}
	fputs("unset logscale\n", plot->out);
	if (is_wide(low, high))
		fputs("set logscale y\nset yrange [*:*]\n", plot->out);
	else
		fprintf(plot->out, "set yrange [%s:%s]\n", low < 0 ? "*" : "0",
			high > 0 || low < 0 ? "*" : "1");
	if (!is_bars(plot, panel))
		put_x_range(plot, left, right);
}

/* The same colour for the same engine and kind of table in all panels. */
static size_t colour_of(const struct plot *plot, const struct bench_summary *row)
{
	size_t n = 0, i = 0;

	for (;; i++) {
		const struct bench_summary *at = plot->rows[i];
		bool is_new = true;

		for (size_t k = 0; k < i; k++)
			is_new &= !same(plot->rows[k]->row.engine, at->row.engine) ||
				  !same_table(plot, plot->rows[k]->row.table, at->row.table);
		n += is_new;
		if (same(at->row.engine, row->row.engine) &&
		    same_table(plot, at->row.table, row->row.table))
			return n;
	}
}

static size_t count_lines(const struct plot *plot, size_t panel)
{
	size_t n = 0;

	for (size_t i = panel; i < plot->n; i++)
		n += same_panel(plot, plot->rows[panel], plot->rows[i]) &&
		     is_first(plot, i, same_line);
	return n;
}

static void put_curves(const struct plot *plot, size_t panel)
{
	const char *separator = "plot ";
	bool bars = is_bars(plot, plot->rows[panel]);
	size_t place = 0;

	if (bars)
		fprintf(plot->out, "unset xlabel\nunset xtics\nset xrange [-1:%zu]\n",
			count_lines(plot, panel));
	else
		fprintf(plot->out, "set xlabel '%s'\nset xtics auto\n", axis_titles[plot->axis]);
	for (size_t i = panel; i < plot->n; i++) {
		if (!same_panel(plot, plot->rows[panel], plot->rows[i]) ||
		    !is_first(plot, i, same_line))
			continue;
		fprintf(plot->out, "%s$line%zu using ", separator, i);
		if (bars)
			fprintf(plot->out, "(%zu):2:3:4:(0.8) with boxerrorbars", place++);
		else
			fputs("1:2:3:4 with yerrorlines", plot->out);
		fprintf(plot->out, " lt %zu title ", colour_of(plot, plot->rows[i]));
		put_line_name(plot, plot->rows[i]);
		separator = ", ";
	}
	fputc('\n', plot->out);
}

static size_t count_panels(const struct plot *plot)
{
	size_t n = 0;

	for (size_t i = 0; i < plot->n; i++)
		n += is_first(plot, i, same_panel);
	return n;
}

static void put_panel(const struct plot *plot, size_t i)
{
	put_title(plot, plot->rows[i]);
	put_scales(plot, plot->rows[i]);
	put_curves(plot, i);
	/* those of the foot, which every panel would write again */
	fputs("unset label\n", plot->out);
}

/* Row by row from the top, above the foot. */
static void put_panels(const struct plot *plot, size_t columns, size_t rows, double foot)
{
	double height = (double)(rows * PANEL_HEIGHT) + foot, part = PANEL_HEIGHT / height;
	size_t place = 0, below;

	for (size_t i = 0; i < plot->n; i++) {
		if (!is_first(plot, i, same_panel))
			continue;
		below = rows - 1 - place / columns;
		fprintf(plot->out, "set size %.4f,%.4f\nset origin %.4f,%.4f\n",
			1.0 / (double)columns, part, (double)(place % columns) / (double)columns,
			foot / height + part * (double)below);
		put_panel(plot, i);
		place++;
	}
}

/* In what forms, and what a file of each ends with that is whole. */
static const struct picture {
	const char *terminal, *suffix, *end;
} pictures[] = {
	{ "svg background 'white'", "svg", "</svg>" },
	{ "pngcairo", "png", "IEND\xae\x42\x60\x82" },
};

static void put_picture(const struct plot *plot, const char *base, const struct picture *picture)
{
	size_t panels = count_panels(plot), columns = panels > 1 ? 2 : 1;
	size_t rows = (panels + columns - 1) / columns;
	struct bench_foot foot;
	char path[PATH_MAX];
	double height;

	bench_foot_make(plot->result, columns * PANEL_WIDTH, &foot);
	height = (double)(rows * PANEL_HEIGHT) + foot.height;
	fprintf(plot->out, "reset\nset terminal %s size %zu,%.0f noenhanced font 'sans,10'\n",
		picture->terminal, columns * PANEL_WIDTH, height);
	snprintf(path, sizeof(path), "%s.%s", base, picture->suffix);
	fputs("set output ", plot->out);
	put_quoted(plot->out, path);
	fputs("\nset multiplot\nset key outside right\nset grid y\nset style fill solid 0.4\n",
	      plot->out);
	bench_foot_put(&foot, height, plot->out);
	put_panels(plot, columns, rows, foot.height);
	fputs("unset multiplot\nunset output\n", plot->out);
}

/* --- gnuplot -------------------------------------------------------------------------------- */

int bench_plot_check(void)
{
	if (!system("command -v gnuplot >/dev/null"))
		return 0;
	return bench_bad(-ENOENT,
			 "gnuplot is not there, which draws the plots: install the package "
			 "gnuplot-nox, or leave out --output");
}

/* An SVG may end with newlines behind that. */
static bool is_whole(const char *path, const char *end)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char tail[8];

	return file && !fseek(file, -(long)sizeof(tail), SEEK_END) &&
	       fread(tail, sizeof(tail), 1, file) == 1 &&
	       memmem(tail, sizeof(tail), end, strlen(end));
}

/* Of what it cannot write gnuplot says nothing, and its status is 0. */
static int check_pictures(const char *base)
{
	char path[PATH_MAX];
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		snprintf(path, sizeof(path), "%s.%s", base, pictures[i].suffix);
		if (!is_whole(path, pictures[i].end))
			ret = bench_bad(-EIO,
					"%s: gnuplot has not written all of it: is the disk full? "
					"Make room and measure again; the JSON and CSV are whole",
					path);
	}
	return ret;
}

static int run_gnuplot(struct plot *plot, const char *base)
{
	/* One that ends early is told by its status. */
	sighandler_t before = signal(SIGPIPE, SIG_IGN);
	int status;

	plot->out = popen("gnuplot", "we");
	if (!plot->out)
		return bench_fail(-errno, "gnuplot");
	for (size_t i = 0; i < plot->n; i++)
		if (is_first(plot, i, same_line))
			put_line_data(plot, i);
	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++)
		put_picture(plot, base, &pictures[i]);
	status = pclose(plot->out);
	signal(SIGPIPE, before);
	if (status)
		return bench_bad(-EIO,
				 "gnuplot ended with status %d: %s.svg and .png are not there",
				 WEXITSTATUS(status), base);
	return check_pictures(base);
}

int bench_result_to_plots(const struct bench_result *result, const char *base)
{
	struct plot plot = { .result = result };
	int ret = choose_rows(&plot);

	if (ret) {
		bench_fail(ret, "plots");
	} else if (plot.n) {
		choose_axis(&plot);
		ret = run_gnuplot(&plot, base);
	}
	free(plot.rows);
	return ret;
}
