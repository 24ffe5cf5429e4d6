// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's own tables, of IPv6 and of IPv4, as a BPF program asks them: by bpf_fib_lookup, in
 * a network namespace that has as many routes.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "bpf.h"
#include "kernel_net.h"

/* Of linux/bpf.h since Linux 6.3, which this may be built without. */
#define FIB_LOOKUP_SKIP_NEIGH (1u << 2)

/* The routes end in a device, not in a neighbour; older kernels look for one in vain. */
static int choose_flags(struct bench_bpf *bpf)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct bench_packet before = bpf->packet;
	int back, ret = bench_net_enter(bpf->netns, &back);

	if (ret)
		return ret;
	opts.data_in = opts.data_out = &bpf->packet;
	opts.data_size_in = opts.data_size_out = sizeof(bpf->packet);
	bpf->packet.fib_flags = FIB_LOOKUP_SKIP_NEIGH;
	ret = bpf_prog_test_run_opts(bpf->run[0], &opts);
	before.fib_flags = bpf->packet.sum ? FIB_LOOKUP_SKIP_NEIGH : 0;
	bpf->packet = before;
	if (ret)
		bench_fail(ret, "cannot run bpf_fib_lookup");
	return bench_net_leave(&back) ?: ret;
}

static int fill(struct bench_side *side, struct bench_bpf *bpf)
{
	int family = side->engine->ipv4 ? AF_INET : AF_INET6, ret;

	bpf->netns = bench_net_make(&bpf->packet.ifindex);
	if (bpf->netns < 0)
		return bpf->netns;
	ret = bench_net_fill(bpf->netns, bpf->packet.ifindex, family, side->table);
	return ret ?: choose_flags(bpf);
}

const struct bench_engine bench_kernel6 = {
	.name = "kernel6",
	.bpf = &(const struct bench_bpf_engine){ "bench-lookup.bpf.o", "kernel6", NULL, fill,
						 NULL },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.close = bench_bpf_close,
};

const struct bench_engine bench_kernel4 = {
	.name = "kernel4",
	.ipv4 = true,
	.any_answer = true,
	.bpf = &(const struct bench_bpf_engine){ "bench-lookup.bpf.o", "kernel4", NULL, fill,
						 NULL },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.close = bench_bpf_close,
};
