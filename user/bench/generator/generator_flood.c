// SPDX-License-Identifier: GPL-2.0-only
/*
 * The source "xdp": a program that writes frames and redirects them out of a port, run by
 * BPF_PROG_TEST_RUN in its live-frames mode (Linux 5.18) by a thread on each CPU. Unlike pktgen it
 * sends TCP SYNs, smaller frames, and to all prefixes of a table.
 *
 * - A frame leaves by the port's transmit queue of the CPU, which the driver has only where it has
 *   an XDP program: open() attaches one that passes everything, unless there is one.
 * - A thread serves one port, on one CPU; no two threads share both.
 */
#include "generator.h" /* first: linux/if.h gives way to net/if.h */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_link.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include "generator_flood.h"

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

#define OBJECT "bench-generator_flood.bpf.o"
#define HOP_LIMIT 64
#define PORT_DISCARD 9
#define PORT_HTTP 80
#define CHUNK 8192u /* tries of one system call, between which is seen whether it is over */
#define POLL_NS 5000000
#define UDP_FRAME (FLOOD_IP6_BYTES + FLOOD_UDP_BYTES + GENERATOR_FCS_BYTES)
#define MOST_THREADS 256u

/* --- opening -------------------------------------------------------------------------------- */

static struct {
	struct bpf_object *object;
	int links[GENERATOR_MOST_PORTS];
	size_t n;
} opened;

static int open_object(struct bpf_object **out)
{
	char path[PATH_MAX];
	int ret = bench_find_file(OBJECT, path, sizeof(path));

	if (ret)
		return bench_fail(ret, "%s", path);
	libbpf_set_print(NULL);
	*out = bpf_object__open_file(path, NULL);
	return *out ? 0 : bench_fail(-errno, "%s", path);
}

static struct bpf_program *only_program(struct bpf_object *object, const char *name)
{
	struct bpf_program *prog, *found = NULL;

	bpf_object__for_each_program(prog, object)
	{
		bool wanted = !strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, wanted);
		if (wanted)
			found = prog;
	}
	return found;
}

static int enable_port(const struct generator_port *port, int prog)
{
	LIBBPF_OPTS(bpf_link_create_opts, options);
	int fd;

	options.flags = XDP_FLAGS_DRV_MODE;
	fd = bpf_link_create(prog, port->ifindex, BPF_XDP, &options);
	if (fd >= 0)
		opened.links[opened.n++] = fd;
	else if (errno != EBUSY && errno != EEXIST)
		return bench_fail(-errno, "%s: its driver (%s) sends no frames of XDP", port->name,
				  port->driver);
	return 0;
}

static void flood_close(void)
{
	while (opened.n)
		close(opened.links[--opened.n]);
	bpf_object__close(opened.object);
	opened.object = NULL;
}

static int flood_open(const struct generator_port *ports, size_t n)
{
	struct bpf_program *prog;
	int ret = open_object(&opened.object);

	if (ret)
		return ret;
	prog = only_program(opened.object, "flood_pass");
	ret = bpf_object__load(opened.object);
	if (ret)
		ret = bench_fail(ret, "XDP programs (root is needed)");
	for (size_t i = 0; i < n && !ret; i++)
		ret = enable_port(&ports[i], bpf_program__fd(prog));
	if (ret)
		flood_close();
	return ret;
}

/* --- the frame ------------------------------------------------------------------------------ */

static void write_header(const struct generator_traffic *traffic, size_t port,
			 struct flood_settings *settings)
{
	uint16_t bytes = htons((uint16_t)(settings->frame_bytes - FLOOD_IP6_BYTES));
	struct ethhdr eth = { .h_proto = htons(ETH_P_IPV6) };
	struct ip6_hdr ip6 = { .ip6_flow = htonl(6u << 28), .ip6_plen = bytes };
	struct udphdr udp = { .dest = htons(PORT_DISCARD), .len = bytes };
	struct tcphdr tcp = { .dest = htons(PORT_HTTP), .doff = 5, .syn = 1, .window = 0xffff };
	uint8_t *at = settings->header;

