// SPDX-License-Identifier: GPL-2.0-only
/* One run of the generator: its destinations, the counters on both sides, what came of it. */
#include "generator.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "../../cli/print.h"
#include "../machine.h"

/* Who asks more may be a mistake; a queue takes as many as its source does. */
#define MOST_RANGES 8192u
/* What is under way when the last frame has left: until no more came for two seconds (RFC 2544,
 * 23), which are little time for an emulated machine on a busy one. */
#define QUIET_NS 2000000000ull
#define QUIET_EMULATED_NS 20000000000ull
#define DRAIN_NS 60000000000ull
#define POLL_NS 20000000
#define CARRIER_NS 10000000000ull

/* --- destinations --------------------------------------------------------------------------- */

/* The table of the last run, which is most often that of this one as well. */
static int table_get(const char *path, const struct bench_table **out)
{
	static struct bench_table table;
	static struct stat known;
	static char known_path[4096];
	struct stat now;
	int ret;

	if (stat(path, &now))
		return bench_fail(-errno, "%s", path);
	if (strcmp(path, known_path) != 0 ||
	    memcmp(&now.st_mtim, &known.st_mtim, sizeof(now.st_mtim)) ||
	    now.st_ino != known.st_ino || now.st_size != known.st_size) {
		bench_table_free(&table);
		*known_path = '\0';
		ret = bench_table_file(path, 1, &table);
		if (ret)
			return ret;
		known = now;
		snprintf(known_path, sizeof(known_path), "%s", path);
	}
	*out = &table;
	return 0;
}

static int draw_ranges(const struct generator *generator, struct generator_request *request,
		       struct generator_range *ranges)
{
	const struct bench_table *table = NULL;
	size_t n = 0;
	int ret = table_get(request->prefixes, &table);

	for (size_t i = 0; i < generator->n_tx; i++)
		n += (size_t)generator->tx[i].queues * generator->source->queue_ranges;
	if (n > MOST_RANGES)
		n = MOST_RANGES;
	ret = ret
		      ?: generator_ranges(table, request->traffic.pattern, request->traffic.seed,
					  ranges, &n);
	request->traffic.ranges = ranges;
	request->traffic.n_ranges = n;
	return ret;
}

/* --- the receiving side --------------------------------------------------------------------- */

struct arrived {
	struct generator_arrived ports[GENERATOR_MOST_PORTS];
	struct sink_count total;
};

static int read_sinks(const struct generator *generator, struct arrived *out)
{
	int ret = 0;

	memset(&out->total, 0, sizeof(out->total));
	for (size_t i = 0; i < generator->n_rx && !ret; i++) {
		const struct sink_count *count = &out->ports[i].total;

		ret = generator_sink_read(generator->sinks[i], &out->ports[i]);
		out->total.packets += count->packets;
		out->total.bytes += count->bytes;
		out->total.wrong_hop_limit += count->wrong_hop_limit;
		out->total.probes += count->probes;
	}
	return ret;
}

static int begin_sinks(const struct generator *generator, const struct generator_request *request)
{
	uint8_t hop_limit = (uint8_t)(generator->source->hop_limit - request->hops);
	bool any_host = request->traffic.pattern == GENERATOR_SYN;
	int ret = 0;

	for (size_t i = 0; i < generator->n_rx && !ret; i++)
		ret = generator_sink_begin(generator->sinks[i], &request->traffic.src, any_host,
					   hop_limit);
	return ret;
}

static bool is_emulated(void)
{
	struct bench_machine machine;

	bench_machine_read(&machine);
	return machine.is_emulated;
}

/* Until all is there, probes too, or nothing more comes. */
static int drain_sinks(const struct generator *generator, uint64_t sent, struct arrived *out)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t quiet_ns = is_emulated() ? QUIET_EMULATED_NS : QUIET_NS;
	uint64_t begun = util_now_ns(), rose = begun, now = begun, last = 0, seen = 0;
	int ret = read_sinks(generator, out);

	while (!ret && generator->n_rx && seen < sent && now - rose < quiet_ns &&
	       now - begun < DRAIN_NS) {
		nanosleep(&pause, NULL);
		now = util_now_ns();
		last = seen;
		ret = read_sinks(generator, out);
		seen = out->total.packets + out->total.probes;
		if (seen != last)
			rose = now;
	}
	return ret;
}

/* --- what came of it ------------------------------------------------------------------------ */

