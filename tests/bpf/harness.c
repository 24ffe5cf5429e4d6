// SPDX-License-Identifier: GPL-2.0-only
/*
 * One packet through the program and the assertions on it. Setup is in setup.c. Counters are
 * compared as the difference of two snapshots of all CPUs, of which the first is the last one's
 * second as long as no packet ran unseen.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "setup.h"
#include "tables.h"

static struct setup setup;
static struct world installed; /* what the hashes and the tries hold now */
static struct tables tables;   /* what is compiled */
static uint32_t engine = SIXLANE_ENGINE_COMPILED;
static enum sixlane_verdict decoy = SIXLANE_DROP_BLACKHOLE;

const char *harness_verdict_name(uint32_t verdict)
{
	static const char *const names[] = {
#define X(name, action, string, text) [SIXLANE_##name] = string,
		SIXLANE_VERDICTS(X)
#undef X
	};

	return verdict < SIXLANE_N_VERDICTS ? names[verdict] : "(no such verdict)";
}

int harness_open(const char *object, const char *frags_object, const char *trace_object)
{
	int err = setup_open(&setup, object, frags_object, trace_object);

	if (!err)
		err = figures_open(&setup);
	if (err)
		return err;
	tables_open(&tables,
		    &(struct tables_fds){ setup.map_fd[MAP_FIB], setup.map_fd[MAP_FIB_FIRST],
					  setup.map_fd[MAP_FIB_ARENA] });
	return 0;
}

void harness_close(void)
{
	tables_close(&tables);
	setup_close(&setup);
	figures_close();
}

_Bool harness_has(enum harness_prog prog)
{
	return setup.objects[prog];
}

int harness_prog_fd(enum harness_prog prog)
{
	figures_miss();
	return setup.prog_fd[prog];
}

/* --- CPUs ---------------------------------------------------------------------------------- */

static cpu_set_t all_cpus;

_Bool harness_pin(int cpu)
{
	cpu_set_t one;

	if (!CPU_COUNT(&all_cpus))
		sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return cpu < setup.n_cpus && !sched_setaffinity(0, sizeof(one), &one);
}

