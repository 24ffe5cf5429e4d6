// SPDX-License-Identifier: GPL-2.0-only
/*
 * One run of one engine: what it took, and that every packet went where it should by whom it
 * should. Else the figures would be of something else, and the run is an error.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include <bpf/libbpf.h>

#include "../progress.h"
#include "forward.h"
#include "forward_side.h"
#include "forward_socket.h"

/* What is under way when the last packet has been made, also where all is emulated. */
#define ARRIVE_NS 3000000000ull

struct run {
	struct forward_router *router;
	struct forward_source *source;
	const struct forward_run *asked;
	struct gen_result *results;
};

/* What is counted, by whom, since ever. */
struct counts {
	struct flood_sink sink;
	uint64_t forwarded, no_route; /* sixlane's verdicts */
	/* One checksum in 65,536 looks like one that was left to the device. */
	uint64_t checksum;
	uint64_t passed; /* by fib and bare */
	uint64_t missed; /* by the stack: no route */
};

/* --- counts --------------------------------------------------------------------------------- */

static int read_counts(const struct run *run, struct counts *out)
{
	const struct forward_router *router = run->router;
	struct sixlane_counters counters;
	int ret;

	*out = (struct counts){ 0 };
	ret = maps_counters(&router->daemon.maps, router->slot, &counters);
	if (ret)
		return bench_fail(ret, "sixlane's counters");
	out->forwarded = counters.verdicts[SIXLANE_FORWARD].packets;
	out->checksum = counters.verdicts[SIXLANE_PASS_CHECKSUM].packets;
	out->no_route = counters.verdicts[SIXLANE_PASS_NO_ROUTE].packets;
	return sink_read(&router->sink, &out->sink)
		       ?: forward_sides_passed(router->sides, &out->passed)
		       ?: forward_net_counter(FORWARD_NO_ROUTES, &out->missed);
}

static void subtract(struct counts *counts, const struct counts *before)
{
	counts->sink.packets -= before->sink.packets;
	counts->sink.wrong -= before->sink.wrong;
	counts->forwarded -= before->forwarded;
	counts->checksum -= before->checksum;
	counts->no_route -= before->no_route;
	counts->passed -= before->passed;
	counts->missed -= before->missed;
}

static bool is_miss(const struct run *run)
{
	return run->asked->pattern->kind == FORWARD_MISS;
}

static uint64_t sent_in_all(const struct run *run)
{
	uint64_t sent = 0;

	for (uint32_t i = 0; i < run->source->threads; i++)
		sent += run->results[i].sent;
	return sent;
}

/* Since before, when all has arrived, or does not. */
static int settle(const struct run *run, const struct counts *before, struct counts *out)
{
	uint64_t sent = sent_in_all(run), deadline = util_now_ns() + ARRIVE_NS;
	int ret;

	for (;;) {
		ret = read_counts(run, out);
		if (ret)
			return ret;
		subtract(out, before);
		if ((is_miss(run) ? out->missed : out->sink.packets) >= sent ||
		    util_now_ns() > deadline)
			return 0;
		poll(NULL, 0, 1);
	}
}

/* --- checks --------------------------------------------------------------------------------- */

typedef unsigned long long ull;

/* Many times as many as chance makes: one in 65,536. */
#define ALIKE_ONE_IN 8192
#define ALIKE_AT_MOST 8

static int complain(const struct run *run, const char *what, uint64_t is, uint64_t sent)
{
	char pattern[32];

	forward_pattern_name(run->asked->pattern, pattern, sizeof(pattern));
	return bench_bad(-EPROTO,
			 "%s, table %s, %s, %u bytes, %u threads: of %llu packets %llu %s: the "
			 "time of such a run would mean nothing",
			 run->asked->engine->name, run->router->table->name, pattern,
			 run->source->size, run->source->threads, (ull)sent, (ull)is, what);
}

static int check_delivered(const struct run *run, const struct counts *counts)
{
	const struct forward_engine *engine = run->asked->engine;
	uint64_t sent = sent_in_all(run);

	if (counts->sink.packets != sent)
		return complain(run, "were delivered", counts->sink.packets, sent);
	if (counts->sink.wrong)
		return complain(run, "had a wrong hop limit", counts->sink.wrong, sent);
	if (engine->is_sixlane && (counts->forwarded + counts->checksum != sent ||
				   counts->checksum > ALIKE_AT_MOST + sent / ALIKE_ONE_IN))
		return complain(run, "were forwarded in XDP", counts->forwarded, sent);
	if (!engine->is_sixlane && counts->forwarded)
		return complain(run, "were forwarded by sixlane", counts->forwarded, sent);
	if (engine->counts_passed && counts->passed)
		return complain(run, "were left to the kernel", counts->passed, sent);
	return 0;
}

/* The stack counts other packets without a route as well. */
static int check_missed(const struct run *run, const struct counts *counts)
{
	const struct forward_engine *engine = run->asked->engine;
	uint64_t sent = sent_in_all(run);

	if (counts->sink.packets)
		return complain(run, "were delivered", counts->sink.packets, sent);
	if (engine->is_sixlane && counts->no_route != sent)
		return complain(run, "had the verdict pass_no_route", counts->no_route, sent);
	if (engine->counts_passed && counts->passed != sent)
		return complain(run, "were passed", counts->passed, sent);
	if (counts->missed < sent)
		return complain(run, "had no route in the stack", counts->missed, sent);
	return 0;
}

/* --- figures -------------------------------------------------------------------------------- */

