// SPDX-License-Identifier: GPL-2.0-only
/* One trial: counters, the generator's run, counters, and whether they add up. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "../../cli/cmd.h"
#include "../../cli/print.h"
#include "nic.h"

/* What is under way is counted until no more comes (RFC 2544, section 23: two seconds), and the
 * generator may wait for links. */
#define ANSWER_S 180.0
#define STOP_S 120.0
#define FIRST_FRAMES 20u /* fewer may be others' */
/* Of the frames that sixlane sees, it may leave so many to others. */
#define LEFT 0.01
#define LEFT_IN_EVENTS 0.5

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

void nic_outcome_refuse(struct nic_outcome *out, const char *fmt, ...)
{
	va_list ap;

	out->is_valid = false;
	if (*out->fault)
		return;
	va_start(ap, fmt);
	vsnprintf(out->fault, sizeof(out->fault), fmt, ap);
	va_end(ap);
}

static int check_counts(struct nic_bench *bench, const struct nic_trial *trial,
			struct nic_outcome *out)
{
	char text[NIC_FAULT_LEN];
	struct nic_fault fault;
	struct nic_run *run = &bench->now;
	const char *back;
	int ret = count(bench, run);

	if (ret)
		return ret;
	run->sent = out->sent + out->probes_sent;
	run->received = out->received + out->probes;
	run->counts_sent = run->counts_received = true;
	run->loses_device = trial->loses_device;
	run->seconds = (uint32_t)ceil(out->seconds) + 1;
	back = nic_run_subtract(run, &bench->before);
	if (back)
		nic_outcome_refuse(out, "%s: its counters went back meanwhile", back);
	else if (nic_counts_check(run, &fault, 1)) {
		nic_fault_text(&fault, text);
		nic_outcome_refuse(out, "%s", text);
	}
	out->forwarded = nic_counts_forwarded(run);
	return 0;
}

