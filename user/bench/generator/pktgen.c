// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's pktgen as a source, by its files in /proc/net/pktgen, which are of this network
 * namespace. Each range of each queue of each port is an entry "DEVICE@QUEUE.RANGE", on the thread
 * of one CPU.
 *
 * What pktgen cannot do (net/core/pktgen.c; seen to be so in Linux 6.1 and 6.12)
 * - An IPv6 destination is (random | dst6_min) & dst6_max: exactly what a range is, but an entry
 *   has only one, so that destinations are at random under as many prefixes as there are entries.
 *   An entry takes 1.5 MB of the kernel's memory, hence RANGES and MOST_ENTRIES.
 * - The source is one address, the hop limit 32, the transport UDP. 16 bytes behind that header
 *   are its own: no frame is smaller than 82 bytes with FCS.
 * - Entries of a thread take turns by the times of their next frames. Without a delay these stand
 *   still, and the first entry would be served alone: FULL_SPEED_NS is as good as none.
 * - With a rate the entries of one thread send right after one another, then all wait.
 * - A frame's own stamp is taken before it waits for its turn: no measure of latency.
 */
#include "generator.h"
#include "pktgen_proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define RANGES 16u
#define MOST_ENTRIES 512u /* 768 MB of the kernel's memory */
#define FULL_SPEED_NS 20u
/* A delay of 0x7fffffff means "never", and a slow entry would be too late for a short run. */
#define MOST_DELAY_NS 1000000000ull
#define BURST 8u
#define PORT_FIRST 1024u
#define PORT_LAST 65535u
#define POLL_NS 5000000
#define STOP_POLLS 100u
/* A thread looks for orders ten times a second, on a busy machine more seldom. */
#define THREADS_NS 5000000000ull

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* the kernel's own, which escapes here */
#endif

/* --- setting up ----------------------------------------------------------------------------- */

struct share {
	uint64_t count; /* 0: no end */
	uint64_t delay_ns;
	unsigned int burst;
};

struct plan {
	const struct generator_traffic *traffic;
	size_t ranges;	/* of a queue */
	size_t entries; /* of all ports */
	bool bursts, refused_bursts;
};

static void entry_name(const struct generator_port *port, unsigned int queue, size_t range,
		       char name[PKTGEN_NAME])
{
	snprintf(name, PKTGEN_NAME, "%s@%u.%u", port->name, queue, (unsigned int)range);
}

static size_t count_queues(const struct generator_traffic *traffic)
{
	size_t n = 0;

	for (size_t i = 0; i < traffic->n_ports; i++)
		n += traffic->ports[i].queues;
	return n;
}

static void make_plan(const struct generator_traffic *traffic, struct plan *plan)
{
	size_t queues = count_queues(traffic);

	*plan = (struct plan){ .traffic = traffic };
	plan->ranges = traffic->n_ranges < RANGES ? traffic->n_ranges : RANGES;
	while (plan->ranges > 1 &&
	       (plan->ranges * queues > MOST_ENTRIES ||
		(traffic->rate_pps > 0 &&
		 (double)(plan->ranges * queues) * 1e9 / traffic->rate_pps > MOST_DELAY_NS)))
		plan->ranges--;
	plan->entries = plan->ranges * queues;
	/* A burst is one packet several times: only where that is what was asked for. */
	plan->bursts =
		traffic->pattern == GENERATOR_FLOW && !traffic->count && traffic->rate_pps <= 0;
}

/* Of the entry with this number of all. */
static struct share share_of(const struct plan *plan, size_t number)
{
	const struct generator_traffic *traffic = plan->traffic;
	size_t each_thread = (plan->entries + bench_n_cpus() - 1) / bench_n_cpus();
	struct share share = { .burst = plan->bursts ? BURST : 1 };

	share.count = traffic->count / plan->entries + (number < traffic->count % plan->entries);
	share.delay_ns = traffic->rate_pps > 0
				 ? (uint64_t)((double)plan->entries * 1e9 / traffic->rate_pps + .5)
				 : FULL_SPEED_NS * each_thread;
	return share;
}

static int set_addresses(const char *entry, const struct generator_traffic *traffic,
			 const struct generator_range *range)
{
	char src[INET6_ADDRSTRLEN], low[INET6_ADDRSTRLEN], high[INET6_ADDRSTRLEN];
	union sixlane_addr from = range->low;

	/* pktgen takes :: for no range at all; its last bit is then lost */
	if (!from.halves[0] && !from.halves[1])
		from.bytes[15] = 1;
	inet_ntop(AF_INET6, &traffic->src, src, sizeof(src));
	inet_ntop(AF_INET6, &from, low, sizeof(low));
	inet_ntop(AF_INET6, &range->high, high, sizeof(high));
	return pktgen_order(entry, "src6 %s", src) ?: pktgen_order(entry, "dst6_min %s", low)
			       ?: pktgen_order(entry, "dst6_max %s", high);
}

