// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's own tables, of IPv6 and of IPv4, as a BPF program asks them: by bpf_fib_lookup, in
 * a network namespace that has as many routes.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "../kernel_net.h"
#include "bpf.h"

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

/*
 * What the kernel has for its own structures and per-CPU data: no account is kept of a table of
 * routes. The rest of the machine has a part in it, so that this says something of many routes
 * only.
 */
static uint64_t kernel_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kilobytes, sum = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %llu", &kilobytes) == 1 ||
		    sscanf(line, "Percpu: %llu", &kilobytes) == 1)
			sum += kilobytes * 1024;
	return sum;
}

#define FEWEST_TO_WEIGH 10000u

static void free_changes(void *own)
{
	bench_net_changes_free(own);
}

static int fill(struct bench_side *side, struct bench_bpf *bpf)
{
	int family = side->engine->ipv4 ? AF_INET : AF_INET6, ret;
	uint64_t before, after, start;

	bpf->netns = bench_net_make(&bpf->packet.ifindex);
	if (bpf->netns < 0)
		return bpf->netns;
	before = kernel_bytes();
	start = util_now_ns();
	ret = bench_net_fill(bpf->netns, bpf->packet.ifindex, family, side->table);
	side->insert_ns = util_now_ns() - start;
	after = kernel_bytes();
	if (side->table->n >= FEWEST_TO_WEIGH && after > before)
		side->bytes = after - before;
	if (ret)
		return ret;
	bpf->own = bench_net_changes_new(bpf->netns, bpf->packet.ifindex, family, side->table);
	bpf->free_own = free_changes;
	return bpf->own ? choose_flags(bpf) : -ENOMEM;
}

static int change(struct bench_side *side, size_t i, bool back)
{
	const struct bench_bpf *bpf = side->state;

	return bench_net_change(bpf->own, i, back);
}

/* fib6 is such a trie as bench_table_depth() counts, with a root of its own that is always there.
 */
static int depth6(struct bench_side *side, uint32_t *nodes)
{
	*nodes = bench_table_depth(side->table) + (side->table->prefixes[0].len > 0);
	return 0;
}

static int depth4(struct bench_side *side, uint32_t *nodes)
{
	const struct bench_bpf *bpf = side->state;

	*nodes = bench_net_depth4(bpf->netns);
	return 0;
}

/* route_bytes: as measured with a million of them, 810 and 150, and some more. */
const struct bench_engine bench_kernel6 = {
	.name = "kernel6",
	.route_bytes = 1000,
	.bpf = &(const struct bench_bpf_engine){ "bench-lookup.bpf.o", "kernel6", NULL, fill,
						 NULL },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.weighs_machine = true,
	.change = change,
	.depth = depth6,
	.close = bench_bpf_close,
};

const struct bench_engine bench_kernel4 = {
	.name = "kernel4",
	.route_bytes = 200,
	.ipv4 = true,
	.any_answer = true,
	.bpf = &(const struct bench_bpf_engine){ "bench-lookup.bpf.o", "kernel4", NULL, fill,
						 NULL },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.weighs_machine = true,
	.change = change,
	.depth = depth4,
	.close = bench_bpf_close,
};
