// SPDX-License-Identifier: GPL-2.0-only
/* See sink.h. */
#include "sink.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <string.h>

/* Since Linux 5.18, which this may be built without. */
#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1u << 5)
#endif

static int load(struct sink *sink, const char *path, bool large)
{
	struct bpf_program *prog = NULL, *wanted = NULL;
	int ret;

	sink->object = bpf_object__open_file(path, NULL);
	if (!sink->object)
		return -errno;
	while ((prog = bpf_object__next_program(sink->object, prog))) {
		bool is_it = !strcmp(bpf_program__name(prog), "flood_sink");

		bpf_program__set_autoload(prog, is_it);
		if (is_it)
			wanted = prog;
	}
	if (!wanted)
		return -EPROTO;
	if (large)
		bpf_program__set_flags(wanted, BPF_F_XDP_HAS_FRAGS);
	ret = bpf_object__load(sink->object);
	if (ret)
		return ret;
	sink->sunk_fd = bpf_object__find_map_fd_by_name(sink->object, "sunk");
	sink->latencies_fd = bpf_object__find_map_fd_by_name(sink->object, "latencies");
	ret = bpf_xdp_attach((int)sink->ifindex, bpf_program__fd(wanted),
			     XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (ret)
		sink->ifindex = 0;
	return ret;
}

int sink_open(uint32_t ifindex, bool large, struct sink *out)
{
	struct sink sink = { .ifindex = ifindex, .n_cpus = libbpf_num_possible_cpus() };
	char path[PATH_MAX];
	int ret = bench_find_file("bench-flood.bpf.o", path, sizeof(path));

	if (ret)
		return bench_fail(ret, "%s", path);
	sink.values = calloc((size_t)sink.n_cpus, sizeof(struct flood_sink));
	ret = sink.values ? load(&sink, path, large) : -ENOMEM;
	if (ret) {
		sink_close(&sink);
		return bench_fail(ret, "the packets' sink");
	}
	*out = sink;
	return 0;
}

void sink_close(struct sink *sink)
{
	if (sink->ifindex)
		bpf_xdp_detach((int)sink->ifindex, XDP_FLAGS_DRV_MODE, NULL);
	bpf_object__close(sink->object);
	free(sink->values);
	*sink = (struct sink){ 0 };
}

int sink_read(const struct sink *sink, struct flood_sink *sum)
{
	const struct flood_sink *values = sink->values;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(sink->sunk_fd, &zero, sink->values))
		return bench_fail(-errno, "the sink's counters");
	*sum = (struct flood_sink){ 0 };
	for (int i = 0; i < sink->n_cpus; i++) {
		sum->packets += values[i].packets;
		sum->bytes += values[i].bytes;
		sum->wrong += values[i].wrong;
	}
	return 0;
}