	memcpy(eth.h_dest, traffic->dst_macs[port], ETH_ALEN);
	memcpy(eth.h_source, traffic->ports[port].mac, ETH_ALEN);
	ip6.ip6_hlim = HOP_LIMIT;
	ip6.ip6_nxt = settings->is_tcp ? IPPROTO_TCP : IPPROTO_UDP;
	memcpy(&ip6.ip6_src, &traffic->src, sizeof(ip6.ip6_src));
	memcpy(at, &eth, sizeof(eth));
	memcpy(at + sizeof(eth), &ip6, sizeof(ip6));
	if (settings->is_tcp)
		memcpy(at + FLOOD_IP6_BYTES, &tcp, sizeof(tcp));
	else
		memcpy(at + FLOOD_IP6_BYTES, &udp, sizeof(udp));
}

/* --- programs, one for each port ------------------------------------------------------------- */

/* Programs that see what did not leave. */
#define N_TRACERS 2
static const char *const tracers[N_TRACERS] = { "flood_sent", "flood_refused" };

struct flood {
	const struct generator_traffic *traffic;
	struct bpf_object *objects[GENERATOR_MOST_PORTS];
	struct bpf_link *links[GENERATOR_MOST_PORTS][N_TRACERS];
	unsigned int n_threads;
	int n_cpus;			 /* possible ones */
	struct flood_progress *progress; /* n_cpus of them */
	unsigned int n_ready;		 /* threads; atomic */
	bool is_over;			 /* atomic */
};

static int map_of(const struct bpf_object *object, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(object, name));
}

static int set_process(struct flood_settings *settings)
{
	struct stat ns;

	if (stat("/proc/self/ns/pid", &ns))
		return bench_fail(-errno, "/proc/self/ns/pid");
	settings->pid_ns_dev = ns.st_dev;
	settings->pid_ns_ino = ns.st_ino;
	settings->tgid = (uint32_t)getpid();
	return 0;
}

static int load_port(struct flood *flood, size_t port)
{
	const struct generator_traffic *traffic = flood->traffic;
	struct flood_settings settings = {
		.ifindex = (uint32_t)traffic->ports[port].ifindex,
		.frame_bytes = traffic->frame_bytes - GENERATOR_FCS_BYTES,
		.n_ranges = (uint32_t)traffic->n_ranges,
		.is_tcp = traffic->pattern == GENERATOR_SYN,
		.random_src = traffic->pattern == GENERATOR_SYN,
		.is_flow = traffic->pattern == GENERATOR_FLOW,
	};
	struct bpf_object *object;
	struct bpf_program *prog;
	int ret = open_object(&flood->objects[port]) ?: set_process(&settings);

	if (ret)
		return ret;
	object = flood->objects[port];
	settings.header_bytes =
		FLOOD_IP6_BYTES + (settings.is_tcp ? FLOOD_TCP_BYTES : FLOOD_UDP_BYTES);
	if (traffic->rate_pps > 0)
		settings.delay_ns = (uint64_t)(flood->n_threads * 1e9 / traffic->rate_pps);
	write_header(traffic, port, &settings);
	bpf_program__set_autoload(bpf_object__find_program_by_name(object, "flood_pass"), false);
	ret = bpf_map__set_initial_value(bpf_object__find_map_by_name(object, ".rodata"), &settings,
					 sizeof(settings));
	ret = ret ?: bpf_object__load(object);
	for (size_t i = 0; i < N_TRACERS && !ret; i++) {
		prog = bpf_object__find_program_by_name(object, tracers[i]);
		flood->links[port][i] = bpf_program__attach(prog);
		ret = flood->links[port][i] ? 0 : -errno;
	}
	return ret ? bench_fail(ret, "frames by XDP (Linux 5.18 is needed, with BTF)") : 0;
}

static int put_ranges(const struct flood *flood, size_t port)
{
	int fd = map_of(flood->objects[port], "flood_ranges"), ret = 0;

	_Static_assert(sizeof(struct flood_range) == sizeof(struct generator_range), "the same");
	for (uint32_t i = 0; i < flood->traffic->n_ranges && !ret; i++)
		ret = bpf_map_update_elem(fd, &i, &flood->traffic->ranges[i], BPF_ANY);
	return ret ? bench_fail(ret, "destinations") : 0;
}

static void free_ports(struct flood *flood)
{
	for (size_t i = 0; i < flood->traffic->n_ports; i++) {
		for (size_t k = 0; k < N_TRACERS; k++)
			bpf_link__destroy(flood->links[i][k]);
		bpf_object__close(flood->objects[i]);
	}
	free(flood->progress);
}