static uint64_t count_sent(const struct generator *generator, const struct generator_sent *sent)
{
	uint64_t frames = 0;

	for (size_t i = 0; i < generator->n_tx; i++)
		frames += sent->ports[i].frames;
	return frames;
}

static void add_error(json_t *errors, const char *fmt, ...) _printf_(2, 3);
static void add_error(json_t *errors, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print_append(errors, json_string(text));
}

/* Whatever makes the counts worth less than they look. */
static json_t *list_errors(const struct generator *generator,
			   const struct generator_request *request,
			   const struct generator_sent *sent, const struct arrived *arrived)
{
	const struct generator_traffic *traffic = &request->traffic;
	uint64_t frames = count_sent(generator, sent), got = arrived->total.packets;
	uint64_t bytes = traffic->frame_bytes - GENERATOR_FCS_BYTES;
	json_t *errors = json_array();

	if (sent->errors)
		add_error(errors, "drivers refused %llu frames", (unsigned long long)sent->errors);
	if (traffic->count && frames != traffic->count)
		add_error(errors, "%llu of %llu frames were sent", (unsigned long long)frames,
			  (unsigned long long)traffic->count);
	if (got > frames)
		add_error(
			errors,
			"more frames arrived (%llu) than were sent (%llu): twice, or late ones of "
			"the run before",
			(unsigned long long)got, (unsigned long long)frames);
	if (arrived->total.wrong_hop_limit)
		add_error(errors, "%llu frames arrived with another hop limit than %u",
			  (unsigned long long)arrived->total.wrong_hop_limit,
			  generator->source->hop_limit - request->hops);
	if (arrived->total.bytes != got * bytes)
		add_error(errors,
			  "frames of another size arrived: %llu bytes in %llu frames of %llu",
			  (unsigned long long)arrived->total.bytes, (unsigned long long)got,
			  (unsigned long long)bytes);
	return errors;
}

static json_t *list_queues(const uint64_t queues[SINK_QUEUES], unsigned int n)
{
	json_t *list = json_array();

	for (unsigned int i = n; i < SINK_QUEUES; i++)
		if (queues[i])
			n = i + 1;
	for (unsigned int i = 0; i < n && i < SINK_QUEUES; i++)
		print_append(list, json_integer((json_int_t)queues[i]));
	return list;
}

static json_t *list_ports(const struct generator *generator, const struct generator_sent *sent,
			  const struct arrived *arrived)
{
	json_t *tx = json_array(), *rx = json_array(), *ports = json_object();

	for (size_t i = 0; i < generator->n_tx; i++) {
		json_t *row = json_object();

		print_set(row, "name", json_string(generator->tx[i].name));
		print_set(row, "sent", json_integer((json_int_t)sent->ports[i].frames));
		print_set(row, "queues",
			  list_queues(sent->ports[i].queues, generator->tx[i].queues));
		print_append(tx, row);
	}
	for (size_t i = 0; i < generator->n_rx; i++) {
		const struct sink_count *count = &arrived->ports[i].total;
		bool generic = generator_sink_is_generic(generator->sinks[i]);
		json_t *row = json_object();

		print_set(row, "name", json_string(generator->rx[i].name));
		print_set(row, "mode", json_string(generic ? "generic" : "native"));
		print_set(row, "received", json_integer((json_int_t)count->packets));
		print_set(row, "bytes", json_integer((json_int_t)count->bytes));
		print_set(row, "wrong_hop_limit", json_integer((json_int_t)count->wrong_hop_limit));
		print_set(row, "queues",
			  list_queues(arrived->ports[i].queues, generator->rx[i].queues));
		print_append(rx, row);
	}
	print_set(ports, "tx", tx);
	print_set(ports, "rx", rx);
	return ports;
}

/* null: not one probe arrived. */
static json_t *show_latency(const uint64_t counts[LATENCY_BUCKETS], uint64_t probes)
{
	static const struct {
		const char *name;
		unsigned int percent;
	} percentiles[] = {
		{ "min", 0 }, { "p50", 50 }, { "p90", 90 }, { "p99", 99 }, { "max", 100 }
	};
	uint64_t n = latency_count(counts);
	json_t *latency;

	if (!n)
		return json_null();
	latency = json_object();
	print_set(latency, "sent", json_integer((json_int_t)probes));
	print_set(latency, "n", json_integer((json_int_t)n));
	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++)
		print_set(latency, percentiles[i].name,
			  json_real(latency_percentile(counts, percentiles[i].percent)));
	print_set(latency, "how", json_string("from a packet socket to XDP, one machine's clock"));
	return latency;
}

