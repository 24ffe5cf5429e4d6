// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench generator: the agent that sends and counts the packets of `bench nic`, here or on
 * another machine (user/bench/generator).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "../bench/generator/generator.h"
#include "../bench/progress.h"
#include "../lib/log.h"
#include "bench.h"

#define MOST_LIST 512 /* more than all names and commas take */
#define NETNS_DIR "/run/netns"

struct args {
	const char *tx, *rx; /* lists */
	const char *netns;   /* NULL: this one */
	size_t source;	     /* of sources */
};

static const struct generator_source *const sources[] = { &generator_pktgen, &generator_flood };

static const char *source_name(size_t i)
{
	return sources[i]->name;
}

static int take_option(void *ctx, int option)
{
	struct args *args = ctx;

	if (option == 't')
		args->tx = optarg;
	else if (option == 'r')
		args->rx = optarg;
	else if (option == 'n')
		args->netns = optarg;
	else if (option == 's')
		return cmd_bench_choose(&cmd_bench_generator, "a source", optarg,
					ARRAY_SIZE(sources), source_name, &args->source);
	else
		return cmd_usage(&cmd_bench_generator, "unknown or incomplete option");
	return CMD_OK;
}

static int parse_args(struct args *args, int argc, char **argv)
{
	static const struct option known[] = {
		{ "tx", required_argument, NULL, 't' },
		{ "rx", required_argument, NULL, 'r' },
		{ "netns", required_argument, NULL, 'n' },
		{ "source", required_argument, NULL, 's' },
		{ 0 },
	};
	int rc = cmd_bench_parse(known, argc, argv, take_option, args)
			 ?: cmd_bench_check_end(&cmd_bench_generator, argc, argv);

	if (rc)
		return rc;
	return args->tx ? CMD_OK
			: cmd_usage(&cmd_bench_generator, "--tx is needed: the devices that send");
}

/* By name, as `ip netns` has them, or by path. */
static int enter_netns(const char *netns)
{
	_cleanup_close_ int fd = -1;
	char path[512];

	if (!netns)
		return 0;
	snprintf(path, sizeof(path), "%s%s%s", strchr(netns, '/') ? "" : NETNS_DIR,
		 strchr(netns, '/') ? "" : "/", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return bench_fail(-errno, "network namespace %s", netns);
	return setns(fd, CLONE_NEWNET) ? bench_fail(-errno, "network namespace %s", netns) : 0;
}

/* list: names with commas between them; NULL: none */
static int open_ports(const char *list, struct generator_port *ports, size_t *n)
{
	char words[MOST_LIST], *left = words, *name;
	int ret;

	if (snprintf(words, sizeof(words), "%s", list ? list : "") >= (int)sizeof(words))
		return bench_bad(-E2BIG, "too many devices: %.40s...", list);
	while (list && (name = strsep(&left, ","))) {
		if (*n == GENERATOR_MOST_PORTS)
			return bench_bad(-E2BIG, "more than %u devices", GENERATOR_MOST_PORTS);
		ret = generator_port_open(name, &ports[*n]);
		if (ret)
			return ret;
		for (size_t i = 0; i < *n; i++)
			if (ports[i].ifindex == ports[*n].ifindex)
				return bench_bad(-EINVAL, "%s is named twice", name);
		(*n)++;
	}
	return 0;
}

static int open_sinks(struct generator *generator)
{
	int ret = 0;

	for (size_t i = 0; i < generator->n_rx && !ret; i++)
		ret = generator_sink_open(&generator->rx[i], &generator->sinks[i]);
	return ret;
}

static int serve(const struct args *args, struct generator *generator)
{
	const struct generator_source *source = generator->source;
	int ret = enter_netns(args->netns) ?: open_ports(args->tx, generator->tx, &generator->n_tx)
			  ?: open_ports(args->rx, generator->rx, &generator->n_rx);
	int rc = CMD_FAILED;

	if (ret)
		return CMD_FAILED;
	/* First: a port that both sends and receives has the sink's program for both. */
	if (!open_sinks(generator) && !source->open(generator->tx, generator->n_tx)) {
		rc = generator_serve(generator);
		source->close();
	}
	for (size_t i = 0; i < generator->n_rx; i++)
		generator_sink_close(generator->sinks[i]);
	return bench_interrupted() ? BENCH_INTERRUPTED : rc;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct generator generator = { 0 };
	struct args args = { 0 };
	int rc = parse_args(&args, argc, argv) ?: cmd_bench_need_root(&cmd_bench_generator);

	(void)options;
	if (rc)
		return rc;
	generator.source = sources[args.source];
	bench_interrupt_catch();
	return serve(&args, &generator);
}

const struct cmd cmd_bench_generator = {
	.name = "bench generator",
	.args = "--tx DEVICE[,DEVICE]... [--rx DEVICE[,DEVICE]...] [--netns NAME] "
		"[--source pktgen|xdp]",
	.help = "send and count packets for `bench nic`; requests come on the standard input",
	.run = run,
};
