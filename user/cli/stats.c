// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane stats: packets by verdict, in total and by ingress port, since the maps were made; with
 * -w packets per second.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>

#include "../lib/log.h"
#include "print.h"

#define NS_PER_S 1000000000u
#define UNKNOWN_PORTS "(unknown)"

/* The counters of all slots at one time, or their rates over an interval. */
struct snapshot {
	uint64_t at_ns; /* or the interval */
	uint32_t ifindex[SIXLANE_MAX_PORTS];
	struct sixlane_counters slots[SIXLANE_MAX_PORTS]; /* slot 0: ports that nobody serves */
	struct sixlane_counters total;
};

struct watch {
	double seconds;	     /* 0: totals, once */
	unsigned long count; /* intervals; 0: until interrupted */
};

static bool is_used(const struct snapshot *snapshot, uint32_t slot)
{
	return !slot || snapshot->ifindex[slot];
}

static struct sixlane_counter sum_verdicts(const struct sixlane_counters *counters)
{
	struct sixlane_counter sum = { 0 };

	for (size_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		sum.packets += counters->verdicts[v].packets;
		sum.bytes += counters->verdicts[v].bytes;
	}
	return sum;
}

static void add(struct sixlane_counters *sum, const struct sixlane_counters *counters)
{
	for (size_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		sum->verdicts[v].packets += counters->verdicts[v].packets;
		sum->verdicts[v].bytes += counters->verdicts[v].bytes;
	}
}

static int read_counters(const struct maps *maps, struct snapshot *out)
{
	int rc;

	memset(&out->total, 0, sizeof(out->total));
	out->at_ns = util_now_ns();
	for (uint32_t slot = 0; slot < SIXLANE_MAX_PORTS; slot++) {
		out->ifindex[slot] = maps->ports[slot].ifindex;
		if (!is_used(out, slot))
			continue;
		rc = maps_counters(maps, slot, &out->slots[slot]);
		if (rc) {
			log_error("cannot read the counters: %s", strerror(-rc));
			return CMD_FAILED;
		}
		add(&out->total, &out->slots[slot]);
	}
	return CMD_OK;
}

/* The counters of a slot restart when another device gets it. */
static uint64_t rate(uint64_t now, uint64_t before, uint64_t interval_ns)
{
	uint64_t change = now >= before ? now - before : now;

	return (uint64_t)((double)change * NS_PER_S / (double)interval_ns + 0.5);
}

static void rates(const struct snapshot *now, const struct snapshot *before, struct snapshot *out)
{
	uint64_t interval_ns = now->at_ns > before->at_ns ? now->at_ns - before->at_ns : 1;

	memset(&out->total, 0, sizeof(out->total));
	out->at_ns = interval_ns;
	for (uint32_t slot = 0; slot < SIXLANE_MAX_PORTS; slot++) {
		out->ifindex[slot] = now->ifindex[slot];
		if (!is_used(now, slot))
			continue;
		for (size_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
			const struct sixlane_counter *to = &now->slots[slot].verdicts[v];
			const struct sixlane_counter *from = &before->slots[slot].verdicts[v];
			struct sixlane_counter *change = &out->slots[slot].verdicts[v];

			change->packets = rate(to->packets, from->packets, interval_ns);
			change->bytes = rate(to->bytes, from->bytes, interval_ns);
		}
		add(&out->total, &out->slots[slot]);
	}
}

static void counters_json(json_t *object, const struct sixlane_counters *counters, bool bytes)
{
	json_t *packets_by = json_object(), *bytes_by = json_object();
	struct sixlane_counter sum = sum_verdicts(counters);

	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		print_set(packets_by, cmd_verdict_name(v), counters->verdicts[v].packets);
		print_set(bytes_by, cmd_verdict_name(v), counters->verdicts[v].bytes);
	}
	print_set(object, "verdicts", packets_by);
	if (bytes)
		print_set(object, "verdict_bytes", json_incref(bytes_by));
	json_decref(bytes_by);
	print_set(object, "packets", sum.packets);
	print_set(object, "bytes", sum.bytes);
}

static json_t *snapshot_json(const struct cmd_options *options, const struct cmd_view *view,
			     const struct snapshot *snapshot, bool rate_view)
{
	json_t *object = json_object(), *ports = json_array(), *port;
	char name[IFNAMSIZ];

	if (rate_view)
		print_set(object, "interval_s", print_seconds(snapshot->at_ns));
	counters_json(object, &snapshot->total, options->statistics);
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		if (!is_used(snapshot, slot))
			continue;
		port = json_object();
		print_set(port, "name", cmd_slot_name(view, slot, name));
		counters_json(port, &snapshot->slots[slot], options->statistics);
		print_append(ports, port);
	}
	print_set(object, "ports", ports);
	port = json_object();
	counters_json(port, &snapshot->slots[0], options->statistics);
	print_set(object, "unknown_ports", port);
	return object;
}

