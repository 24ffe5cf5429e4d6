// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood: UDP over IPv6 at full speed out of a device, and the sink that counts it at the far end;
 * or any frame, about ever other destinations. Reports JSON on standard output. Bounded in packets
 * and, if asked, in time; ends early, with its report, by SIGINT and SIGTERM. Leaves no program on
 * any device unless it is killed.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>

#include "../../user/util.h"
#include "flood.h"
#include "gen.h"

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
	struct gen_options gen;
	uint32_t count;
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
	struct flood_about *about = &options->gen.about;
	char *end = "";

	switch (option) {
	case 'p':
		options->gen.prefixes = value;
		return 0;
	case 'd':
		return gen_parse_mac(value, options->gen.dst_mac);
	case 'f':
		return set_frame(about, value);
	case 'o':
		if (about->n_places == FLOOD_ABOUT_PLACES)
			return -EINVAL;
		about->places[about->n_places++] = (uint32_t)strtoul(value, &end, 10);
		break;
	case 'm':
		return gen_parse_mac(value, options->gen.src_mac);
	case 's':
		return inet_pton(AF_INET6, value, options->gen.src_addr) == 1 ? 0 : -EINVAL;
	case 'n':
		options->count = (uint32_t)strtoul(value, &end, 10);
		break;
	case 't':
		options->seconds = strtod(value, &end);
		break;
	case 'b':
		options->gen.frame_bytes = (uint32_t)strtoul(value, &end, 10);
		break;
	case 'a':
		options->gen.targets = (uint32_t)strtoul(value, &end, 10);
		break;
	case 'r':
		options->gen.seed = strtoull(value, &end, 10);
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

	if (about != (options->gen.about.frame_bytes || options->gen.about.n_places) ||
	    (about && !options->gen.about.frame_bytes))
		return usage_error("--frame and --at are for about, which needs --frame:",
				   about ? "about" : "send");
	if (!about && (!options->gen.prefixes || !memcmp(options->gen.dst_mac, nothing, 6) ||
		       !memcmp(options->gen.src_addr, nothing, 16)))
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

/* argv[0]: the command. */
static int flood_send(uint32_t ifindex, int argc, char **argv)
{
	struct send_options options = {
		.gen = { .targets = GEN_TARGETS,
			 .seed = 1,
			 .frame_bytes = GEN_FRAME_BYTES,
			 .src_mac = { 2, 0, 0, 0, 0, 1 },
			 .send_ifindex = ifindex },
		.count = 1000000,
		.seconds = 60,
		.cpu = -1,
	};
	struct gen_result result;
	struct gen *gen;
	int ret;

	ret = parse_send(argc, argv, &options);
	if (ret)
		return ret;
	if (gen_pin_cpu(options.cpu) < 0) {
		fprintf(stderr, "flood: cannot run on CPU %d\n", options.cpu);
		return EXIT_FAILURE;
	}
	if (gen_new(&options.gen, &gen))
		return EXIT_FAILURE;
	ret = gen_run(gen, 0, options.count, (uint32_t)(options.seconds * 1000), &result);
	gen_free(gen);
	if (ret)
		return EXIT_FAILURE;
	printf("{\"sent\": %llu, \"elapsed_ns\": %llu, \"interrupted\": %s}\n",
	       (unsigned long long)result.sent, (unsigned long long)result.elapsed_ns,
	       result.interrupted ? "true" : "false");
	return EXIT_SUCCESS;
}

/* Counters of all CPUs in one line. */
static int print_sunk(int map_fd)
{
	int n_cpus = libbpf_num_possible_cpus();
	struct flood_sink sum = { 0 }, *sinks;
	uint32_t zero = 0;

	sinks = n_cpus > 0 ? calloc((size_t)n_cpus, sizeof(*sinks)) : NULL;
	if (!sinks)
		return -ENOMEM;
	if (bpf_map_lookup_elem(map_fd, &zero, sinks)) {
		free(sinks);
		return -errno;
	}
	for (int i = 0; i < n_cpus; i++) {
		sum.packets += sinks[i].packets;
		sum.bytes += sinks[i].bytes;
		sum.wrong += sinks[i].wrong;
	}
	free(sinks);
	printf("{\"packets\": %llu, \"bytes\": %llu, \"wrong_hop_limit\": %llu}\n",
	       (unsigned long long)sum.packets, (unsigned long long)sum.bytes,
	       (unsigned long long)sum.wrong);
	fflush(stdout);
	return 0;
}

static int serve_sink(uint32_t ifindex, int prog_fd, int map_fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	char line[64];
	int ret;

	ret = bpf_xdp_attach((int)ifindex, prog_fd,
			     XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (ret)
		return ret;
	ret = bpf_obj_get_info_by_fd(map_fd, &info, &len);
	printf("{\"map_id\": %u}\n", info.id);
	fflush(stdout);
	while (!ret && !stopped && fgets(line, sizeof(line), stdin))
		ret = print_sunk(map_fd);
	bpf_xdp_detach((int)ifindex, XDP_FLAGS_DRV_MODE, NULL);
	return ret;
}

static int flood_sink(uint32_t ifindex)
{
	struct bpf_object *object = bpf_object__open_file(gen_beside("flood.bpf.o"), NULL);
	struct bpf_program *prog;
	int ret;

	if (!object) {
		fprintf(stderr, "flood: %s: %s\n", gen_beside("flood.bpf.o"), strerror(errno));
		return EXIT_FAILURE;
	}
	bpf_object__for_each_program(prog, object)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), "flood_sink"));
	ret = bpf_object__load(object);
	if (!ret) {
		prog = bpf_object__find_program_by_name(object, "flood_sink");
		ret = serve_sink(ifindex, bpf_program__fd(prog),
				 bpf_object__find_map_fd_by_name(object, "sunk"));
	}
	if (ret)
		fprintf(stderr, "flood: cannot sink: %s\n", strerror(-ret));
	bpf_object__close(object);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	uint32_t ifindex;

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