static json_t *show(const struct generator *generator, const struct generator_request *request,
		    const struct generator_sent *sent, const struct arrived *arrived)
{
	json_t *reply = json_object();
	uint64_t frames = count_sent(generator, sent), received = arrived->total.packets;

	print_set(reply, "sent", json_integer((json_int_t)frames));
	print_set(reply, "received",
		  generator->n_rx ? json_integer((json_int_t)received) : json_null());
	print_set(reply, "elapsed_ns", json_integer((json_int_t)sent->elapsed_ns));
	print_set(reply, "offered_pps", json_real(sent->pps));
	print_set(reply, "burst", json_integer(sent->burst));
	print_set(reply, "prefixes_used", json_integer((json_int_t)sent->ranges));
	print_set(reply, "note", *sent->note ? json_string(sent->note) : json_null());
	print_set(reply, "errors", list_errors(generator, request, sent, arrived));
	print_set(reply, "per_port", list_ports(generator, sent, arrived));
	return reply;
}

/* --- the run -------------------------------------------------------------------------------- */

/* They may have changed since the last run: queues, MAC, MTU. And many NICs lose their carrier for
 * seconds when an XDP program is attached to them. */
static int check_port(struct generator_port *port)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t begun = util_now_ns();
	int ret = generator_port_open(port->name, port);

	while (!ret && port->is_up && !port->has_carrier && util_now_ns() - begun < CARRIER_NS) {
		nanosleep(&pause, NULL);
		ret = generator_port_open(port->name, port);
	}
	if (ret || (port->is_up && port->has_carrier))
		return ret;
	return bench_bad(-ENETDOWN, "%s %s: `ip link set %s up`, and the same of its other end",
			 port->name, port->is_up ? "has no carrier" : "is down", port->name);
}

static int check_ports(struct generator *generator)
{
	int ret = 0;

	for (size_t i = 0; i < generator->n_tx && !ret; i++)
		ret = check_port(&generator->tx[i]);
	for (size_t i = 0; i < generator->n_rx && !ret; i++)
		ret = check_port(&generator->rx[i]);
	return ret;
}

struct run {
	struct generator_range ranges[MOST_RANGES];
	struct generator_sent sent;
	struct arrived arrived;
	uint64_t probes;
	uint64_t latencies[LATENCY_BUCKETS]; /* of those that arrived */
};

static int read_latencies(const struct generator *generator, struct run *run)
{
	int ret = 0;

	for (size_t i = 0; i < generator->n_rx && !ret; i++)
		ret = generator_sink_latencies(generator->sinks[i], run->latencies);
	return ret;
}

static int send_and_count(struct generator *generator, struct generator_request *request,
			  bool (*is_over)(void), struct run *run)
{
	const struct generator_source *source = generator->source;
	struct generator_traffic *traffic = &request->traffic;
	struct generator_probes *probes = NULL;
	int ret;

	traffic->ports = generator->tx;
	traffic->n_ports = generator->n_tx;
	traffic->dst_macs = (const uint8_t(*)[6])request->dst_macs;
	ret = check_ports(generator) ?: draw_ranges(generator, request, run->ranges)
			      ?: begin_sinks(generator, request);
	if (!ret && request->latency)
		ret = generator_probes_begin(traffic, source->hop_limit, &probes);
	ret = ret ?: source->send(traffic, is_over, &run->sent);
	if (probes)
		generator_probes_end(probes, &run->probes);
	return ret
		       ?: drain_sinks(generator, count_sent(generator, &run->sent) + run->probes,
				      &run->arrived)
		       ?: read_latencies(generator, run);
}

json_t *generator_run(struct generator *generator, struct generator_request *request,
		      bool (*is_over)(void))
{
	struct run *run = calloc(1, sizeof(*run));
	json_t *reply = NULL;

	if (!run) {
		bench_fail(-ENOMEM, "a run");
		return NULL;
	}
	if (!send_and_count(generator, request, is_over, run)) {
		reply = show(generator, request, &run->sent, &run->arrived);
		print_set(reply, "latency_ns",
			  request->latency ? show_latency(run->latencies, run->probes)
					   : json_null());
	}
	free(run);
	return reply;
}
