// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that counts at a device, and its maps. It hangs on a link, so that it is gone with
 * this process however that ends. Natively where the driver can, in one buffer or several. The
 * device is promiscuous meanwhile: what a router sends out of a bond has the MAC of one next hop,
 * whichever port of this machine it arrives at, and a NIC drops what is for another one's before
 * XDP sees it.
 */
#include "generator.h" /* first: linux/if.h gives way to net/if.h */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

#define OBJECT "bench-generator_sink.bpf.o"

struct generator_sink {
	struct bpf_object *object;
	int link, config, counts, latencies;
	int promiscuous; /* a socket, for as long as which the device is so */
	bool is_generic;
	int n_cpus;
};

static int map_fd(const struct bpf_object *object, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(object, name));
}

static int load(const char *path, bool frags, struct bpf_object **out)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *prog;
	struct bpf_map *rodata;
	int ret;

	if (!object)
		return -errno;
	prog = bpf_object__next_program(object, NULL);
	rodata = bpf_object__find_map_by_name(object, ".rodata");
	ret = rodata ? bpf_map__set_initial_value(rodata, &frags, sizeof(frags)) : -ENOENT;
	if (!ret && frags)
		ret = bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	ret = ret ?: bpf_object__load(object);
	if (ret)
		bpf_object__close(object);
	else
		*out = object;
	return ret;
}

/* Its descriptor, or -errno. */
static int attach(const struct bpf_object *object, int ifindex, uint32_t mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, options);
	int prog = bpf_program__fd(bpf_object__next_program(object, NULL)), fd;

	options.flags = mode;
	fd = bpf_link_create(prog, ifindex, BPF_XDP, &options);
	return fd < 0 ? -errno : fd;
}

static int try_mode(struct generator_sink *sink, const char *path, int ifindex, bool frags,
		    uint32_t mode)
{
	int ret = load(path, frags, &sink->object);

	if (ret)
		return ret;
	sink->link = attach(sink->object, ifindex, mode);
	if (sink->link >= 0)
		return 0;
	bpf_object__close(sink->object);
	sink->object = NULL;
	return sink->link;
}

/* What is tried first says why not, unless another way is found. */
static int try_all(struct generator_sink *sink, const char *path, int ifindex)
{
	int ret = try_mode(sink, path, ifindex, false, XDP_FLAGS_DRV_MODE);

	if (!ret || ret == -EBUSY || ret == -EPERM)
		return ret;
	if (!try_mode(sink, path, ifindex, true, XDP_FLAGS_DRV_MODE))
		return 0;
	sink->is_generic = true;
	return try_mode(sink, path, ifindex, false, XDP_FLAGS_SKB_MODE) ? ret : 0;
}

static int attach_failed(int ret, const char *name)
{
	if (ret == -EBUSY || ret == -EEXIST)
		return bench_bad(
			-EBUSY,
			"%s already has an XDP program, so received packets cannot be counted: run `ip link set dev %s xdp off`, or use another --rx",
			name, name);
	return bench_fail(ret, "%s: cannot count what arrives (root and XDP are needed)", name);
}

/* A packet socket of no protocol, which gets nothing. */
static int open_promiscuous(const struct generator_port *port, int *out)
{
	const struct packet_mreq request = { .mr_ifindex = port->ifindex,
					     .mr_type = PACKET_MR_PROMISC };

	*out = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (*out < 0 ||
	    setsockopt(*out, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)))
		return bench_fail(-errno, "%s: cannot make it promiscuous", port->name);
	return 0;
}

static int open_program(struct generator_sink *sink, const struct generator_port *port)
{
	char path[PATH_MAX];
	int ret = bench_find_file(OBJECT, path, sizeof(path));

	if (ret)
		return bench_fail(ret, "%s", path);
	libbpf_set_print(NULL); /* it is said below */
	ret = try_all(sink, path, port->ifindex);
	if (ret)
		return attach_failed(ret, port->name);
	sink->config = map_fd(sink->object, "sink_config");
	sink->counts = map_fd(sink->object, "sink_counts");
	sink->latencies = map_fd(sink->object, "latencies");
	return 0;
}

int generator_sink_open(const struct generator_port *port, struct generator_sink **out)
{
	struct generator_sink *sink = calloc(1, sizeof(*sink));
	int ret;

	if (!sink)
		return bench_fail(-ENOMEM, "%s", port->name);
	sink->link = sink->promiscuous = -1;
	sink->n_cpus = libbpf_num_possible_cpus();
	ret = open_program(sink, port) ?: open_promiscuous(port, &sink->promiscuous);
	if (ret)
		generator_sink_close(sink);
	else
		*out = sink;
	return ret;
}

bool generator_sink_is_generic(const struct generator_sink *sink)
{
	return sink->is_generic;
}

void generator_sink_close(struct generator_sink *sink)
{
	if (!sink)
		return;
	util_close(&sink->promiscuous);
	util_close(&sink->link);
	bpf_object__close(sink->object);
	free(sink);
}

/* --- counts --------------------------------------------------------------------------------- */

static int clear(int map, uint32_t n, size_t size, int n_cpus)
{
	void *zeros = calloc((size_t)n_cpus, size);
	int ret = zeros ? 0 : -ENOMEM;

	for (uint32_t key = 0; key < n && !ret; key++)
		ret = bpf_map_update_elem(map, &key, zeros, BPF_ANY);
	free(zeros);
	return ret;
}

int generator_sink_begin(struct generator_sink *sink, const union sixlane_addr *src, bool any_host,
			 uint8_t hop_limit)
{
	struct sink_config config = { .hop_limit = hop_limit, .any_host = any_host };
	uint32_t key = 0;
	int ret;

	memcpy(config.src, src, sizeof(config.src));
	ret = bpf_map_update_elem(sink->config, &key, &config, BPF_ANY)
		      ?: clear(sink->counts, SINK_QUEUES, sizeof(struct sink_count), sink->n_cpus)
		      ?: clear(sink->latencies, LATENCY_BUCKETS, sizeof(uint64_t), sink->n_cpus);
	return ret ? bench_fail(ret, "counters of the receiving side") : 0;
}

int generator_sink_read(const struct generator_sink *sink, struct generator_arrived *out)
{
	_cleanup_free_ struct sink_count *each = calloc((size_t)sink->n_cpus, sizeof(*each));

	memset(out, 0, sizeof(*out));
	for (uint32_t queue = 0; queue < SINK_QUEUES && each; queue++) {
		if (bpf_map_lookup_elem(sink->counts, &queue, each))
			return bench_fail(-errno, "counters of the receiving side");
		for (int cpu = 0; cpu < sink->n_cpus; cpu++) {
			out->queues[queue] += each[cpu].packets;
			out->total.packets += each[cpu].packets;
			out->total.bytes += each[cpu].bytes;
			out->total.wrong_hop_limit += each[cpu].wrong_hop_limit;
			out->total.probes += each[cpu].probes;
		}
	}
	return each ? 0 : bench_fail(-ENOMEM, "counters of the receiving side");
}

int generator_sink_latencies(const struct generator_sink *sink, uint64_t counts[LATENCY_BUCKETS])
{
	return latency_read(sink->latencies, counts);
}
