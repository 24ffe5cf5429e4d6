// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood: UDP over IPv6 at full speed out of a device, and the sink that counts it at the far end;
 * or any frame, about ever other destinations. Reports JSON on standard output. Bounded in packets
 * and, if asked, in time; ends early, with its report, by SIGINT and SIGTERM. Leaves no program on
 * any device unless it is killed.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>

#include "../../user/bench/forward/gen.h"
#include "../../user/bench/forward/sink.h"
#include "../../user/lib/log.h"
#include "draw.h"

#define EXIT_USAGE 2

static const char usage_text[] =
	"Usage: flood send DEV --prefixes FILE --dst-mac MAC --src ADDRESS [OPTION...]\n"
	"       flood about DEV --frame HEX --at OFFSET... [OPTION...]\n"
	"       flood sink DEV\n"
	"\n"
	"send: random destinations inside the prefixes of FILE, out of DEV.\n"
	"  --prefixes FILE   a prefix a line\n"
	"  --dst-mac MAC     of the router\n"
	"  --src ADDRESS     source address\n"
	"  --src-mac MAC     (default: 02:00:00:00:00:01)\n"
	"  --count N         packets (default: 1000000)\n"
	"  --seconds S       at most that long (default: 60; 0: as long as it takes)\n"
	"  --size BYTES      of the frame, 62 to 1514 (default: 64)\n"
	"  --addresses N     how many destinations, rounded up to a power of 2 (default: 65536)\n"
	"  --seed N          of their choice (default: 1)\n"
	"  --cpu N           where to run (default: the last CPU)\n"
	"\n"
	"about: that frame again and again, out of DEV, each about another number from 0 on. Its 32 bits\n"
	"and those of its complement stand at OFFSET, so that checksums stay right if they are right\n"
	"for one number. Options as for send: --count, --seconds, --addresses, --cpu.\n"
	"  --frame HEX       the frame, of an even number of bytes, at most 256\n"
	"  --at OFFSET       an even number; may be given twice\n"
	"\n"
	"sink: count and drop what send makes. Answers each line on standard input by a line with\n"
	"the counters; ends with the end of its input.\n";

struct send_options {
	struct flood_about about;
	const char *prefixes;
	uint8_t src_mac[6], dst_mac[6];
	union sixlane_addr src;
	uint64_t seed;
	uint32_t frame_bytes, targets, count;
	double seconds;
	int cpu;
};

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
	stopped = number;
}

/* Without SA_RESTART: reading and the test run are to be interrupted. */
static void watch_signals(void)
{
	struct sigaction action = { .sa_handler = on_stop };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static int usage_error(const char *what, const char *value)
{
	fprintf(stderr, "flood: %s '%s'; see 'flood --help'\n", what, value);
	return EXIT_USAGE;
}

static int set_frame(struct flood_about *about, const char *hex)
{
	size_t n = strlen(hex);

	if (!n || n % 2 || n / 2 > FLOOD_ABOUT_BYTES || strspn(hex, "0123456789abcdef") != n)
		return -EINVAL;
	about->frame_bytes = (uint32_t)(n / 2);
	for (size_t i = 0; i < n / 2; i++)
		sscanf(hex + 2 * i, "%2hhx", &about->frame.bytes[i]);
	return 0;
}

static int set_option(struct send_options *options, int option, const char *value)
{
	struct flood_about *about = &options->about;
	char *end = "";

	switch (option) {
	case 'p':
		options->prefixes = value;
		return 0;
	case 'd':
		return frame_parse_mac(value, options->dst_mac);
	case 'f':
		return set_frame(about, value);
	case 'o':
		if (about->n_places == FLOOD_ABOUT_PLACES)
			return -EINVAL;
		about->places[about->n_places++] = (uint32_t)strtoul(value, &end, 10);
		break;
	case 'm':
		return frame_parse_mac(value, options->src_mac);
	case 's':
		return inet_pton(AF_INET6, value, &options->src) == 1 ? 0 : -EINVAL;
	case 'n':
		options->count = (uint32_t)strtoul(value, &end, 10);
		break;
	case 't':
		options->seconds = strtod(value, &end);
		break;
	case 'b':
		options->frame_bytes = (uint32_t)strtoul(value, &end, 10);
		break;
	case 'a':
		options->targets = (uint32_t)strtoul(value, &end, 10);
		break;
	case 'r':
		options->seed = strtoull(value, &end, 10);
		break;
	case 'c':
		options->cpu = (int)strtol(value, &end, 10);
		break;
	default:
		return -EINVAL;
	}
	return *value && !*end ? 0 : -EINVAL;
}

static const struct option long_options[] = {
	{ "prefixes", required_argument, NULL, 'p' },
	{ "dst-mac", required_argument, NULL, 'd' },
	{ "src-mac", required_argument, NULL, 'm' },
	{ "src", required_argument, NULL, 's' },
	{ "count", required_argument, NULL, 'n' },
	{ "seconds", required_argument, NULL, 't' },
	{ "size", required_argument, NULL, 'b' },
	{ "addresses", required_argument, NULL, 'a' },
	{ "seed", required_argument, NULL, 'r' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "frame", required_argument, NULL, 'f' },
	{ "at", required_argument, NULL, 'o' },
	{ 0 },
};

/* 0, or the exit status. */
static int check_send(const struct send_options *options, bool about)
{
	static const uint8_t nothing[16];

	if (about != (options->about.frame_bytes || options->about.n_places) ||
	    (about && !options->about.frame_bytes))
		return usage_error("--frame and --at are for about, which needs --frame:",
				   about ? "about" : "send");
	if (!about && (!options->prefixes || !memcmp(options->dst_mac, nothing, 6) ||
		       !memcmp(&options->src, nothing, 16)))
		return usage_error("needs --prefixes, --dst-mac and --src:", "send");
	return 0;
}

/* 0, or the exit status. */
static int parse_send(int argc, char **argv, struct send_options *options)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == '?')
			return EXIT_USAGE;
		if (set_option(options, option, optarg))
			return usage_error("bad value", optarg);
	}
	return check_send(options, !strcmp(argv[0], "about"));
}

