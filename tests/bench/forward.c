// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench-forward: the sides of the forwarding benchmark, in turn, with the same packets. Runs in
 * the router's namespace; the frames appear on the ingress port and leave by the egress port to
 * a sink whose counters are given by map id. "sixlane" is the very program that is attached to
 * the ingress port, with the maps that the daemon filled; another object can be a side as well
 * (side.h). Every second round runs the sides in the opposite order.
 *
 * A line of JSON for each run. Says nothing about what is good or bad.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <string.h>

#include "../../user/bench/forward/forward_side.h"
#include "../../user/bench/forward/gen.h"
#include "../../user/lib/log.h"
#include "draw.h"
#include "side.h"

#define LAST_CPU UINT32_MAX

static const char *const own_sides[] = { "floor",   "load", "least", "bare",
					 "sixlane", "fib",  "kernel" };
#define MAX_OTHERS 8
#define MAX_SIDES (ARRAY_SIZE(own_sides) + MAX_OTHERS)

struct options {
	uint8_t src_mac[6], dst_mac[6]; /* of the frames */
	union sixlane_addr src;
	uint64_t seed;
	const char *prefixes;
	struct forward_config config;
	uint32_t ingress, sink_map_id, count, limit_ms, rounds;
	uint32_t cpu;	   /* to run on; or LAST_CPU */
	const char *pins;  /* directory of sixlane's maps */
	const char *sides; /* comma-separated, NULL: all */
	struct {
		char *name;
		const char *file;
	} others[MAX_OTHERS];
	size_t n_others;
};

struct side {
	const char *name;
	bool counted; /* it is sixlane: it counts what it forwards */
	int prog_fd, counters_fd;
	struct bpf_object *object; /* of another object */
};

struct bench {
	struct bpf_object *object;
	struct gen *gen;
	struct side sides[MAX_SIDES];
	size_t n_sides;
	uint32_t slot; /* of the ingress port */
	int sink_fd, n_cpus;
	struct flood_sink *sinks;
};

static int complain(int err, const char *what)
{
	fprintf(stderr, "bench-forward: %s: %s\n", what, strerror(-err));
	return err;
}

/* --- options --- */

static const struct option long_options[] = {
	{ "ingress", required_argument, NULL, 'i' },
	{ "egress", required_argument, NULL, 'o' },
	{ "port-mac", required_argument, NULL, 'd' },
	{ "egress-mac", required_argument, NULL, 'e' },
	{ "hop-mac", required_argument, NULL, 'h' },
	{ "src", required_argument, NULL, 's' },
	{ "pins", required_argument, NULL, 'r' },
	{ "prefixes", required_argument, NULL, 'p' },
	{ "sink", required_argument, NULL, 'k' },
	{ "count", required_argument, NULL, 'n' },
	{ "ms", required_argument, NULL, 't' },
	{ "rounds", required_argument, NULL, 'N' },
	{ "seed", required_argument, NULL, 'S' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "sides", required_argument, NULL, 'x' },
	{ "object", required_argument, NULL, 'O' },
	{ "load-bytes", required_argument, NULL, 'l' },
	{ 0 },
};

static int set_device(const char *name, uint32_t *ifindex)
{
	*ifindex = if_nametoindex(name);
	return *ifindex ? 0 : -ENODEV;
}

static int set_number(const char *text, uint32_t *value)
{
	char *end;

	*value = (uint32_t)strtoul(text, &end, 10);
	return *text && !*end ? 0 : -EINVAL;
}

/* NAME=FILE */
static int add_other(struct options *options, const char *value)
{
	const char *equals = strchr(value, '=');

	if (!equals || options->n_others == MAX_OTHERS)
		return -EINVAL;
	options->others[options->n_others].name = strndup(value, (size_t)(equals - value));
	options->others[options->n_others++].file = equals + 1;
	return 0;
}

static int set_option(struct options *options, int option, const char *value)
{
	uint32_t seed;
	int ret;

	switch (option) {
	case 'i':
		return set_device(value, &options->ingress);
	case 'o':
		return set_device(value, &options->config.egress);
	case 'd':
		return frame_parse_mac(value, options->dst_mac);
	case 'e':
		return frame_parse_mac(value, (uint8_t *)options->config.src_mac);
	case 'h':
		return frame_parse_mac(value, (uint8_t *)options->config.dst_mac);
	case 's':
		return inet_pton(AF_INET6, value, &options->src) == 1 ? 0 : -EINVAL;
	case 'r':
		options->pins = value;
		return 0;
	case 'p':
		options->prefixes = value;
		return 0;
	case 'k':
		return set_number(value, &options->sink_map_id);
	case 'n':
		return set_number(value, &options->count);
	case 't':
		return set_number(value, &options->limit_ms);
	case 'N':
		return set_number(value, &options->rounds);
	case 'S':
		ret = set_number(value, &seed);
		options->seed = seed;
		return ret;
	case 'c':
		return set_number(value, &options->cpu);
	case 'x':
		options->sides = value;
		return 0;
	case 'O':
		return add_other(options, value);
	case 'l':
		return set_number(value, &options->config.load_bytes);
	default:
		return -EINVAL;
	}
}

