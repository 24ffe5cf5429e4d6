// SPDX-License-Identifier: GPL-2.0-only
/* One trial: counters, the generator's run, counters, and whether they add up. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../print.h"
#include "nic.h"

/* What is under way is counted until no more comes (RFC 2544, section 23: two seconds), and the
 * generator may wait for links. */
#define ANSWER_S 180.0
#define STOP_S 120.0

/* --- counters ------------------------------------------------------------------------------- */

static int read_verdicts(const struct nic_bench *bench, struct nic_port *port)
{
	const struct maps *maps = &bench->daemon.maps;
	uint32_t slot = maps_port_slot(maps, if_nametoindex(port->name));
	struct sixlane_counters counters;
	int ret;

	if (!slot)
		return 0;
	ret = maps_counters(maps, slot, &counters);
	for (size_t v = 0; v < SIXLANE_N_VERDICTS && !ret; v++)
		port->counts.verdicts[v] = counters.verdicts[v].packets;
	return ret ? bench_fail(ret, "cannot read sixlane's counters") : 0;
}

static bool is_of(const struct nic_run *run, const struct nic_port *port, const char *name)
{
	if (!strcmp(port->name, name))
		return true;
	return port->bond >= 0 && !strcmp(run->ports[port->bond].name, name);
}

static int count(struct nic_bench *bench, struct nic_run *run)
{
	const struct nic_options *options = bench->options;
	int ret = nic_machine_count(&options->machine, run);

	run->by_sixlane = bench->engine->is_sixlane;
	run->hides_losses = options->hides_losses || bench->is_veth;
	for (size_t i = 0; i < run->n && !ret; i++) {
		struct nic_port *port = &run->ports[i];

		port->is_ingress = is_of(run, port, options->in);
		port->is_egress = is_of(run, port, options->out);
		if (run->by_sixlane)
			ret = read_verdicts(bench, port);
	}
	return ret;
}

/* now becomes what has changed since before. */
static bool subtract(struct nic_bench *bench, struct nic_outcome *out)
{
	for (size_t i = 0; i < bench->now.n; i++) {
		struct nic_port *port = &bench->now.ports[i];

		if (nic_counts_subtract(&port->counts, &bench->before.ports[i].counts,
					&port->counts))
			continue;
		snprintf(out->fault, sizeof(out->fault), "%s: its counters went back meanwhile",
			 port->name);
		return false;
	}
	return true;
}

static int check_counts(struct nic_bench *bench, struct nic_outcome *out)
{
	struct nic_fault fault;
	struct nic_run *run = &bench->now;
	int ret = count(bench, run);

	if (ret)
		return ret;
	run->sent = out->sent + out->probes_sent;
	run->received = out->received + out->probes;
	run->counts_sent = run->counts_received = true;
	run->seconds = (uint32_t)ceil(out->seconds) + 1;
	out->is_valid = subtract(bench, out);
	if (out->is_valid && nic_counts_check(run, &fault, 1)) {
		nic_fault_text(&fault, out->fault);
		out->is_valid = false;
	}
	return 0;
}

/* --- the generator -------------------------------------------------------------------------- */

static json_t *list_macs(const struct nic_bench *bench)
{
	json_t *macs = json_array();
	char mac[PRINT_MAC_LEN];

	print_mac(bench->router.in_mac, mac);
	for (size_t i = 0; i < bench->generator.n_tx; i++)
		print_append(macs, json_string(mac));
	return macs;
}

static json_t *request_of(const struct nic_bench *bench, const struct nic_trial *trial)
{
	const struct nic_options *options = bench->options;
	const char *prefixes = options->prefixes ?: options->table_file ?: bench->prefixes;
	char src[INET6_ADDRSTRLEN];
	json_t *request = json_object();

	inet_ntop(AF_INET6, &bench->router.src, src, sizeof(src));
	print_set(request, "do", json_string("run"));
	print_set(request, "rate_pps", json_real(trial->pps));
	if (trial->count)
		print_set(request, "count", json_integer((json_int_t)trial->count));
	else
		print_set(request, "seconds", json_real(trial->seconds));
	print_set(request, "frame_bytes", json_integer(bench->size));
	print_set(request, "dst_macs", list_macs(bench));
	print_set(request, "src", json_string(src));
	print_set(request, "prefixes", json_string(prefixes));
	print_set(request, "pattern", json_string(options->pattern));
	print_set(request, "seed", json_integer((json_int_t)options->seed));
	print_set(request, "hops", json_integer(1));
	print_set(request, "latency", json_boolean(trial->latency));
	return request;
}

static void read_latency(const json_t *latency, struct nic_outcome *out)
{
	out->probes_sent = (uint64_t)json_integer_value(json_object_get(latency, "sent"));
	out->probes = (uint64_t)json_integer_value(json_object_get(latency, "n"));
	out->p50_ns = json_number_value(json_object_get(latency, "p50"));
	out->p99_ns = json_number_value(json_object_get(latency, "p99"));
	out->max_ns = json_number_value(json_object_get(latency, "max"));
}

static void read_answer(const json_t *answer, struct nic_outcome *out)
{
	const char *note = json_string_value(json_object_get(answer, "note"));

	*out = (struct nic_outcome){
		.sent = (uint64_t)json_integer_value(json_object_get(answer, "sent")),
		.received = (uint64_t)json_integer_value(json_object_get(answer, "received")),
		.seconds = (double)json_integer_value(json_object_get(answer, "elapsed_ns")) / 1e9,
		.pps = json_number_value(json_object_get(answer, "offered_pps")),
	};
	read_latency(json_object_get(answer, "latency_ns"), out);
	if (note)
		snprintf(out->note, sizeof(out->note), "%s", note);
}

/* --- the trial ------------------------------------------------------------------------------ */

int nic_trial_begin(struct nic_bench *bench, const struct nic_trial *trial)
{
	return count(bench, &bench->before)
		       ?: nic_agent_tell(bench->agent, request_of(bench, trial));
}

/* What the generator was told last: the answer to the run comes first. */
static int hear_stopped(struct nic_bench *bench, json_t **answer)
{
	json_t *stopped = NULL;
	int ret = nic_agent_hear(bench->agent, STOP_S, answer)
			  ?: nic_agent_hear(bench->agent, STOP_S, &stopped);

	json_decref(stopped);
	return ret;
}

int nic_trial_end(struct nic_bench *bench, const struct nic_trial *trial, bool stop,
		  struct nic_outcome *out)
{
	json_t *answer = NULL;
	const char *error;
	int ret;

	if (stop)
		ret = nic_agent_tell(bench->agent, json_pack("{s:s}", "do", "stop"))
			      ?: hear_stopped(bench, &answer);
	else
		ret = nic_agent_hear(bench->agent, trial->seconds + ANSWER_S, &answer);
	if (!ret) {
		read_answer(answer, out);
		ret = check_counts(bench, out);
	}
	error = json_string_value(json_array_get(json_object_get(answer, "errors"), 0));
	if (!ret && error && !(stop && trial->count)) {
		snprintf(out->fault, sizeof(out->fault), "generator: %s", error);
		out->is_valid = false;
	}
	json_decref(answer);
	return ret;
}

int nic_trial_run(struct nic_bench *bench, const struct nic_trial *trial, struct nic_outcome *out)
{
	return nic_trial_begin(bench, trial) ?: nic_trial_end(bench, trial, false, out);
}