static uint32_t round_up_pow2(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power <<= 1;
	return power;
}

static int make_generator(const struct send_options *options, uint32_t ifindex, struct gen **gen)
{
	struct gen_options make = { .targets = round_up_pow2(options->targets),
				    .send_ifindex = ifindex,
				    .about = options->about };
	int ret;

	if (options->about.frame_bytes)
		return gen_new(&make, gen);
	if (options->frame_bytes < FLOOD_HEADER_BYTES ||
	    options->frame_bytes > FLOOD_FRAME_BYTES_MAX)
		return bench_bad(-EINVAL, "--size %u: from %u to %u", options->frame_bytes,
				 FLOOD_HEADER_BYTES, FLOOD_FRAME_BYTES_MAX);
	frame_make(options->frame_bytes, options->dst_mac, options->src_mac, &options->src,
		   &make.frame);
	ret = gen_new(&make, gen);
	if (ret)
		return ret;
	ret = draw_targets(*gen, options->prefixes, options->seed, make.targets);
	if (ret)
		gen_free(*gen);
	return ret;
}

/* argv[0]: the command. */
static int flood_send(uint32_t ifindex, int argc, char **argv)
{
	struct send_options options = {
		.targets = GEN_TARGETS,
		.seed = 1,
		.frame_bytes = FRAME_BYTES,
		.src_mac = { 2, 0, 0, 0, 0, 1 },
		.count = 1000000,
		.seconds = 60,
		.cpu = -1,
	};
	struct gen_result result;
	struct gen_run run;
	struct gen *gen;
	int ret;

	ret = parse_send(argc, argv, &options);
	if (ret)
		return ret;
	if (gen_pin_cpu(options.cpu) < 0) {
		fprintf(stderr, "flood: cannot run on CPU %d\n", options.cpu);
		return EXIT_FAILURE;
	}
	if (make_generator(&options, ifindex, &gen))
		return EXIT_FAILURE;
	run = (struct gen_run){ .count = options.count,
				.limit_ms = (uint32_t)(options.seconds * 1000) };
	ret = gen_run(gen, &run, &result);
	gen_free(gen);
	if (ret)
		return EXIT_FAILURE;
	printf("{\"sent\": %llu, \"elapsed_ns\": %llu, \"interrupted\": %s}\n",
	       (unsigned long long)result.sent, (unsigned long long)gen_elapsed_ns(&result),
	       result.interrupted ? "true" : "false");
	return EXIT_SUCCESS;
}

/* Counters of all CPUs in one line. */
static int print_sunk(const struct sink *sink)
{
	struct flood_sink sum;
	int ret = sink_read(sink, &sum);

	if (ret)
		return ret;
	printf("{\"packets\": %llu, \"bytes\": %llu, \"wrong_hop_limit\": %llu}\n",
	       (unsigned long long)sum.packets, (unsigned long long)sum.bytes,
	       (unsigned long long)sum.wrong);
	fflush(stdout);
	return 0;
}

static int flood_sink(uint32_t ifindex)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	struct sink sink;
	char line[64];
	int ret = sink_open(ifindex, false, &sink);

	if (ret)
		return EXIT_FAILURE;
	ret = bpf_obj_get_info_by_fd(sink.sunk_fd, &info, &len);
	printf("{\"map_id\": %u}\n", info.id);
	fflush(stdout);
	while (!ret && !stopped && fgets(line, sizeof(line), stdin))
		ret = print_sunk(&sink);
	sink_close(&sink);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	uint32_t ifindex;

	log_init("flood", LOG_INFO);
	if (argc < 3) {
		fputs(usage_text, argc == 2 && !strcmp(argv[1], "--help") ? stdout : stderr);
		return argc == 2 && !strcmp(argv[1], "--help") ? EXIT_SUCCESS : EXIT_USAGE;
	}
	ifindex = if_nametoindex(argv[2]);
	if (!ifindex)
		return usage_error("no such device", argv[2]);
	watch_signals();
	if (!strcmp(argv[1], "send") || !strcmp(argv[1], "about")) {
		argv[2] = argv[1];
		return flood_send(ifindex, argc - 2, argv + 2);
	}
	if (!strcmp(argv[1], "sink"))
		return flood_sink(ifindex);
	return usage_error("unknown command", argv[1]);
}
