// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the datapath writes to a neighbour: that it is used, so that the daemon keeps it alive, and
 * that the sample which the daemon asked for was sent.
 */
#include <linux/bpf.h>

#include "tests.h"

#define NOBODY N_NEIGHBOURS

#define NEXT_HOP_OF(who) SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_##who
#define PATH_MTU                                                                       \
	{                                                                              \
		.flags = SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_KERNEL, .mtu = 1400 \
	}

static const struct mark {
	const char *name;
	uint32_t next_hop;
	struct sixlane_exception exception; /* without flags: none */
	enum harness_prog prog;
	size_t payload;
	uint32_t action;
	enum neighbour used;
} marks[] = {
	{ "gateway", NH_GATEWAY, .action = XDP_REDIRECT, .used = NEIGH_GATEWAY },
	{ "on-link", NH_ON_LINK, .action = XDP_REDIRECT, .used = NEIGH_HOST },
	{ "another port's gateway", NH_ALT, .action = XDP_REDIRECT, .used = NEIGH_ALT },
	{ "the trace marks none", NH_GATEWAY, .prog = PROG_TRACE, .action = XDP_REDIRECT,
	  .used = NOBODY },

	/* the kernel may send the packet to another member, and never ask for this one */
	{ "silent member", NH_GROUP, .action = XDP_PASS, .used = NEIGH_SILENT },
	{ "silent first of equal routes", NH_GROUP + 1, .action = XDP_PASS, .used = NEIGH_SILENT },
	/* the kernel may know nothing of the exception and send the packet by the route */
	{ "silent exception", NH_GATEWAY,
	  .exception = { .flags = NEXT_HOP_OF(OPERATOR), .next_hop = NH_SILENT },
	  .action = XDP_PASS, .used = NEIGH_SILENT },
	{ "exception", NH_GATEWAY,
	  .exception = { .flags = NEXT_HOP_OF(KERNEL), .next_hop = NH_ALT }, .action = XDP_REDIRECT,
	  .used = NEIGH_ALT },
	/* the sender may have no other traffic that keeps it */
	{ "answer", NH_GATEWAY, .exception = PATH_MTU, .payload = 1400, .action = XDP_REDIRECT,
	  .used = NEIGH_IN },
	{ "no answer", NH_GATEWAY, .exception = PATH_MTU, .payload = 1360, .action = XDP_REDIRECT,
	  .used = NEIGH_GATEWAY },

	/* the daemon must not keep a neighbour alive that no forwarded packet needs */
	{ "too big", NH_GATEWAY, .payload = 2000, .action = XDP_PASS, .used = NOBODY },
	{ "unresolved", NH_SILENT, .action = XDP_PASS, .used = NOBODY },
	{ "local", NH_ENTRY + SIXLANE_PASS_LOCAL, .action = XDP_PASS, .used = NOBODY },
};

static void install(const struct mark *mark)
{
	const uint32_t silent = NH_SILENT;
	static struct world world;

	harness_world(&world);
	if (mark->exception.flags)
		world_add_exception_and_ways(&world, &mark->exception);
	else
		world_add_route(&world, "2001:db8:2::/48", 0, mark->next_hop);
	world_set_buckets(&world, NH_GROUP, 0, &silent, 1);
	world_set_buckets(&world, NH_GROUP + 1, 1, &silent, 1);
	world.next_hops[NH_GROUP + 1].nh_entry.type = SIXLANE_NH_EQUAL_METRIC;
	harness_install(&world);
}

void mark_test_used(void **state)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const struct mark *mark = &marks[i];
		struct frame frame;

		if (!harness_has(mark->prog))
			continue;
		install(mark);
		frame_plain(&frame, mark->payload, 0);
		if (harness_send(mark->prog, &frame, NULL) != mark->action)
			fail_msg("%s: another action", mark->name);
		for (int n = 0; n < N_NEIGHBOURS; n++)
			if (harness_neigh(world_neigh_slot((enum neighbour)n))->used !=
			    (n == (int)mark->used))
				fail_msg("%s: neighbour %d is marked otherwise", mark->name, n);
	}
}

/* --- samples -------------------------------------------------------------------------------- */

/* The next packet of this neighbour is to be sampled. */
static struct sixlane_neigh *draw(enum neighbour neighbour)
{
	struct sixlane_neigh *neigh = harness_neigh(world_neigh_slot(neighbour));

	neigh->sample = 1;
	return neigh;
}

/* UDP from port 4321 to 53, of DSCP 46. */
static struct frame sampled_frame(const uint32_t tags[FRAME_TAGS])
{
	static struct frame frame;

