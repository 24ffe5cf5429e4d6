// SPDX-License-Identifier: GPL-2.0-only
/* See gen.h. */
#include "gen.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "../../user/util.h"
#include "prefixes.h"

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

struct gen {
	struct bpf_object *object;
	int prog_fd, into_fd, state_fd;
	uint8_t frame[GEN_FRAME_BYTES_MAX];
	uint32_t frame_bytes;
};

static int complain(int err, const char *what)
{
	fprintf(stderr, "generator: %s: %s\n", what, strerror(-err));
	return err;
}

int gen_parse_mac(const char *text, uint8_t mac[6])
{
	int n = 0;

	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx%n", &mac[0], &mac[1], &mac[2], &mac[3],
		   &mac[4], &mac[5], &n) != 6 ||
	    text[n])
		return -EINVAL;
	return 0;
}

const char *gen_beside(const char *name)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - NAME_MAX - 2);
	char *slash;

	if (len < 0)
		return name;
	path[len] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash + 1, NAME_MAX, "%s", name);
	return path;
}

int gen_pin_cpu(int cpu)
{
	cpu_set_t set;

	if (cpu < 0) {
		if (sched_getaffinity(0, sizeof(set), &set))
			return -errno;
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				cpu = i;
	}
	/* What else runs on that CPU would be counted as ours. Not having the right is no error. */
	setpriority(PRIO_PROCESS, 0, -20);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : cpu;
}

static uint16_t load16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void store16(uint8_t *at, uint16_t host)
{
	uint16_t value = htons(host);

	memcpy(at, &value, sizeof(value));
}

/* All of the frame that no packet changes. */
static void build_frame(struct gen *gen, const struct gen_options *options)
{
	uint16_t udp_len = (uint16_t)(options->frame_bytes - 54);
	uint8_t *frame = gen->frame;

	gen->frame_bytes = options->frame_bytes;
	memcpy(frame, options->dst_mac, 6);
	memcpy(frame + 6, options->src_mac, 6);
	store16(frame + 12, 0x86dd);
	frame[14] = 0x60;
	store16(frame + 18, udp_len);
	frame[20] = IPPROTO_UDP;
	frame[21] = FLOOD_HOP_LIMIT;
	memcpy(frame + 22, options->src_addr, 16);
	store16(frame + FLOOD_DST_PORT_OFFSET, FLOOD_DST_PORT);
	store16(frame + FLOOD_UDP_LEN_OFFSET, udp_len);
}

/* RFC 8200 section 8.1, less the source port. Sums of big-endian words stay big-endian. */
static uint32_t checksum_part(const struct gen *gen, const uint8_t dst[16])
{
	const uint8_t *frame = gen->frame;
	uint32_t sum = htons(IPPROTO_UDP);

	for (int i = 0; i < 16; i += 2)
		sum += (uint32_t)load16(frame + 22 + i) + load16(dst + i);
	sum += 2u * load16(frame + FLOOD_UDP_LEN_OFFSET);
	return sum + load16(frame + FLOOD_DST_PORT_OFFSET);
}

static int fill_targets(const struct gen *gen, const struct prefixes *prefixes, uint64_t seed,
			uint32_t n)
{
	int fd = bpf_object__find_map_fd_by_name(gen->object, "targets");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (n * sizeof(struct flood_target) + page - 1) / page * page;
	struct flood_target *target;

	target = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (target == MAP_FAILED)
		return -errno;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t addr[16];

		prefixes_random_address(prefixes, &seed, addr);
		memcpy(target[i].addr, addr, sizeof(addr));
		target[i].sum = checksum_part(gen, addr);
	}
	munmap(target, bytes);
	return 0;
}

static uint32_t round_up_pow2(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power <<= 1;
	return power;
}

static const char *program_of(const struct gen_options *options)
{
	if (options->about.frame_bytes)
		return "flood_about";
	return options->send_ifindex ? "flood_send" : "flood_into";
}

static int configure(struct gen *gen, const struct gen_options *options, uint32_t n)
{
	struct flood_config config = { .target_mask = n - 1,
				       .ifindex = options->send_ifindex,
				       .about = options->about };
	const char *wanted = program_of(options);
	struct bpf_program *prog;
	struct bpf_map *map;
	int ret = 0;

	memcpy(config.header.bytes, gen->frame, FLOOD_HEADER_BYTES);
	bpf_object__for_each_program(prog, gen->object)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), wanted));
	bpf_object__for_each_map(map, gen->object)
	{
		if (!strcmp(bpf_map__name(map), "targets") && !options->about.frame_bytes)
			ret = ret ?: bpf_map__set_max_entries(map, n);
		else if (strstr(bpf_map__name(map), ".rodata"))
			ret = ret ?: bpf_map__set_initial_value(map, &config, sizeof(config));
	}
	return ret;
}