/* A figure of sixlane is one of what sixlane forwards, and by this engine. */
static void check_engine(const struct nic_bench *bench, double allowed, struct nic_outcome *out)
{
	const struct nic_forwarded *forwarded = &out->forwarded;
	uint64_t n = forwarded->here + forwarded->elsewhere;
	char text[NIC_FAULT_LEN];

	if (!bench->engine->is_sixlane)
		return;
	if (!bench_daemon_answers(&bench->daemon, bench->engine->choice))
		nic_outcome_refuse(out, "another engine answers now ('sixlane fib' says which)");
	if (!forwarded->elsewhere)
		return;
	snprintf(text, sizeof(text), "%llu of %llu frames were not forwarded by sixlane (most: %s)",
		 (unsigned long long)forwarded->elsewhere, (unsigned long long)n,
		 cmd_verdict_name(forwarded->verdict));
	if ((double)forwarded->elsewhere > allowed * (double)n)
		nic_outcome_refuse(out, "%s", text);
	else
		bench_note_add(out->note, sizeof(out->note), text);
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

/* A count that cannot be believed is none: -EBADMSG. */
static int read_count(const json_t *json, const char *key, uint64_t *out)
{
	const json_t *value = json_object_get(json, key);

	*out = (uint64_t)json_integer_value(value);
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return 0;
	return bench_bad(-EBADMSG, "generator: \"%s\" of its answer is no count", key);
}

static int read_ns(const json_t *json, const char *key, double *out)
{
	*out = json_number_value(json_object_get(json, key));
	if (*out >= 0)
		return 0;
	return bench_bad(-EBADMSG, "generator: \"%s\" of its answer is no time", key);
}

/* NULL: it was not asked for, or nothing tells it. */
static int read_latency(const json_t *latency, struct nic_outcome *out)
{
	if (!json_is_object(latency))
		return 0;
	return read_count(latency, "n", &out->probes)
		       ?: read_count(latency, "sent", &out->probes_sent)
		       ?: read_ns(latency, "p50", &out->p50_ns)
		       ?: read_ns(latency, "p99", &out->p99_ns)
		       ?: read_ns(latency, "max", &out->max_ns);
}

/* asked_s: as long as it was to be, at least; it may have begun later, and sent less by that. */
static int read_answer(const json_t *answer, double asked_s, struct nic_outcome *out)
{
	const char *note = json_string_value(json_object_get(answer, "note"));
	const char *error = json_string_value(json_array_get(json_object_get(answer, "errors"), 0));
	uint64_t elapsed_ns = 0;
	int ret = read_count(answer, "sent", &out->sent)
			  ?: read_count(answer, "received", &out->received)
			  ?: read_count(answer, "elapsed_ns", &elapsed_ns)
			  ?: read_latency(json_object_get(answer, "latency_ns"), out);

	if (ret)
		return ret;
	out->seconds = fmax((double)elapsed_ns / 1e9, asked_s);
	out->pps = out->seconds > 0 ? (double)out->sent / out->seconds : 0;
	if (note)
		snprintf(out->note, sizeof(out->note), "%s", note);
	if (error)
		nic_outcome_refuse(out, "generator: %s", error);
	else if (!out->sent)
		nic_outcome_refuse(out, "generator: nothing was sent");
	else if (out->sent > 1 && out->pps <= 0)
		nic_outcome_refuse(out, "generator: %llu frames were sent in no time",
				   (unsigned long long)out->sent);
	return 0;
}

/* --- the trial ------------------------------------------------------------------------------ */

int nic_trial_begin(struct nic_bench *bench, const struct nic_trial *trial)
{
	return count(bench, &bench->before)
		       ?: nic_agent_tell(bench->agent, request_of(bench, trial));
}

int nic_trial_has_begun(struct nic_bench *bench, bool *out)
{
	int ret = count(bench, &bench->now);

	*out = !ret && !nic_run_subtract(&bench->now, &bench->before) &&
	       nic_counts_arrived(&bench->now) >= FIRST_FRAMES;
	return ret;
}

/* The answer to the run comes first. */
static int stop(struct nic_bench *bench, json_t **answer)
{
	json_t *stopped = NULL;
	int ret = nic_agent_tell(bench->agent, json_pack("{s:s}", "do", "stop"))
			  ?: nic_agent_hear(bench->agent, STOP_S, answer)
			  ?: nic_agent_hear(bench->agent, STOP_S, &stopped);

	json_decref(stopped);
	return ret;
}

static int hear(struct nic_bench *bench, const struct nic_trial *trial, json_t **answer)
{
	double longest_s = trial->seconds;

	if (trial->count)
		longest_s = (double)trial->count / fmax(trial->pps, 1);
	return nic_agent_hear(bench->agent, longest_s + ANSWER_S, answer);
}

void nic_trial_abandon(struct nic_bench *bench)
{
	json_t *answer = NULL;

	stop(bench, &answer);
	json_decref(answer);
}

int nic_trial_end(struct nic_bench *bench, const struct nic_trial *trial, bool at_once,
		  struct nic_outcome *out)
{
	json_t *answer = NULL;
	int ret = at_once ? stop(bench, &answer) : hear(bench, trial, &answer);

	*out = (struct nic_outcome){ .is_valid = true };
	ret = ret ?: read_answer(answer, at_once || trial->count ? 0 : trial->seconds, out);
	json_decref(answer);
	if (!ret && bench->engine->is_sixlane)
		ret = bench_daemon_check(&bench->daemon);
	ret = ret ?: check_counts(bench, trial, out);
	if (!ret)
		check_engine(bench, at_once ? LEFT_IN_EVENTS : LEFT, out);
	return ret;
}

bool nic_trial_is_slow(const struct nic_trial *trial, const struct nic_outcome *outcome)
{
	/* the next frame may have been due an instant later */
	double frame = outcome->seconds > 0 ? 1 / outcome->seconds : 0;

	return outcome->pps + frame < trial->pps * NIC_RATE_TOLERANCE;
}

int nic_trial_run(struct nic_bench *bench, const struct nic_trial *trial, struct nic_outcome *out)
{
	return nic_trial_begin(bench, trial) ?: nic_trial_end(bench, trial, false, out);
}