/* One flow is one source port; all else goes by all ports, so that hashes spread it. */
static int set_ports(const char *entry, bool spread)
{
	unsigned int last = spread ? PORT_LAST : PORT_FIRST;
	int ret = pktgen_order(entry, "udp_src_min %u", PORT_FIRST)
			  ?: pktgen_order(entry, "udp_src_max %u", last);

	return ret ?: (spread ? pktgen_order_flag(entry, "UDPSRC_RND") : 0);
}

/* Drivers that change what they send take no packet twice. */
static int set_burst(struct plan *plan, const char *entry, unsigned int burst)
{
	char text[32];
	int ret;

	if (burst <= 1 || plan->refused_bursts)
		return 0;
	snprintf(text, sizeof(text), "burst %u", burst);
	ret = pktgen_write(entry, text);
	if (ret == -ENOTSUPP || ret == -EOPNOTSUPP) {
		plan->refused_bursts = true;
		return 0;
	}
	return ret ? pktgen_refused(ret, entry, text) : pktgen_order(entry, "clone_skb %u", 1000u);
}

static int set_entry(struct plan *plan, size_t port, unsigned int queue, size_t range,
		     size_t number)
{
	const struct generator_traffic *traffic = plan->traffic;
	const uint8_t *mac = traffic->dst_macs[port];
	struct share share = share_of(plan, number);
	char thread[PKTGEN_NAME], name[PKTGEN_NAME];
	int ret;

	/* pktgen takes no frames to send for "without end" */
	if (traffic->count && !share.count)
		return 0;
	/* Each queue has ranges of its own, as long as there are any. */
	entry_name(&traffic->ports[port], queue, range, name);
	pktgen_thread_name(queue, thread);
	ret = pktgen_order(thread, "add_device %s", name);
	if (ret)
		return ret;
	ret = pktgen_order(name, "count %llu", (unsigned long long)share.count)
		      ?: pktgen_order(name, "delay %llu", (unsigned long long)share.delay_ns)
		      ?: pktgen_order(name, "pkt_size %u", traffic->frame_bytes - GENERATOR_FCS_BYTES)
		      ?: pktgen_order(name, "dst_mac %02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			       mac[2], mac[3], mac[4], mac[5])
		      ?: pktgen_order(name, "queue_map_min %u", queue)
		      ?: pktgen_order(name, "queue_map_max %u", queue)
		      ?: pktgen_order_flag(name, "UDPCSUM") ?: pktgen_order_flag(name, "NO_TIMESTAMP");
	return ret ?: set_addresses(name, traffic, &traffic->ranges[number % traffic->n_ranges])
			      ?: set_ports(name, traffic->pattern != GENERATOR_FLOW)
			      ?: set_burst(plan, name, share.burst);
}

static int set_up(struct plan *plan)
{
	size_t number = 0;
	int ret = 0;

	for (size_t port = 0; port < plan->traffic->n_ports && !ret; port++)
		for (unsigned int queue = 0; queue < plan->traffic->ports[port].queues; queue++)
			for (size_t range = 0; range < plan->ranges && !ret; range++)
				ret = set_entry(plan, port, queue, range, number++);
	return ret;
}

/* --- running -------------------------------------------------------------------------------- */

struct start {
	pthread_t thread;
	int ret;
	bool is_over; /* atomic */
};

/* The kernel comes back when all entries are done, or are stopped. */
static void *run_start(void *arg)
{
	struct start *start = arg;

	start->ret = pktgen_write("pgctrl", "start");
	__atomic_store_n(&start->is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_over(const struct start *start)
{
	return __atomic_load_n(&start->is_over, __ATOMIC_ACQUIRE);
}

/* Its last result, as opposed to that of the last order. */
static bool is_final(const char *text)
{
	unsigned long long all, busy;

	return sscanf(pktgen_behind(text, "Result: "), "OK: %llu(c%llu", &all, &busy) == 2;
}

/* Those that are there: not all have frames to send. */
static bool all_final(const struct plan *plan)
{
	char name[PKTGEN_NAME], text[4096];

	for (size_t i = 0; i < plan->traffic->n_ports; i++) {
		const struct generator_port *port = &plan->traffic->ports[i];

		for (unsigned int queue = 0; queue < port->queues; queue++)
			for (size_t range = 0; range < plan->ranges; range++) {
				entry_name(port, queue, range, name);
				if (!pktgen_read(name, text, sizeof(text)) && !is_final(text))
					return false;
			}
	}
	return true;
}

static bool any_running(void)
{
	char entry[PKTGEN_NAME];

	return pktgen_find_entry("Running:", entry);
}

/*
 * The kernel comes back early if a thread takes more than an eighth of a second to begin: it then
 * looks like one that has ended.
 */
static void wait_for_end(const struct plan *plan, const struct start *start, bool (*unwanted)(void))
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t begun = util_now_ns(), started = 0, busy = begun, ns = plan->traffic->ns;
	char entry[PKTGEN_NAME];

	while (!unwanted() && !(is_over(start) && all_final(plan))) {
		uint64_t now = util_now_ns();

		/* some do not start at all, without a carrier: then time runs nevertheless */
		if (!plan->traffic->count && !started &&
		    (!pktgen_find_entry("Stopped:", entry) || now - begun > THREADS_NS))
			started = now;
		if (!is_over(start) || any_running())
			busy = now;
		if ((started && now - started >= ns) || now - busy > THREADS_NS)
			break;
		nanosleep(&pause, NULL);
	}
}

static int run(const struct plan *plan, bool (*unwanted)(void))
{
	struct start start = { 0 };
	int ret = pthread_create(&start.thread, NULL, run_start, &start);

	if (ret)
		return bench_fail(-ret, "a thread to start pktgen");
	wait_for_end(plan, &start, unwanted);
	/* A thread that sees both orders at once stops first, and then starts. */
	for (unsigned int poll = 0; !is_over(&start) || any_running(); poll++) {
		const struct timespec pause = { .tv_nsec = POLL_NS };

		if (poll % STOP_POLLS == 0)
			pktgen_write("pgctrl", "stop");
		nanosleep(&pause, NULL);
	}
	pthread_join(start.thread, NULL);
	return start.ret && start.ret != -EINTR ? bench_fail(start.ret, "pktgen does not start")
						: 0;
}

/* --- results -------------------------------------------------------------------------------- */

struct times {
	uint64_t first_us, last_us;
};

static int collect_entry(const struct generator_port *port, const char *entry, unsigned int queue,
			 size_t index, struct times *times, struct generator_sent *out)
{
	unsigned long long frames, errors, started, stopped;
	char text[4096];
	int ret = pktgen_read(entry, text, sizeof(text));

	if (ret == -ENOENT) /* it had no frames to send */
		return 0;
	if (ret)
		return bench_fail(ret, PKTGEN_DIR "/%s", entry);
	if (sscanf(pktgen_behind(text, "pkts-sofar:"), " %llu errors: %llu", &frames, &errors) !=
		    2 ||
	    sscanf(pktgen_behind(text, "started:"), " %lluus stopped: %lluus", &started,
		   &stopped) != 2)
		return bench_bad(-EPROTO, PKTGEN_DIR "/%s: this version of pktgen is not supported",
				 entry);
	if (!is_final(text)) /* it was to end before it began */
		frames = errors = started = stopped = 0;
	if (!frames)
		snprintf(out->note, sizeof(out->note), "%s sent nothing by queue %u", port->name,
			 queue);
	out->ports[index].frames += frames;
	out->ports[index].queues[queue < SINK_QUEUES ? queue : SINK_QUEUES - 1] += frames;
	out->errors += errors;
	if (stopped > started)
		out->pps += (double)frames * 1e6 / (double)(stopped - started);
	if (started && (!times->first_us || started < times->first_us))
		times->first_us = started;
	if (stopped > times->last_us)
		times->last_us = stopped;
	return 0;
}

static int collect(const struct plan *plan, struct generator_sent *out)
{
	struct times times = { 0 };
	char name[PKTGEN_NAME];
	int ret = 0;

	for (size_t i = 0; i < plan->traffic->n_ports && !ret; i++) {
		const struct generator_port *port = &plan->traffic->ports[i];

		for (unsigned int queue = 0; queue < port->queues; queue++)
			for (size_t range = 0; range < plan->ranges && !ret; range++) {
				entry_name(port, queue, range, name);
				ret = collect_entry(port, name, queue, i, &times, out);
			}
	}
	out->elapsed_ns = (times.last_us - times.first_us) * 1000;
	return ret;
}

static int pktgen_send(const struct generator_traffic *traffic, bool (*unwanted)(void),
		       struct generator_sent *out)
{
	struct generator_sent sent = { 0 };
	struct plan plan;
	int ret;

	make_plan(traffic, &plan);
	sent.ranges = plan.entries < traffic->n_ranges ? plan.entries : traffic->n_ranges;
	ret = set_up(&plan) ?: run(&plan, unwanted) ?: collect(&plan, &sent);
	sent.burst = plan.bursts && !plan.refused_bursts ? BURST : 1;
	if (plan.refused_bursts)
		snprintf(sent.note, sizeof(sent.note),
			 "the driver takes no bursts of pktgen: frames go one by one");
	pktgen_remove_entries();
	if (!ret)
		*out = sent;
	return ret;
}

/* What its ports can do it finds out as it goes. */
static int pktgen_open(const struct generator_port *ports, size_t n)
{
	(void)ports;
	(void)n;
	return pktgen_check();
}

const struct generator_source generator_pktgen = {
	.name = "pktgen",
	.least_frame_bytes = 82,
	.hop_limit = 32,
	.queue_ranges = RANGES,
	.takes = { [GENERATOR_RANDOM] = true, [GENERATOR_FLOW] = true, [GENERATOR_MISS] = true },
	.refuses = "pktgen sends UDP only",
	.open = pktgen_open,
	.send = pktgen_send,
	.close = pktgen_remove_entries,
};