static void counters_text(const struct cmd_options *options, const char *name,
			  const struct sixlane_counters *counters, const char *unit)
{
	struct sixlane_counter sum = sum_verdicts(counters);

	printf("%s: %llu packets%s, %llu bytes%s\n", name, sum.packets, unit, sum.bytes, unit);
	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		const struct sixlane_counter *counter = &counters->verdicts[v];

		if (!counter->packets)
			continue;
		printf("  %-20s %14llu", cmd_verdict_name(v), counter->packets);
		if (options->statistics)
			printf(" %18llu  %s", counter->bytes, cmd_verdict_text(v));
		putchar('\n');
	}
}

/* Without the ports that have no packets. */
static void snapshot_text(const struct cmd_options *options, const struct cmd_view *view,
			  const struct snapshot *snapshot, bool rate_view)
{
	const char *unit = rate_view ? "/s" : "";
	char name[IFNAMSIZ];

	counters_text(options, "all ports", &snapshot->total, unit);
	for (uint32_t slot = 0; slot < SIXLANE_MAX_PORTS; slot++) {
		if (!is_used(snapshot, slot) || !sum_verdicts(&snapshot->slots[slot]).packets)
			continue;
		counters_text(options, cmd_slot_name(view, slot, name) ?: UNKNOWN_PORTS,
			      &snapshot->slots[slot], unit);
	}
}

static int print_snapshot(const struct cmd_options *options, const struct cmd_view *view,
			  const struct snapshot *snapshot, bool rate_view)
{
	if (options->json)
		return print_json(options, snapshot_json(options, view, snapshot, rate_view));
	if (rate_view)
		fputs(isatty(STDOUT_FILENO) ? "\033[H\033[J" : "\n", stdout);
	snapshot_text(options, view, snapshot, rate_view);
	return print_flush();
}

/* False: one of the signals, which are blocked, came before the time was over. */
static bool wait_for(double seconds, const sigset_t *signals)
{
	uint64_t until = util_now_ns() + (uint64_t)(seconds * NS_PER_S), now;

	while ((now = util_now_ns()) < until) {
		struct timespec left = { .tv_sec = (time_t)((until - now) / NS_PER_S),
					 .tv_nsec = (long)((until - now) % NS_PER_S) };

		if (sigtimedwait(signals, NULL, &left) > 0)
			return false;
	}
	return true;
}

/* Keeps the last list if a new one cannot be read. */
static void refresh_ports(struct cmd_view *view)
{
	struct ports ports;

	if (ports_read(&ports))
		return;
	ports_free(&view->ports);
	view->ports = ports;
}

static int watch(const struct cmd_options *options, struct cmd_view *view, const struct watch *how,
		 struct snapshot *snapshots)
{
	sigset_t signals;
	int rc;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	/* never unblocked: the command ends when one has come */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	rc = read_counters(&view->maps, &snapshots[1]);
	for (unsigned long i = 0; !rc && (!how->count || i < how->count); i++) {
		struct snapshot *now = &snapshots[i % 2], *before = &snapshots[(i + 1) % 2];

		if (!wait_for(how->seconds, &signals))
			break;
		refresh_ports(view);
		rc = read_counters(&view->maps, now);
		if (rc)
			break;
		rates(now, before, &snapshots[2]);
		rc = print_snapshot(options, view, &snapshots[2], true);
	}
	return rc;
}

static int parse(int argc, char **argv, struct watch *how)
{
	char *end;
	int opt;

	opterr = 0;
	/* getopt() skips the first word: here the command's name */
	while ((opt = getopt(argc + 1, argv - 1, ":w:n:")) != -1) {
		switch (opt) {
		case 'w':
			how->seconds = strtod(optarg, &end);
			if (*end || !(how->seconds >= 0.1 && how->seconds <= 3600))
				return cmd_usage(&cmd_stats,
						 "-w %s: it must be from 0.1 to 3600 seconds",
						 optarg);
			break;
		case 'n':
			how->count = strtoul(optarg, &end, 10);
			if (*end || *optarg == '-' || !how->count)
				return cmd_usage(&cmd_stats, "-n %s: it must be at least 1",
						 optarg);
			break;
		case ':':
			return cmd_usage(&cmd_stats, "option -%c needs a value", optopt);
		default:
			return cmd_usage(&cmd_stats, "unknown option -%c", optopt);
		}
	}
	if (optind <= argc)
		return cmd_usage(&cmd_stats, "unexpected argument \"%s\"", argv[optind - 1]);
	if (how->count && how->seconds == 0)
		return cmd_usage(&cmd_stats, "-n needs -w");
	return CMD_OK;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	static struct snapshot snapshots[3]; /* large */
	struct watch how = { 0 };
	struct cmd_view view;
	int rc = parse(argc, argv, &how);

	if (rc)
		return rc;
	rc = cmd_view_open(&view, false);
	if (!rc && how.seconds > 0)
		rc = watch(options, &view, &how, snapshots);
	else if (!rc)
		rc = read_counters(&view.maps, snapshots)
			     ?: print_snapshot(options, &view, snapshots, false);
	cmd_view_close(&view);
	return rc;
}

const struct cmd cmd_stats = {
	.name = "stats",
	.args = "[-w SECONDS [-n COUNT]]",
	.help = "count packets by verdict, in total and by port",
	.run = run,
};