static int take_times(const struct run *run, struct forward_figures *out)
{
	uint32_t threads = run->source->threads;

	out->ns = out->mpps = 0;
	for (uint32_t i = 0; i < threads; i++) {
		const struct gen_result *result = &run->results[i];

		if (!result->timed || !result->timed_ns)
			return complain(run, "were timed", result->timed, result->sent);
		out->ns += (double)result->timed_ns / (double)result->timed / threads;
		out->mpps += 1e3 * (double)result->timed / (double)result->timed_ns;
	}
	return 0;
}

static int take_latencies(const struct run *run, const uint64_t *before,
			  struct forward_figures *out)
{
	uint64_t counts[LATENCY_BUCKETS] = { 0 }, n;
	int ret = latency_read(run->router->sink.latencies_fd, counts);

	if (ret)
		return ret;
	for (uint32_t bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
		counts[bucket] -= before[bucket];
	n = latency_count(counts);
	if (n != sent_in_all(run))
		return complain(run, "had the time of sending in them", n, sent_in_all(run));
	out->p50 = latency_percentile(counts, 50);
	out->p99 = latency_percentile(counts, 99);
	return 0;
}

/* --- the run -------------------------------------------------------------------------------- */

static int send_packets(struct run *run, uint32_t count, bool stamped)
{
	const struct gen_run gen = {
		.ingress = run->router->net.p0,
		.count = count,
		.stamped = stamped,
		.one_port = run->asked->pattern->kind == FORWARD_FLOW,
	};
	int ret = run->source->gen ? gen_run(run->source->gen, &gen, run->results)
				   : forward_sockets_run(run->source->sockets,
							 run->asked->addresses, &gen, run->results);

	return ret ?: bench_interrupted() ? -EINTR : 0;
}

static int send_checked(struct run *run, uint32_t count, bool stamped)
{
	struct counts before, counts;
	int ret;

	ret = read_counts(run, &before) ?: send_packets(run, count, stamped)
						   ?: settle(run, &before, &counts);
	if (ret)
		return ret;
	return is_miss(run) ? check_missed(run, &counts) : check_delivered(run, &counts);
}

/* The kernel has a flow of each CPU's packets in its flowtable, once each was answered. */
static int begin_flows(struct run *run)
{
	uint64_t deadline_ns = util_now_ns() + ARRIVE_NS;
	struct counts before, counts;
	int ret = 0;

	for (;;) {
		ret = read_counts(run, &before) ?: send_packets(run, FORWARD_COUNT_MIN, false)
							   ?: settle(run, &before, &counts);
		if (ret || counts.forwarded + counts.checksum >= sent_in_all(run))
			return ret;
		if (util_now_ns() > deadline_ns)
			return complain(run, "were forwarded in XDP", counts.forwarded,
					sent_in_all(run));
		for (uint32_t i = 0; i < run->source->threads && !ret; i++)
			ret = forward_rules_answer(&run->router->net,
						   &run->asked->addresses[i * GEN_TARGETS]);
	}
}

/* So that its packets go into the program of the engine. */
static int put_engine(const struct run *run)
{
	int prog_fd = forward_router_choose(run->router, run->asked->engine), ret;

	if (prog_fd < 0)
		return prog_fd;
	if (run->source->gen)
		return gen_aim(run->source->gen, run->asked->addresses)
			       ?: gen_into(run->source->gen, prog_fd);
	if (run->router->attached)
		return 0;
	ret = bpf_xdp_attach((int)run->router->net.p0, prog_fd, XDP_FLAGS_DRV_MODE, NULL);
	return ret ? bench_fail(ret, "attaching %s", run->asked->engine->name) : 0;
}

static int run_stamped(struct run *run, struct forward_figures *out)
{
	uint64_t before[LATENCY_BUCKETS] = { 0 };

	return latency_read(run->router->sink.latencies_fd, before)
		       ?: send_checked(run, run->asked->count, true)
		       ?: take_latencies(run, before, out);
}

static int run_checked(struct run *run, struct forward_figures *out)
{
	const struct forward_run *asked = run->asked;
	uint32_t warm = asked->count < GEN_TARGETS ? asked->count : GEN_TARGETS;
	int ret;

	/* All targets once first, or an engine would pay for what the one before left in the
	 * caches.
	 */
	ret = put_engine(run);
	if (!ret && asked->engine->rules == FORWARD_FLOWTABLE)
		ret = begin_flows(run);
	ret = ret ?: send_checked(run, warm, false);
	if (ret)
		return ret;
	if (asked->stamped)
		return run_stamped(run, out);
	return send_checked(run, asked->count, false) ?: take_times(run, out);
}

int forward_run(struct forward_router *router, struct forward_source *source,
		const struct forward_run *asked, struct forward_figures *out)
{
	struct run run = { .router = router, .source = source, .asked = asked };
	int ret;

	run.results = calloc(source->threads, sizeof(*run.results));
	if (!run.results)
		return bench_fail(-ENOMEM, "bench");
	ret = run_checked(&run, out);
	free(run.results);
	return ret;
}

int forward_on_one_cpu(int (*measure)(void *ctx), void *ctx)
{
	int nice = getpriority(PRIO_PROCESS, 0), ret;

	if (gen_pin_cpu(-1) < 0)
		return bench_bad(-EINVAL, "cannot stay on one CPU");
	ret = measure(ctx);
	setpriority(PRIO_PROCESS, 0, nice);
	bench_unpin();
	return ret;
}