void harness_unpin(void)
{
	sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

/* --- the world in the maps --------------------------------------------------------------- */

static void put(enum setup_map map, const void *key, const void *value, const char *what)
{
	setup_must(bpf_map_update_elem(setup.map_fd[map], key, value, BPF_ANY), what);
}

/* All destinations in all tables. */
static const struct sixlane_route_key decoy_key;

/* All keys of one of the world's lists, with their values or without. */
#define DELETE_ALL(map, list, field)                       \
	for (size_t i_ = 0; i_ < installed.n_##list; i_++) \
	bpf_map_delete_elem(setup.map_fd[map], &installed.list[i_].field)
#define PUT_ALL(map, list, key, value)                     \
	for (size_t i_ = 0; i_ < installed.n_##list; i_++) \
	put(map, &installed.list[i_].key, &installed.list[i_].value, #list)

static void uninstall(void)
{
	DELETE_ALL(MAP_PORT_INDEX, port_index, ifindex);
	DELETE_ALL(MAP_VLANS, vlans, key);
	DELETE_ALL(MAP_NEIGH_INDEX, neigh_index, key);
	DELETE_ALL(MAP_ROUTES, routes, key);
	bpf_map_delete_elem(setup.map_fd[MAP_ROUTES], &decoy_key);
	DELETE_ALL(MAP_SOURCES, sources, key);
	DELETE_ALL(MAP_POLICIES, policies, key);
}

void harness_answer_by(uint32_t by, enum sixlane_verdict otherwise)
{
	engine = by;
	decoy = otherwise;
}

static void compile(const struct world_route *route, bool is_real, uint32_t instead)
{
	struct prefix prefix = { .addr = route->key.addr };

	if (is_real)
		prefix.len = (uint8_t)(route->key.prefix_len - SIXLANE_TABLE_BITS);
	else
		prefix.addr = (union sixlane_addr){ 0 };
	tables_put(&tables, ntohl(route->key.table), &prefix, is_real ? route->value : instead);
}

/*
 * One engine gets the routes. The other one answers every lookup by the decoy, so a test that
 * passes was answered by the right one.
 */
static void install_routes(const struct world *w)
{
	const struct world_route everything = { .key.table = htonl(SIXLANE_TABLE_MAIN) };
	const bool compiled = engine == SIXLANE_ENGINE_COMPILED;
	/* No rule's suppress_prefixlength lets this one go by. */
	const uint32_t instead = sixlane_route_value(NH_ENTRY + decoy, 128);

	tables_clear(&tables);
	if (!compiled)
		compile(&everything, false, instead);
	for (size_t i = 0; i < w->n_routes; i++) {
		compile(&w->routes[i], compiled, instead);
		if (!compiled)
			put(MAP_ROUTES, &w->routes[i].key, &w->routes[i].value, "sl_routes");
	}
	if (compiled)
		put(MAP_ROUTES, &decoy_key, &instead, "sl_routes");
	tables_build(&tables);
	tables.maps.fib_head->engine = engine;
}

/* Slots out of the world are free. */
static void install_pairs(const struct world *w)
{
	memset(harness_maps.guard, 0xff, SIXLANE_GUARD_WORDS * sizeof(*harness_maps.guard));
	for (uint32_t in = 0; in < WORLD_PORTS; in++)
		for (uint32_t out = 0; out < WORLD_PORTS; out++)
			if (w->held[in][out])
				harness_maps.guard[sixlane_guard_word(in, out)] &=
					~(1ull << out % 64);
}

void harness_install(const struct world *w)
{
	uninstall();
	installed = *w;
	*harness_maps.meta = w->meta;
	memcpy(harness_maps.ports, w->ports, sizeof(w->ports));
	memcpy(harness_maps.next_hops, w->next_hops, sizeof(w->next_hops));
	memcpy(harness_maps.buckets, w->buckets, sizeof(w->buckets));
	memcpy(harness_maps.neighbours, w->neighbours, sizeof(w->neighbours));
	memcpy(harness_maps.rules, w->rules, sizeof(w->rules));
	PUT_ALL(MAP_PORT_INDEX, port_index, ifindex, slot);
	PUT_ALL(MAP_VLANS, vlans, key, slot);
	PUT_ALL(MAP_NEIGH_INDEX, neigh_index, key, slot);
	install_routes(w);
	PUT_ALL(MAP_SOURCES, sources, key, value);
	PUT_ALL(MAP_POLICIES, policies, key, value);
	install_pairs(w);
	figures_install(w);
}

void harness_install_route(uint32_t next_hop)
{
	static struct world world;

	world_init(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, next_hop);
	harness_install(&world);
}

void harness_install_exception(const struct sixlane_exception *value)
{
	static struct world world;

	world_init(&world);
	world_add_exception_and_ways(&world, value);
	harness_install(&world);
}

void harness_install_locked_mtu(uint32_t mtu)
{
	const uint32_t flags =
		SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_LOCKED | SIXLANE_EXCEPTION_KERNEL;

	harness_install_exception(&(struct sixlane_exception){ .flags = flags, .mtu = mtu });
}

/* --- one packet ------------------------------------------------------------------------ */

#define META_MAX 252 /* of any kernel */
#define META_BYTE 0x5c

int harness_run_linear(enum harness_prog prog, uint32_t ingress, const struct frame *in,
		       size_t linear, struct frame *out, uint32_t *action)
{
	static uint8_t buffer[META_MAX + FRAME_MAX];
	struct xdp_md ctx = {
		.data = (uint32_t)in->meta,
		.data_end = (uint32_t)(in->meta + linear),
		.ingress_ifindex = ingress,
	};
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
	int err;

	if (in->meta) {
		memset(buffer, META_BYTE, in->meta);
		memcpy(buffer + in->meta, in->bytes, in->len);
		opts.data_in = opts.data_out = buffer;
		opts.data_size_in += (uint32_t)in->meta;
		opts.data_size_out = sizeof(buffer);
	}
	figures_miss();
	err = bpf_prog_test_run_opts(setup.prog_fd[prog], &opts);
	if (err)
		return err;
	out->meta = in->meta;
	out->len = opts.data_size_out - in->meta;
	for (size_t i = 0; i < in->meta; i++)
		out->meta -= buffer[i] != META_BYTE;
	if (in->meta)
		memcpy(out->bytes, buffer + in->meta, out->len);
	*action = opts.retval;
	return 0;
}

static int run(enum harness_prog prog, uint32_t ingress, const struct frame *in, struct frame *out,
	       uint32_t *action)
{
	return harness_run_linear(prog, ingress, in, in->len, out, action);
}

uint32_t harness_send(enum harness_prog prog, const struct frame *in, struct frame *out)
{
	static struct frame unused;
	uint32_t action;

	setup_must(run(prog, WORLD_IFINDEX(DEV_IN), in, out ? out : &unused, &action),
		   "BPF_PROG_TEST_RUN");
	return action;
}

size_t harness_meta_max(void)
{
	static struct frame frame, out;
	uint32_t action;

	frame_plain(&frame, 64, 0);
	for (frame.meta = META_MAX; frame.meta > META_MAX / 2; frame.meta -= 4)
		if (!run(PROG_AS_IS, WORLD_IFINDEX(DEV_IN), &frame, &out, &action))
			return frame.meta;
	return 0;
}

/* An answer leaves by where the packet came in. */
static uint32_t expected_action(enum harness_prog prog, uint32_t ingress,
				const struct expected *expected)
{
	const bool shows_egress = prog == PROG_SHOWS_EGRESS || prog == PROG_FRAGS_SHOWS_EGRESS;

	switch (expected->verdict) {
	case SIXLANE_FORWARD:
		return shows_egress ? expected->egress : XDP_REDIRECT;
	case SIXLANE_ANSWER_TOO_BIG:
		return shows_egress ? ingress : XDP_REDIRECT;
	case SIXLANE_DROP_BLACKHOLE:
	case SIXLANE_DROP_TOO_BIG:
	case SIXLANE_DROP_TOO_BIG_RATE:
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}

/* What happened to a frame. */
struct outcome {
	uint32_t ingress; /* ifindex */
	uint32_t action;
	struct frame out;
};

static bool is_same_frame(const struct frame *a, const struct frame *b)
{
	return a->len == b->len && a->meta == b->meta && !memcmp(a->bytes, b->bytes, a->len);
}

static bool are_figures(enum harness_prog prog, const struct frame *in,
			const struct expected *expected)
{
	struct expected without_figures = *expected;

	if (prog == PROG_TRACE)
		without_figures.hit = NULL, without_figures.icmp_event = NULL;
	return figures_are(in, &without_figures);
}

static bool is_outcome(enum harness_prog prog, const struct frame *in,
		       const struct outcome *outcome, const struct expected *expected)
{
	return outcome->action == expected_action(prog, outcome->ingress, expected) &&
	       is_same_frame(&outcome->out, expected->out) && are_figures(prog, in, expected);
}

static void explain(enum harness_prog prog, const struct frame *in, const struct outcome *outcome,
		    const struct expected *expected, size_t n)
{
	fprintf(stderr, "program %d, none of %zu outcomes; the first is %s in slot %u\n", (int)prog,
		n, harness_verdict_name(expected->verdict), expected->slot);
	if (outcome->action != expected_action(prog, outcome->ingress, expected))
		fprintf(stderr, "action %u, expected %u\n", outcome->action,
			expected_action(prog, outcome->ingress, expected));
	if (!are_figures(prog, in, expected))
		figures_explain(expected);
	if (!is_same_frame(&outcome->out, expected->out)) {
		frame_dump("came out", &outcome->out);
		frame_dump("expected", expected->out);
	}
	frame_dump("went in", in);
}

_Bool harness_check(enum harness_prog prog, uint32_t ingress, const struct frame *in,
		    const struct expected *expected, size_t n, enum harness_sweep sweep)
{
	static struct outcome outcome;

	for (uint32_t slot = 0; slot < WORLD_NEIGHBOURS; slot++)
		harness_maps.neighbours[slot].used = 0;
	figures_begin();
	outcome.ingress = ingress;
	setup_must(run(prog, ingress, in, &outcome.out, &outcome.action), "BPF_PROG_TEST_RUN");
	figures_end(in, sweep);
	for (size_t i = 0; i < n; i++)
		if (is_outcome(prog, in, &outcome, &expected[i]))
			return true;
	explain(prog, in, &outcome, expected, n);
	return false;
}

/* The answer that a device sends to this MAC about a packet as it came in. */
static struct answer answer_by(enum device dev, const uint8_t *dst_mac, uint32_t mtu)
{
	return (struct answer){
		.mtu = mtu,
		.dst_mac = dst_mac,
		.src_mac = world_device_mac[dev],
		.src = world_source(dev)->bytes,
		.hop_limit = WORLD_HOP_LIMIT(dev),
	};
}

void harness_build_answer(struct frame *out, const struct frame *packet, uint32_t mtu)
{
	const struct answer answer = answer_by(DEV_IN, world_neigh_mac[NEIGH_IN], mtu);

	answer_build(out, packet, &answer);
}

/* What a case comes out as. in: with its tags. */
static void build_out(const struct harness_case *c, const struct frame *in, struct frame *out)
{
	const enum device egress = world_neigh_device(c->via);
	struct answer answer;

	if (c->out) {
		*out = *c->out;
	} else if (c->verdict == SIXLANE_ANSWER_TOO_BIG) {
		answer = answer_by(c->as,
				   c->answer.turned ? c->frame->bytes + AT_SRC_MAC
						    : world_neigh_mac[c->answer.via],
				   c->answer.mtu);
		answer.decremented = c->answer.decremented;
		answer_build(out, c->frame, &answer);
		frame_push(out, world_device_tags(c->as), WORLD_TAGS);
	} else if (c->verdict == SIXLANE_FORWARD) {
		*out = *c->frame;
		frame_route(out, world_neigh_mac[c->via], world_device_mac[egress]);
		frame_push(out, world_device_tags(egress), WORLD_TAGS);
	} else {
		*out = *in;
	}
}

/*
 * Whether a neighbour must be marked as used, so that the daemon keeps it alive: those of forwarded
 * packets, and of senders that are answered, who may have no other traffic. -1: either is right.
 */
static int must_be_used(const struct harness_case *c, enum harness_prog prog, enum neighbour n)
{
	if (prog == PROG_TRACE)
		return 0;
	switch (c->verdict) {
	case SIXLANE_FORWARD:
		return n == c->via;
	case SIXLANE_ANSWER_TOO_BIG:
		return !c->answer.turned && n == c->answer.via;
	case SIXLANE_PASS_UNRESOLVED:
		return c->silent_used && n == NEIGH_SILENT;
	case SIXLANE_PASS_LOCAL:
		return 0;
	default:
		return c->verdict == SIXLANE_PASS_TOO_BIG && n == NEIGH_GATEWAY ? 0 : -1;
	}
}

static void expect_from(enum harness_prog prog, const struct harness_case *c,
			const struct frame *in, const struct expected *expected,
			enum harness_sweep sweep)
{
	assert_true(harness_check(prog, WORLD_IFINDEX(c->in), in, expected, 1, sweep));
	for (int n = 0; n < N_NEIGHBOURS; n++) {
		int used = (int)harness_maps.neighbours[world_neigh_slot((enum neighbour)n)].used;
		int must = must_be_used(c, prog, (enum neighbour)n);

		if (must >= 0 && used != must)
			fail_msg("program %d, neighbour %d: used is %d", (int)prog, n, used);
	}
}

void harness_expect_case(const struct harness_case *c)
{
	/* The programs that must do the same, a bit each. */
	static const uint32_t also[N_PROGS] = {
		[PROG_AS_IS] =
			1u << PROG_SHOWS_EGRESS | 1u << PROG_TRACE | 1u << PROG_FRAGS_SHOWS_EGRESS,
		[PROG_FRAGS] = 1u << PROG_FRAGS_SHOWS_EGRESS,
	};
	static struct frame in, out;
	const struct expected expected = {
		.verdict = c->verdict,
		.slot = c->slot_lost ? 0
			: c->at_home ? WORLD_IFINDEX(c->as)
				     : world_port_slot(c->as),
		.egress = WORLD_IFINDEX(c->slave ? c->slave
						 : world_device_xmit(world_neigh_device(c->via))),
		.out = &out,
		.hit = c->hit,
		.icmp_event = c->icmp_event,
	};

	in = *c->frame;
	if (c->tags)
		frame_push(&in, c->tags, FRAME_TAGS);
	build_out(c, &in, &out);
	expect_from(c->prog, c, &in, &expected, c->sweep);
	for (int prog = 0; prog < N_PROGS; prog++)
		if (!c->once && also[c->prog] >> prog & 1 && harness_has((enum harness_prog)prog))
			expect_from((enum harness_prog)prog, c, &in, &expected, SWEEP_WORLD);
}
