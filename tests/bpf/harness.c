// SPDX-License-Identifier: GPL-2.0-only
/*
 * One packet through the program and the assertions on it. Setup is in setup.c. Counters are
 * compared as the difference of two snapshots summed over the CPUs.
 */
#include "harness.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "setup.h"

static struct setup setup;
static struct world installed; /* what the hashes and the trie hold now */

const char *harness_verdict_name(uint32_t verdict)
{
	static const char *const names[] = {
#define X(name, action, string, text) [SIXLANE_##name] = string,
		SIXLANE_VERDICTS(X)
#undef X
	};

	return verdict < SIXLANE_N_VERDICTS ? names[verdict] : "(no such verdict)";
}

int harness_open(const char *object)
{
	return setup_open(&setup, object);
}

int harness_load_strictly(void)
{
	return setup_load_strictly(&setup);
}

void harness_close(void)
{
	setup_close(&setup);
}

const uint32_t *harness_ifindex(void)
{
	return setup.ifindex;
}

int harness_prog_fd(enum harness_prog prog)
{
	return setup.prog_fd[prog];
}

void harness_world(struct world *world)
{
	world_init(world, setup.ifindex);
}

struct sixlane_neigh *harness_neigh(uint32_t slot)
{
	return &setup.neighbours[slot];
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	abort();
}

static void uninstall(void)
{
	const int *fd = setup.map_fd;

	for (size_t i = 0; i < installed.n_port_index; i++)
		bpf_map_delete_elem(fd[MAP_PORT_INDEX], &installed.port_index[i].ifindex);
	for (size_t i = 0; i < installed.n_neigh_index; i++)
		bpf_map_delete_elem(fd[MAP_NEIGH_INDEX], &installed.neigh_index[i].key);
	for (size_t i = 0; i < installed.n_routes; i++)
		bpf_map_delete_elem(fd[MAP_ROUTES], &installed.routes[i].key);
}

void harness_install(const struct world *w)
{
	const int *fd = setup.map_fd;

	uninstall();
	installed = *w;
	*setup.meta = w->meta;
	memcpy(setup.ports, w->ports, sizeof(w->ports));
	memcpy(setup.next_hops, w->next_hops, sizeof(w->next_hops));
	memcpy(setup.neighbours, w->neighbours, sizeof(w->neighbours));
	for (size_t i = 0; i < w->n_port_index; i++)
		must(bpf_map_update_elem(fd[MAP_PORT_INDEX], &w->port_index[i].ifindex,
					 &w->port_index[i].slot, BPF_ANY),
		     "sl_port_index");
	for (size_t i = 0; i < w->n_neigh_index; i++)
		must(bpf_map_update_elem(fd[MAP_NEIGH_INDEX], &w->neigh_index[i].key,
					 &w->neigh_index[i].slot, BPF_ANY),
		     "sl_neigh_index");
	for (size_t i = 0; i < w->n_routes; i++)
		must(bpf_map_update_elem(fd[MAP_ROUTES], &w->routes[i].key, &w->routes[i].value,
					 BPF_ANY),
		     "sl_routes");
}

/* --- counters -------------------------------------------------------------------------- */

static struct sixlane_counters before[SIXLANE_MAX_PORTS], after[SIXLANE_MAX_PORTS];

static void add_cpus(struct sixlane_counters *sum, const struct sixlane_counters *per_cpu)
{
	memset(sum, 0, sizeof(*sum));
	for (int cpu = 0; cpu < setup.n_cpus; cpu++) {
		for (size_t v = 0; v < SIXLANE_MAX_VERDICTS; v++) {
			sum->verdicts[v].packets += per_cpu[cpu].verdicts[v].packets;
			sum->verdicts[v].bytes += per_cpu[cpu].verdicts[v].bytes;
		}
	}
}

