// SPDX-License-Identifier: GPL-2.0-only
/* Figures of all rounds, and rows of them: first each by itself, then sixlane beside others. */
#include <errno.h>
#include <string.h>

#include "../../lib/ethtool.h"
#include "nic.h"

const char nic_generator_limit[] = "the generator is the limit: it sends no more";
const char nic_rate_limit[] = "--rate is the limit: no more was tried";

const char *nic_limit(const struct nic_bench *bench)
{
	double asked_pps = bench->options->most_pps;

	return asked_pps > 0 && bench->most_pps >= asked_pps ? nic_rate_limit : nic_generator_limit;
}

static bool is_same(const struct nic_figure *figure, const struct nic_bench *bench,
		    const char *mode)
{
	return figure->engine == bench->engine && figure->size == bench->size &&
	       figure->writer_rate == bench->writer_rate && !strcmp(figure->mode, mode);
}

/* NULL: no memory. */
static struct nic_figure *find(struct nic_bench *bench, const char *mode, const char *unit)
{
	struct nic_figure *grown;

	for (size_t i = 0; i < bench->n_figures; i++)
		if (is_same(&bench->figures[i], bench, mode))
			return &bench->figures[i];
	grown = reallocarray(bench->figures, bench->n_figures + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	bench->figures = grown;
	grown += bench->n_figures;
	*grown = (struct nic_figure){
		.engine = bench->engine,
		.size = bench->size,
		.writer_rate = bench->writer_rate,
		.mode = mode,
		.unit = unit,
		.values = calloc(bench->options->rounds, sizeof(*grown->values)),
	};
	if (!grown->values)
		return NULL;
	bench->n_figures++;
	return grown;
}

/* What was said of the first round that had something to say; nothing is worth as much as that the
 * counts do not add up. */
static void add_note(struct nic_figure *figure, const struct nic_outcome *outcome, const char *note)
{
	if (outcome && !outcome->is_valid && !figure->is_invalid) {
		figure->is_invalid = true;
		snprintf(figure->note, sizeof(figure->note), "INVALID: %s", outcome->fault);
	}
	figure->is_limited |= note == nic_generator_limit || note == nic_rate_limit;
	if (*figure->note)
		return;
	if (note)
		snprintf(figure->note, sizeof(figure->note), "%s", note);
	else if (outcome && *outcome->note)
		snprintf(figure->note, sizeof(figure->note), "%s", outcome->note);
}

int nic_figure_add(struct nic_bench *bench, const char *mode, const char *unit, double value,
		   const struct nic_outcome *outcome, const char *note)
{
	struct nic_figure *figure = find(bench, mode, unit);

	if (!figure)
		return bench_fail(-ENOMEM, "figures");
	figure->values[figure->n++] = value;
	add_note(figure, outcome, note);
	return 0;
}

void nic_figures_free(struct nic_bench *bench)
{
	for (size_t i = 0; i < bench->n_figures; i++)
		free(bench->figures[i].values);
	free(bench->figures);
}

/* --- rows ----------------------------------------------------------------------------------- */

struct report {
	const struct nic_bench *bench;
	struct bench_result *result;
	struct bench_row row; /* what all have in common */
	char driver[32];
	char common[BENCH_NOTE_LEN]; /* notes for all */
};

/* What could not be set, and what kind of devices these are. */
static void begin_report(struct report *report)
{
	const struct nic_options *options = report->bench->options;
	const char *const *notes;
	size_t n = nic_setup_notes(report->bench->setup, &notes);

	ethtool_driver(options->machine.devs[0], report->driver);
	snprintf(report->common, sizeof(report->common), "sent by %s%s",
		 report->bench->generator.name,
		 report->bench->is_veth ? "; veth, no NICs: a functional test only" : "");
	for (size_t i = 0; i < n; i++)
		bench_note_add(report->common, sizeof(report->common), notes[i]);
	report->row = (struct bench_row){
		.bench = "nic",
		.table = options->table->name,
		.pattern = options->pattern,
		.driver = report->driver,
		.routes = options->table->n,
		.queues = report->bench->queues,
		.threads = (unsigned int)options->machine.want.n_cpus,
	};
}

static int add_row(struct report *report, const struct nic_figure *figure, struct bench_row row,
		   const char *note)
{
	char text[BENCH_NOTE_LEN] = "";

	bench_note_add(text, sizeof(text), note);
	bench_note_add(text, sizeof(text), report->common);
	row.mode = figure->mode;
	row.frame_bytes = figure->size;
	row.writer_rate = figure->writer_rate;
	row.note = *text ? text : NULL;
	return row.n ? bench_result_add(report->result, &row) : 0;
}

static int add_figure(struct report *report, const struct nic_figure *figure)
{
	struct bench_row row = report->row;

	row.engine = figure->engine->name;
	row.unit = figure->unit;
	row.values = figure->values;
	row.n = figure->n;
	return add_row(report, figure, row, figure->note);
}

static bool are_compared(const struct nic_figure *a, const struct nic_figure *b)
{
	return a->engine != b->engine && a->engine->is_sixlane &&
	       !(a->engine->choice == SIXLANE_ENGINE_TRIE && b->engine->is_sixlane) &&
	       a->size == b->size && a->writer_rate == b->writer_rate &&
	       !strcmp(a->mode, b->mode) && !strcmp(a->unit, "Mpps");
}

static const char *note_of_ratio(const struct nic_figure *a, const struct nic_figure *b)
{
	if (a->is_invalid || b->is_invalid)
		return a->is_invalid ? a->note : b->note;
	if (a->is_limited || b->is_limited)
		return "no comparison: the router was not the limit";
	return *a->note ? a->note : b->note;
}

/* Round by round: both sides had the same weather. */
static int add_ratio(struct report *report, const struct nic_figure *a, const struct nic_figure *b,
		     double *values)
{
	struct bench_row row = report->row;
	char engine[64];

	snprintf(engine, sizeof(engine), "%s/%s", a->engine->name, b->engine->name);
	row.engine = engine;
	row.unit = "ratio";
	row.values = values;
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (b->values[i] > 0)
			values[row.n++] = a->values[i] / b->values[i];
	return add_row(report, a, row, note_of_ratio(a, b));
}

static int add_ratios(struct report *report, const struct nic_figure *a)
{
	const struct nic_bench *bench = report->bench;
	double *values = calloc(bench->options->rounds, sizeof(*values));
	int ret = 0;

	if (!values)
		return bench_fail(-ENOMEM, "figures");
	for (size_t i = 0; i < bench->n_figures && !ret; i++)
		if (are_compared(a, &bench->figures[i]))
			ret = add_ratio(report, a, &bench->figures[i], values);
	free(values);
	return ret;
}

int nic_report(const struct nic_bench *bench, struct bench_result *result)
{
	struct report report = { .bench = bench, .result = result };
	int ret = 0;

	begin_report(&report);
	for (size_t i = 0; i < bench->n_figures && !ret; i++)
		ret = add_figure(&report, &bench->figures[i]);
	for (size_t i = 0; i < bench->n_figures && !ret; i++)
		ret = add_ratios(&report, &bench->figures[i]);
	return ret;
}