/* --- threads -------------------------------------------------------------------------------- */

struct thread {
	struct flood *flood;
	pthread_t id;
	unsigned int number;
	uint64_t most, length_ns; /* one of them, or 0: no end; both: nothing to do */
	int ret;
	bool is_over; /* atomic */
};

static size_t port_of(const struct thread *thread)
{
	return thread->number % thread->flood->traffic->n_ports;
}

/* Each port the same number of them, and each CPU one at least. */
static unsigned int count_threads(const struct generator_traffic *traffic)
{
	unsigned int ports = (unsigned int)traffic->n_ports, each = bench_n_cpus() / ports;

	if (each * ports > MOST_THREADS)
		each = MOST_THREADS / ports;
	return (each ? each : 1) * ports;
}

/* What its CPU has done for its port. */
static int read_progress(const struct thread *thread, struct flood_progress *out)
{
	struct flood *flood = thread->flood;
	_cleanup_free_ struct flood_progress *each = calloc((size_t)flood->n_cpus, sizeof(*each));
	uint32_t key = 0;
	int ret = -ENOMEM;

	if (each)
		ret = bpf_map_lookup_elem(map_of(flood->objects[port_of(thread)], "flood_progress"),
					  &key, each);
	if (!ret)
		*out = each[bench_cpu(thread->number)];
	return ret;
}

static int run_chunk(const struct thread *thread, uint8_t *frame)
{
	const struct flood *flood = thread->flood;
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct bpf_program *prog;

	prog = bpf_object__find_program_by_name(flood->objects[port_of(thread)], "flood");
	options.data_in = frame;
	options.data_size_in = flood->traffic->frame_bytes - GENERATOR_FCS_BYTES;
	options.repeat = CHUNK;
	options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
	return bpf_prog_test_run_opts(bpf_program__fd(prog), &options) && errno != EINTR ? -errno
											 : 0;
}

static bool is_done(const struct thread *thread, const struct flood_progress *progress)
{
	uint64_t sent = progress->frames - progress->refused;

	if (progress->frames && !sent)
		return true; /* the port takes none */
	if (!thread->length_ns)
		return sent >= thread->most;
	return progress->first_ns && util_now_ns() - progress->first_ns >= thread->length_ns;
}

static bool is_over(const struct flood *flood)
{
	return __atomic_load_n(&flood->is_over, __ATOMIC_ACQUIRE);
}

/* Whoever begins alone makes the run longer than it was to be. */
static void wait_for_others(struct flood *flood)
{
	__atomic_add_fetch(&flood->n_ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&flood->n_ready, __ATOMIC_ACQUIRE) < flood->n_threads &&
	       !is_over(flood))
		sched_yield();
}

