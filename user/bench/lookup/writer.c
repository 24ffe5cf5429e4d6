// SPDX-License-Identifier: GPL-2.0-only
/* Changes of routes: one by one, and at a steady rate while lookups are measured. */
#include <errno.h>
#include <pthread.h>

#include "../bench.h"

#define PERIOD_NS 1000000u /* between two bursts */
#define FEWEST_CHANGES 1000u
#define MOST_CHANGES 20000u

struct bench_writer {
	pthread_t thread;
	struct bench_side *side;
	uint32_t rate;
	uint64_t done, start_ns, seed;
	int error;
	bool stop;
	bool *gone; /* routes of the table */
};

static int change(struct bench_writer *writer, size_t i)
{
	int ret = writer->side->engine->change(writer->side, i, writer->gone[i]);

	writer->gone[i] = !writer->gone[i];
	writer->done++;
	return ret;
}

static void *work(void *ctx)
{
	struct bench_writer *writer = ctx;
	const struct timespec pause = { .tv_nsec = PERIOD_NS };
	size_t n = writer->side->table->n;

	writer->error = bench_pin(bench_n_cpus() - 1);
	while (!writer->error && !__atomic_load_n(&writer->stop, __ATOMIC_RELAXED)) {
		uint64_t due = (util_now_ns() - writer->start_ns) * writer->rate / 1000000000u;

		while (writer->done < due && !writer->error)
			writer->error = change(writer, bench_random(&writer->seed) % n);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int bench_writer_begin(struct bench_side *side, uint32_t rate, struct bench_writer **out)
{
	struct bench_writer *writer = calloc(1, sizeof(*writer));
	int ret = -ENOMEM;

	if (writer) {
		*writer = (struct bench_writer){
			.side = side,
			.rate = rate,
			.start_ns = util_now_ns(),
			.seed = util_now_ns(),
			.gone = calloc(side->table->n, sizeof(bool)),
		};
		if (writer->gone)
			ret = -pthread_create(&writer->thread, NULL, work, writer);
	}
	if (!ret) {
		*out = writer;
		return 0;
	}
	if (writer)
		free(writer->gone);
	free(writer);
	return bench_fail(ret, "changes of routes");
}

int bench_writer_end(struct bench_writer *writer, double *rate)
{
	int ret;

	__atomic_store_n(&writer->stop, true, __ATOMIC_RELAXED);
	pthread_join(writer->thread, NULL);
	*rate = (double)writer->done * 1e9 / (double)(util_now_ns() - writer->start_ns);
	ret = writer->error;
	for (size_t i = 0; i < writer->side->table->n && !ret; i++)
		if (writer->gone[i])
			ret = change(writer, i);
	free(writer->gone);
	free(writer);
	return ret ? bench_fail(ret, "changes of routes") : 0;
}

static int time_change(struct bench_side *side, size_t i, bool back, double *ns)
{
	uint64_t start_ns = util_now_ns();
	int ret = side->engine->change(side, i, back);

	*ns = (double)(util_now_ns() - start_ns);
	return ret;
}

/* Of few routes every one often enough. Even. */
static size_t count_changes(size_t routes)
{
	if (routes < FEWEST_CHANGES / 10)
		return FEWEST_CHANGES;
	return routes < MOST_CHANGES / 10 ? 10 * routes : MOST_CHANGES;
}

int bench_changes(struct bench_side *side)
{
	uint64_t seed = side->table->seed;
	int ret = 0;

	if (!side->engine->change)
		return 0;
	side->n_changes = count_changes(side->table->n);
	side->change_ns = calloc(side->n_changes, sizeof(*side->change_ns));
	if (!side->change_ns)
		return bench_fail(-ENOMEM, "changes of routes");
	for (size_t i = 0; i < side->n_changes && !ret; i += 2) {
		size_t route = bench_random(&seed) % side->table->n;

		ret = time_change(side, route, false, &side->change_ns[i])
			      ?: time_change(side, route, true, &side->change_ns[i + 1]);
	}
	return ret ? bench_fail(ret, "changes of routes") : 0;
}