static int parse_options(int argc, char **argv, struct options *options)
{
	int option, ret;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		ret = set_option(options, option, optarg);
		if (ret)
			return complain(ret, optarg ? optarg : "options");
	}
	if (!options->ingress || !options->config.egress || !options->prefixes || !options->pins ||
	    !options->sink_map_id)
		return complain(-EINVAL, "needs --ingress, --egress, --prefixes, --pins, --sink");
	if (options->config.load_bytes > sizeof(struct forward_memory))
		return complain(-E2BIG, "--load-bytes");
	return 0;
}

static bool side_is_wanted(const struct options *options, const char *side)
{
	size_t len = strlen(side);
	const char *at = options->sides;

	if (!at)
		return true;
	while ((at = strstr(at, side))) {
		if ((at == options->sides || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
		at += len;
	}
	return false;
}

/* --- the sides --- */

static int add_side(struct bench *bench, const struct options *options, struct side side)
{
	if (!side_is_wanted(options, side.name))
		return 0;
	if (side.prog_fd < 0)
		return complain(side.prog_fd, side.name);
	/* what is not counted could have gone through the kernel */
	if (side.counted && side.counters_fd < 0)
		return complain(side.counters_fd, side.name);
	bench->sides[bench->n_sides++] = side;
	return 0;
}

/* From how much memory their load is has to be said. */
static bool can_be_a_side(const struct options *options, const char *name)
{
	return (strcmp(name, "load") && strcmp(name, "least")) || options->config.load_bytes;
}

static int add_own_side(struct bench *bench, const struct options *options, const char *name)
{
	struct side side = { .name = name, .counted = !strcmp(name, "sixlane") };

	if (!can_be_a_side(options, name))
		return 0;
	if (side.counted) {
		side.counters_fd = side_open_pin(options->pins, "sl_counters");
		side.prog_fd = forward_open_attached(options->ingress);
	} else {
		side.prog_fd = forward_sides_prog(bench->object, name);
	}
	return add_side(bench, options, side);
}

static int add_other_side(struct bench *bench, const struct options *options, size_t number)
{
	struct side side = { .name = options->others[number].name, .counted = true };
	int ret;

	if (!side_is_wanted(options, side.name))
		return 0;
	ret = side_open(options->others[number].file, options->pins, &side.object);
	if (ret)
		return ret;
	side.prog_fd = side_prog_fd(side.object);
	side.counters_fd = side_counters_fd(side.object);
	return add_side(bench, options, side);
}

static int add_sides(struct bench *bench, const struct options *options)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < ARRAY_SIZE(own_sides); i++) {
		ret = add_own_side(bench, options, own_sides[i]);
		/* Next to what they are compared with. */
		for (size_t j = 0; !strcmp(own_sides[i], "sixlane") && j < options->n_others; j++)
			ret = ret ?: add_other_side(bench, options, j);
	}
	return ret;
}

static int find_slot(struct bench *bench, const struct options *options)
{
	_cleanup_close_ int fd = side_open_pin(options->pins, "sl_port_index");

	if (fd < 0)
		return fd;
	if (bpf_map_lookup_elem(fd, &options->ingress, &bench->slot))
		return complain(-errno, "the daemon does not know the ingress port");
	return 0;
}

static int open_sides(struct bench *bench, const struct options *options)
{
	_cleanup_close_ int routes_fd = side_open_pin(options->pins, "sl_routes");

	if (routes_fd < 0)
		return routes_fd;
	return forward_sides_open(&options->config, routes_fd, &bench->object)
		       ?: add_sides(bench, options) ?: find_slot(bench, options);
}

/* --- runs --- */

static int open_sink(struct bench *bench, uint32_t map_id)
{
	bench->n_cpus = libbpf_num_possible_cpus();
	bench->sink_fd = bpf_map_get_fd_by_id(map_id);
	if (bench->sink_fd < 0)
		return complain(-errno, "no such sink");
	bench->sinks = calloc((size_t)bench->n_cpus, sizeof(*bench->sinks));
	return bench->sinks ? 0 : -ENOMEM;
}

/* Of all CPUs. The runs' own CPU has done all its work when the test run returns. */
static struct flood_sink read_sink(const struct bench *bench)
{
	struct flood_sink sum = { 0 };
	uint32_t zero = 0;