static void *run_thread(void *arg)
{
	uint8_t frame[FLOOD_MOST_BYTES] = { 0 };
	struct flood_progress progress = { 0 };
	struct thread *thread = arg;

	thread->ret = bench_pin(thread->number);
	wait_for_others(thread->flood);
	while (!thread->ret && !is_done(thread, &progress) && !is_over(thread->flood))
		thread->ret = run_chunk(thread, frame) ?: read_progress(thread, &progress);
	__atomic_store_n(&thread->is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

static int begin_progress(struct flood *flood, const struct thread *threads, size_t port)
{
	const struct generator_traffic *traffic = flood->traffic;
	uint64_t seed = traffic->seed + port;
	uint32_t key = 0;

	memset(flood->progress, 0, (size_t)flood->n_cpus * sizeof(*flood->progress));
	for (unsigned int i = 0; i < flood->n_threads; i++) {
		struct flood_progress *progress = &flood->progress[bench_cpu(i)];

		if (port_of(&threads[i]) != port)
			continue;
		progress->random = bench_random(&seed) | 1;
		progress->most = threads[i].most;
		progress->length_ns = threads[i].length_ns;
	}
	return bpf_map_update_elem(map_of(flood->objects[port], "flood_progress"), &key,
				   flood->progress, BPF_ANY);
}

static bool all_over(const struct thread *threads, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!__atomic_load_n(&threads[i].is_over, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static int run_threads(struct flood *flood, struct thread *threads, bool (*unwanted)(void))
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	unsigned int n = 0;
	int ret = 0;

	for (; n < flood->n_threads && !ret; n++)
		ret = -pthread_create(&threads[n].id, NULL, run_thread, &threads[n]);
	if (ret)
		n--;
	while (!ret && !all_over(threads, n) && !unwanted())
		nanosleep(&pause, NULL);
	__atomic_store_n(&flood->is_over, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i].id, NULL);
		ret = ret ?: threads[i].ret;
	}
	return ret ? bench_fail(ret, "frames by XDP") : 0;
}

/* --- the run -------------------------------------------------------------------------------- */

static int collect(const struct thread *threads, unsigned int n, struct generator_sent *out)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0, refused = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int cpu = (unsigned int)bench_cpu(i);
		struct flood_progress progress;
		uint64_t sent;
		int ret = read_progress(&threads[i], &progress);

		if (ret)
			return bench_fail(ret, "counters of the sending side");
		sent = progress.frames - progress.refused;
		refused += progress.refused;
		out->ports[port_of(&threads[i])].frames += sent;
		out->ports[port_of(&threads[i])]
			.queues[cpu < SINK_QUEUES ? cpu : SINK_QUEUES - 1] += sent;
		if (sent && progress.last_ns > progress.first_ns)
			out->pps += (double)(sent - 1) * 1e9 /
				    (double)(progress.last_ns - progress.first_ns);
		if (progress.frames && progress.first_ns < first_ns)
			first_ns = progress.first_ns;
		if (progress.last_ns > last_ns)
			last_ns = progress.last_ns;
	}
	out->elapsed_ns = last_ns > first_ns ? last_ns - first_ns : 0;
	for (size_t i = 0; i < n && refused; i++)
		if (!out->ports[port_of(&threads[i])].frames)
			return bench_bad(
				-EIO,
				"%s takes no frames of XDP (the other end of a veth needs an "
				"XDP program, or GRO set when it is up)",
				threads[i].flood->traffic->ports[port_of(&threads[i])].name);
	if (refused)
		snprintf(out->note, sizeof(out->note),
			 "the driver rejected %llu more frames, its ring was full",
			 (unsigned long long)refused);
	return 0;
}

static int set_up(struct flood *flood, struct thread *threads)
{
	const struct generator_traffic *traffic = flood->traffic;
	int ret = 0;

	for (size_t i = 0; i < traffic->n_ports && !ret; i++)
		ret = load_port(flood, i) ?: put_ranges(flood, i);
	for (unsigned int i = 0; i < flood->n_threads; i++) {
		threads[i].flood = flood;
		threads[i].number = i;
		threads[i].most =
			traffic->count / flood->n_threads + (i < traffic->count % flood->n_threads);
		threads[i].length_ns = traffic->ns;
	}
	for (size_t i = 0; i < traffic->n_ports && !ret; i++)
		ret = begin_progress(flood, threads, i);
	return ret;
}

static int flood_send(const struct generator_traffic *traffic, bool (*unwanted)(void),
		      struct generator_sent *out)
{
	struct thread *threads = calloc(MOST_THREADS, sizeof(*threads));
	struct flood flood = { .traffic = traffic, .n_cpus = libbpf_num_possible_cpus() };
	struct generator_sent sent = { .burst = 1, .ranges = traffic->n_ranges };
	int ret;

	flood.n_threads = count_threads(traffic);
	flood.progress = calloc((size_t)flood.n_cpus, sizeof(*flood.progress));
	if (threads && flood.progress)
		ret = set_up(&flood, threads) ?: run_threads(&flood, threads, unwanted)
				      ?: collect(threads, flood.n_threads, &sent);
	else
		ret = bench_fail(-ENOMEM, "frames by XDP");
	free_ports(&flood);
	free(threads);
	if (!ret)
		*out = sent;
	return ret;
}

const struct generator_source generator_flood = {
	.name = "xdp",
	.least_frame_bytes = UDP_FRAME,
	.least_syn_bytes = FLOOD_HEADER_BYTES + GENERATOR_FCS_BYTES,
	.most_frame_bytes = FLOOD_MOST_BYTES + GENERATOR_FCS_BYTES,
	.hop_limit = HOP_LIMIT,
	.queue_ranges = FLOOD_RANGES,
	.takes = { [GENERATOR_RANDOM] = true,
		   [GENERATOR_FLOW] = true,
		   [GENERATOR_MISS] = true,
		   [GENERATOR_SYN] = true },
	.open = flood_open,
	.send = flood_send,
	.close = flood_close,
};