/* Counters of the first slots; returns how many. */
static uint32_t snapshot(struct sixlane_counters *to, enum harness_sweep sweep)
{
	static uint32_t keys[SIXLANE_MAX_PORTS];
	uint32_t n = sweep == SWEEP_ALL ? SIXLANE_MAX_PORTS : WORLD_PORTS, last;

	must(bpf_map_lookup_batch(setup.map_fd[MAP_COUNTERS], NULL, &last, keys, setup.per_cpu, &n,
				  NULL),
	     "sl_counters");
	for (uint32_t i = 0; i < n; i++)
		add_cpus(&to[keys[i]], setup.per_cpu + (size_t)i * (size_t)setup.n_cpus);
	return n;
}

/* Every counter of every slot: what rose must be what is expected, and nothing else. */
static bool counters_agree(uint32_t n_slots, size_t bytes, const struct expected *expected)
{
	bool agree = true;

	for (uint32_t slot = 0; slot < n_slots; slot++) {
		for (uint32_t v = 0; v < SIXLANE_MAX_VERDICTS; v++) {
			bool hit = slot == expected->slot && v == expected->verdict;
			uint64_t packets =
				after[slot].verdicts[v].packets - before[slot].verdicts[v].packets;
			uint64_t more =
				after[slot].verdicts[v].bytes - before[slot].verdicts[v].bytes;

			if (packets == hit && more == (hit ? bytes : 0))
				continue;
			fprintf(stderr,
				"counter %s in slot %u rose by %llu packets, %llu bytes; expected %s in slot %u\n",
				harness_verdict_name(v), slot, (unsigned long long)packets,
				(unsigned long long)more, harness_verdict_name(expected->verdict),
				expected->slot);
			agree = false;
		}
	}
	return agree;
}

/* --- one packet ------------------------------------------------------------------------ */

int harness_run(enum harness_prog prog, uint32_t ingress, const struct frame *in, struct frame *out,
		uint32_t *action)
{
	struct xdp_md ctx = { .data_end = (uint32_t)in->len, .ingress_ifindex = ingress };
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = in->bytes,
		.data_size_in = (uint32_t)in->len,
		.data_out = out->bytes,
		.data_size_out = sizeof(out->bytes),
		.ctx_in = &ctx,
		.ctx_size_in = sizeof(ctx),
		.repeat = 1,
	};
	int err = bpf_prog_test_run_opts(setup.prog_fd[prog], &opts);

	if (err)
		return err;
	out->len = opts.data_size_out;
	*action = opts.retval;
	return 0;
}

static uint32_t expected_action(enum harness_prog prog, const struct expected *expected)
{
	if (expected->verdict == SIXLANE_FORWARD)
		return prog == PROG_SHOWS_EGRESS ? expected->egress : XDP_REDIRECT;
	return expected->verdict == SIXLANE_DROP_BLACKHOLE ? XDP_DROP : XDP_PASS;
}

_Bool harness_check(enum harness_prog prog, uint32_t ingress, const struct frame *in,
		    const struct expected *expected, enum harness_sweep sweep)
{
	uint32_t action, want = expected_action(prog, expected), n_slots;
	struct frame out = { 0 };
	bool agree = true;

	n_slots = snapshot(before, sweep);
	must(harness_run(prog, ingress, in, &out, &action), "BPF_PROG_TEST_RUN");
	snapshot(after, sweep);
	if (action != want) {
		fprintf(stderr, "action %u, expected %u\n", action, want);
		agree = false;
	}
	if (out.len != expected->out->len || memcmp(out.bytes, expected->out->bytes, out.len)) {
		frame_dump("came out", &out);
		frame_dump("expected", expected->out);
		agree = false;
	}
	agree = counters_agree(n_slots, in->len, expected) && agree;
	if (!agree)
		frame_dump("went in", in);
	return agree;
}

void harness_expect(enum harness_prog prog, enum device dev, const struct frame *in,
		    const struct expected *expected, enum harness_sweep sweep)
{
	uint32_t ingress = setup.ifindex[dev];

	assert_true(harness_check(prog, ingress, in, expected, sweep));
	if (expected->verdict == SIXLANE_FORWARD)
		assert_true(harness_check(PROG_SHOWS_EGRESS, ingress, in, expected, SWEEP_WORLD));
}