	bpf_map_lookup_elem(bench->sink_fd, &zero, bench->sinks);
	for (int i = 0; i < bench->n_cpus; i++) {
		sum.packets += bench->sinks[i].packets;
		sum.wrong += bench->sinks[i].wrong;
	}
	return sum;
}

/* Sides that are not sixlane count nothing. */
static int read_counts(const struct bench *bench, const struct side *side, struct side_counts *out)
{
	*out = (struct side_counts){ 0 };
	return side->counted ? side_counts(side->counters_fd, bench->slot, out) : 0;
}

static void print_run(const struct side *side, uint32_t round, const struct gen_result *result,
		      const struct flood_sink *arrived, const struct side_counts *counts)
{
	printf("{\"side\": \"%s\", \"round\": %u, \"sent\": %llu, \"delivered\": %llu, "
	       "\"wrong_hop_limit\": %llu, \"elapsed_ns\": %llu",
	       side->name, round, (unsigned long long)result->sent,
	       (unsigned long long)arrived->packets, (unsigned long long)arrived->wrong,
	       (unsigned long long)gen_elapsed_ns(result));
	if (side->counted)
		printf(", \"forwarded\": %llu, \"checksum\": %llu",
		       (unsigned long long)counts->forwarded, (unsigned long long)counts->checksum);
	printf("}\n");
	fflush(stdout);
}

static int run_frames(struct bench *bench, const struct options *options, uint32_t count,
		      struct gen_result *result)
{
	const struct gen_run run = { .ingress = options->ingress,
				     .count = count,
				     .limit_ms = options->limit_ms };

	return gen_run(bench->gen, &run, result);
}

static int measure(struct bench *bench, const struct options *options, const struct side *side,
		   uint32_t round)
{
	struct flood_sink before = read_sink(bench), after;
	struct side_counts counts_before, counts;
	struct gen_result result;
	int ret;

	ret = read_counts(bench, side, &counts_before)
		      ?: run_frames(bench, options, options->count, &result)
		      ?: read_counts(bench, side, &counts);
	if (ret)
		return ret;
	after = read_sink(bench);
	after.packets -= before.packets;
	after.wrong -= before.wrong;
	counts.forwarded -= counts_before.forwarded;
	counts.checksum -= counts_before.checksum;
	print_run(side, round, &result, &after, &counts);
	return 0;
}

/* Once to all targets first, or a side would pay for what the one before left in the caches. */
static int run_side(struct bench *bench, const struct options *options, const struct side *side,
		    uint32_t round)
{
	struct gen_result warm;

	return gen_into(bench->gen, side->prog_fd)
		       ?: run_frames(bench, options, GEN_TARGETS, &warm)
		       ?: measure(bench, options, side, round);
}

static int make_generator(struct bench *bench, const struct options *options)
{
	struct gen_options gen = { .targets = GEN_TARGETS };

	return frame_make(FRAME_BYTES, options->dst_mac, options->src_mac, &options->src,
			  &gen.frame)
		       ?: gen_new(&gen, &bench->gen)
		       ?: draw_targets(bench->gen, options->prefixes, options->seed, GEN_TARGETS);
}

static int run(struct bench *bench, const struct options *options)
{
	int ret = open_sink(bench, options->sink_map_id) ?: open_sides(bench, options) ?:
		  make_generator(bench, options);

	/* Round 0 warms caches up and is marked as such for the reader. */
	for (uint32_t round = 0; !ret && round <= options->rounds; round++)
		for (size_t i = 0; !ret && i < bench->n_sides; i++) {
			size_t at = round % 2 ? i : bench->n_sides - 1 - i;

			ret = run_side(bench, options, &bench->sides[at], round);
		}
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = {
		.seed = 1,
		.src_mac = { 2, 0, 0, 0, 0, 1 },
		.config = { .table = htonl(SIXLANE_TABLE_MAIN) },
		.count = 1000000,
		.limit_ms = 10000,
		.rounds = 5,
		.cpu = LAST_CPU,
	};
	struct bench bench = { .sink_fd = -1 };
	int ret;

	log_init("bench-forward", LOG_INFO);
	if (parse_options(argc, argv, &options))
		return 2;
	if (gen_pin_cpu(options.cpu == LAST_CPU ? -1 : (int)options.cpu) < 0)
		return 1;
	ret = run(&bench, &options);
	gen_free(bench.gen);
	for (size_t i = 0; i < bench.n_sides; i++)
		bpf_object__close(bench.sides[i].object);
	bpf_object__close(bench.object);
	free(bench.sinks);
	return ret ? 1 : 0;
}