static int find_descriptors(struct gen *gen, const struct gen_options *options)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	prog = bpf_object__find_program_by_name(gen->object, program_of(options));
	gen->prog_fd = bpf_program__fd(prog);
	gen->into_fd = bpf_object__find_map_fd_by_name(gen->object, "into");
	bpf_object__for_each_map(map, gen->object) if (strstr(bpf_map__name(map), ".bss"))
		gen->state_fd = bpf_map__fd(map);
	return gen->state_fd > 0 ? 0 : -EPROTO;
}

static int load(struct gen *gen, const struct gen_options *options, uint32_t n)
{
	int ret;

	gen->object = bpf_object__open_file(gen_beside("flood.bpf.o"), NULL);
	if (!gen->object)
		return complain(-errno, gen_beside("flood.bpf.o"));
	ret = configure(gen, options, n) ?: bpf_object__load(gen->object)
						    ?: find_descriptors(gen, options);
	return ret ? complain(ret, "cannot load the generator") : 0;
}

static int prepare(struct gen *gen, const struct gen_options *options)
{
	_cleanup_(prefixes_free) struct prefixes prefixes = { 0 };
	uint32_t n = round_up_pow2(options->targets);
	int ret;

	ret = prefixes_read(options->prefixes, &prefixes);
	if (ret)
		return complain(ret, options->prefixes);
	build_frame(gen, options);
	ret = load(gen, options, n);
	if (ret)
		return ret;
	ret = fill_targets(gen, &prefixes, options->seed, n);
	return ret ? complain(ret, "cannot fill the targets") : 0;
}

static int prepare_about(struct gen *gen, const struct gen_options *options)
{
	const struct flood_about *about = &options->about;

	if (!options->send_ifindex || about->frame_bytes > FLOOD_ABOUT_BYTES ||
	    about->frame_bytes % 2 || about->n_places > FLOOD_ABOUT_PLACES)
		return complain(-EINVAL, "frame");
	for (uint32_t i = 0; i < about->n_places; i++)
		if (about->places[i] % 2 || about->places[i] + 8 > about->frame_bytes)
			return complain(-EINVAL, "place of the number");
	gen->frame_bytes = about->frame_bytes;
	return load(gen, options, round_up_pow2(options->targets));
}

int gen_new(const struct gen_options *options, struct gen **out)
{
	struct gen *gen;
	int ret;

	if (options->frame_bytes < GEN_FRAME_BYTES_MIN ||
	    options->frame_bytes > GEN_FRAME_BYTES_MAX)
		return complain(-EINVAL, "frame size");
	gen = calloc(1, sizeof(*gen));
	if (!gen)
		return -ENOMEM;
	ret = options->about.frame_bytes ? prepare_about(gen, options) : prepare(gen, options);
	if (ret)
		gen_free(gen);
	else
		*out = gen;
	return ret;
}

void gen_free(struct gen *gen)
{
	if (!gen)
		return;
	bpf_object__close(gen->object);
	free(gen);
}

int gen_into(struct gen *gen, int prog_fd)
{
	uint32_t zero = 0;

	if (bpf_map_update_elem(gen->into_fd, &zero, &prog_fd, 0))
		return complain(-errno, "cannot call the program under test");
	return 0;
}

/* A signal ends a test run early: the kernel looks for one between two batches. */
static void set_limit(uint32_t ms)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 },
	};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_signal(int number)
{
	(void)number;
}

/* The time of the last stamp stands for the packets after it, too. */
static uint64_t elapsed(const struct flood_state *state)
{
	uint64_t ns = state->stamp_ns - state->first_ns;

	return state->stamp_sent ? (uint64_t)((double)ns / state->stamp_sent * state->sent) : ns;
}

int gen_run(struct gen *gen, uint32_t ingress, uint32_t count, uint32_t limit_ms,
	    struct gen_result *result)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct xdp_md ctx = {
		.data_end = gen->frame_bytes,
		.ingress_ifindex = ingress,
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = gen->frame,
		    .data_size_in = gen->frame_bytes, .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .repeat = (int)count, .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64);
	struct flood_state state = { 0 };
	uint32_t zero = 0;
	int ret;

	if (!count || count > INT_MAX)
		return complain(-EINVAL, "number of packets");
	if (bpf_map_update_elem(gen->state_fd, &zero, &state, 0))
		return complain(-errno, "cannot reset the counters");
	sigaction(SIGALRM, &action, NULL);
	set_limit(limit_ms);
	ret = bpf_prog_test_run_opts(gen->prog_fd, &opts) ? -errno : 0;
	set_limit(0);
	if (ret && ret != -EINTR && ret != -EAGAIN)
		return complain(ret, "test run with live frames (needs Linux 5.18)");
	if (bpf_map_lookup_elem(gen->state_fd, &zero, &state))
		return complain(-errno, "cannot read the counters");
	*result = (struct gen_result){ .sent = state.sent,
				       .elapsed_ns = elapsed(&state),
				       .interrupted = ret != 0 };
	return 0;
}