	frame_plain(&frame, 0, 0);
	frame_patch(&frame, AT_VERSION, "6b80");
	frame_set16(&frame, AT_PAYLOAD, 4321);
	frame_set16(&frame, AT_PAYLOAD + 2, 53);
	frame_push(&frame, tags, FRAME_TAGS);
	return frame;
}

static void expect_sample(uint32_t next_hop, enum neighbour via, const uint32_t tags[FRAME_TAGS],
			  enum device in)
{
	struct frame frame = sampled_frame(tags);
	struct sixlane_neigh *neigh;
	struct sixlane_sample sample, wanted = {
		.dst = world_addr(FRAME_DST),
		.src = world_addr(FRAME_SRC),
		.ingress = WORLD_IFINDEX(in),
		.iif = WORLD_IFINDEX(in),
		.table = SIXLANE_TABLE_MAIN,
		.egress = WORLD_IFINDEX(world_neigh_device(via)),
		.src_port = __builtin_bswap16(4321),
		.dst_port = __builtin_bswap16(53),
		.next_header = 17,
		.tclass = 0xb8,
	};

	harness_install_route(next_hop);
	neigh = draw(via);
	wanted.next_hop = neigh->key.addr;
	assert_int_equal(harness_send(PROG_AS_IS, &frame, NULL), XDP_REDIRECT);
	assert_int_equal(harness_take_samples(&sample, 1), 1);
	assert_memory_equal(&sample, &wanted, sizeof(wanted));
	assert_int_equal(neigh->sample, 0);
	assert_int_equal(neigh->used, 1);
}

/* Ports are only of a protocol that has some. */
void sample_test_what_it_says(void **state)
{
	static const uint32_t none[FRAME_TAGS], tag[FRAME_TAGS] = { 0x8100000a };
	struct frame frame = sampled_frame(none);
	struct sixlane_sample sample;

	expect_sample(NH_GATEWAY, NEIGH_GATEWAY, none, DEV_IN);
	expect_sample(NH_ON_LINK, NEIGH_HOST, none, DEV_IN);
	expect_sample(NH_VIA(NEIGH_OUT_10), NEIGH_OUT_10, none, DEV_IN);
	expect_sample(NH_ALT, NEIGH_ALT, tag, DEV_IN_10);
	frame_patch(&frame, AT_NEXT_HEADER, "3a");
	harness_install_route(NH_GATEWAY);
	draw(NEIGH_GATEWAY);
	harness_send(PROG_AS_IS, &frame, NULL);
	assert_int_equal(harness_take_samples(&sample, 1), 1);
	assert_int_equal(sample.next_header, 58);
	assert_int_equal(sample.src_port | sample.dst_port, 0);
}

static void expect_none(enum harness_prog prog, enum neighbour drawn)
{
	struct frame frame;

	draw(drawn);
	frame_plain(&frame, 0, 0);
	harness_send(prog, &frame, NULL);
	assert_int_equal(harness_take_samples(NULL, 0), 0);
	assert_int_equal(harness_neigh(world_neigh_slot(drawn))->sample, 1);
}

/*
 * Only of what is forwarded by a route: an exception may rightly differ from what the kernel would
 * do. Once for each request of the daemon, and only of the neighbour's first packet since it was
 * last marked as used.
 */
void sample_test_when_it_is_drawn(void **state)
{
	const struct sixlane_exception value = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_OPERATOR,
		.next_hop = NH_ALT,
	};
	struct sixlane_neigh *gateway = harness_neigh(world_neigh_slot(NEIGH_GATEWAY));
	struct frame frame;

	harness_install_exception(&value);
	expect_none(PROG_AS_IS, NEIGH_ALT);
	harness_install_route(NH_SILENT);
	expect_none(PROG_AS_IS, NEIGH_SILENT);
	harness_install_route(NH_BACK);
	expect_none(PROG_AS_IS, NEIGH_GATEWAY);
	harness_install_route(NH_GATEWAY);
	expect_none(PROG_AS_IS, NEIGH_ALT); /* which also marks the gateway as used */
	expect_none(PROG_AS_IS, NEIGH_GATEWAY);
	gateway->used = 0;
	if (harness_has(PROG_TRACE))
		expect_none(PROG_TRACE, NEIGH_GATEWAY);
	frame_plain(&frame, 0, 0);
	for (int i = 0; i < 3; i++) {
		if (i != 1)
			gateway->used = 0;
		harness_send(PROG_AS_IS, &frame, NULL);
	}
	assert_int_equal(harness_take_samples(NULL, 0), 1);
}
