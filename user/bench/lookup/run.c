// SPDX-License-Identifier: GPL-2.0-only
/* Test runs of a program on one CPU or several at once. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <string.h>

#include "../progress.h"
#include "bpf.h"

#define MOST_THREADS 256

struct runner {
	pthread_t thread;
	pthread_barrier_t *begin;
	struct bench_packet packet;
	unsigned int number;
	uint32_t repeat;
	int prog, error;
	double ns;
};

static int run(struct runner *runner)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc;

	opts.data_in = &runner->packet;
	opts.data_size_in = sizeof(runner->packet);
	opts.repeat = (int)runner->repeat;
	rc = bpf_prog_test_run_opts(runner->prog, &opts);
	if (rc)
		return rc;
	runner->ns = opts.duration;
	return opts.retval == XDP_DROP ? 0 : -EPROTO;
}

static void *run_thread(void *ctx)
{
	struct runner *runner = ctx;

	runner->error = bench_pin(runner->number);
	/* also after an error: the others wait */
	pthread_barrier_wait(runner->begin);
	if (!runner->error)
		runner->error = run(runner);
	return NULL;
}

static int run_threads(struct runner *runners, unsigned int n)
{
	pthread_barrier_t begin;
	unsigned int started = 0;
	int ret = 0;

	pthread_barrier_init(&begin, NULL, n);
	for (; started < n && !ret; started++) {
		runners[started].begin = &begin;
		ret = -pthread_create(&runners[started].thread, NULL, run_thread,
				      &runners[started]);
	}
	/* Those that were started wait for ever, and end with the process. */
	if (ret)
		return ret;
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(runners[i].thread, NULL);
		ret = ret ?: runners[i].error;
	}
	pthread_barrier_destroy(&begin);
	return ret;
}

int bench_run(int prog, const struct bench_packet *packet, unsigned int threads, uint32_t repeat,
	      struct bench_runs *out)
{
	struct runner runners[MOST_THREADS];
	struct bench_runs runs = { 0 };
	int ret;

	if (threads > MOST_THREADS)
		return bench_bad(-EINVAL, "%u threads are too many", threads);
	for (unsigned int i = 0; i < threads; i++) {
		runners[i] = (struct runner){
			.packet = *packet, .number = i, .repeat = repeat, .prog = prog
		};
		runners[i].packet.list = i;
	}
	ret = threads == 1 ? run(&runners[0]) : run_threads(runners, threads);
	if (ret && bench_interrupted())
		return -EINTR;
	if (ret)
		return bench_fail(ret, "cannot run the measured program");
	for (unsigned int i = 0; i < threads; i++) {
		runs.mean_ns += runners[i].ns / threads;
		if (runners[i].ns > runs.longest_ns)
			runs.longest_ns = runners[i].ns;
	}
	*out = runs;
	return 0;
}
