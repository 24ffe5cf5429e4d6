// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples, which the daemon asks for by a word of a neighbour and of which there is one each time.
 * And scratch memory, one piece a CPU.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "tests.h"

/* The next packet of this neighbour is to be sampled. */
static struct sixlane_neigh *draw(enum neighbour neighbour)
{
	struct sixlane_neigh *neigh = &harness_maps.neighbours[world_neigh_slot(neighbour)];

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
	assert_int_equal(harness_take(RING_SAMPLES, &sample, 1), 1);
	assert_memory_equal(&sample, &wanted, sizeof(wanted));
	assert_int_equal(neigh->sample, 0);
	assert_int_equal(neigh->used, 1);
}

/* Ports are only of a protocol that has some. */
TEST(test_contents, "contents of a sample")
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
	assert_int_equal(harness_take(RING_SAMPLES, &sample, 1), 1);
	assert_int_equal(sample.next_header, 58);
	assert_int_equal(sample.src_port | sample.dst_port, 0);
}

static void expect_none(enum harness_prog prog, enum neighbour drawn)
{
	struct frame frame;

	draw(drawn);
	frame_plain(&frame, 0, 0);
	harness_send(prog, &frame, NULL);
	assert_int_equal(harness_take(RING_SAMPLES, NULL, 0), 0);
	assert_int_equal(harness_maps.neighbours[world_neigh_slot(drawn)].sample, 1);
}

/*
 * Only of what is forwarded by a route: an exception may rightly differ from what the kernel would
 * do. Once for each request of the daemon, and only of the neighbour's first packet since it was
 * last marked as used.
 */
TEST(test_when_it_is_drawn, "when a sample is drawn")
{
	const struct sixlane_exception value = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_OPERATOR,
		.next_hop = NH_ALT,
	};
	struct sixlane_neigh *gateway = &harness_maps.neighbours[world_neigh_slot(NEIGH_GATEWAY)];
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
	assert_int_equal(harness_take(RING_SAMPLES, NULL, 0), 1);
}

/* struct scratch of bpf/scratch.h */
#define SCRATCH_WORDS 13

/* The map of the program under test, which is pinned nowhere. */
static int open_scratch(void)
{
	uint32_t ids[64], size;
	struct bpf_prog_info prog = { .nr_map_ids = 64, .map_ids = (uintptr_t)ids };
	struct bpf_map_info map;
	int fd;

	size = sizeof(prog);
	assert_int_equal(bpf_obj_get_info_by_fd(harness_prog_fd(PROG_AS_IS), &prog, &size), 0);
	for (uint32_t i = 0; i < prog.nr_map_ids && i < 64; i++) {
		fd = bpf_map_get_fd_by_id(ids[i]);
		memset(&map, 0, sizeof(map));
		size = sizeof(map);
		assert_int_equal(bpf_obj_get_info_by_fd(fd, &map, &size), 0);
		if (!strcmp(map.name, "sl_scratch"))
			return fd;
		close(fd);
	}
	fail_msg("the program has no map sl_scratch");
	return -1;
}

/* On every CPU. */
static void set_users(int fd, uint64_t users)
{
	uint64_t values[256][SCRATCH_WORDS] = { 0 };
	const uint32_t zero = 0;

	assert_true(libbpf_num_possible_cpus() <= 256);
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		values[cpu][0] = users;
	assert_int_equal(bpf_map_update_elem(fd, &zero, values, BPF_ANY), 0);
}

static void expect_users(int fd, uint64_t users)
{
	uint64_t values[256][SCRATCH_WORDS];
	const uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(fd, &zero, values), 0);
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		assert_int_equal(values[cpu][0], users);
}

/* A packet of a port with rules, of which there are none. */
static void expect(enum sixlane_verdict verdict)
{
	struct world world;
	struct frame frame;

	world_init(&world);
	world_port(&world, DEV_IN)->flags |= SIXLANE_PORT_RULES;
	world.meta.rules.word = 0;
	harness_install(&world);
	frame_plain(&frame, 0, 0);
	EXPECT(.frame = &frame, .verdict = verdict, .once = true);
}

TEST(test_taken, "a packet that meets scratch memory taken is the kernel's")
{
	int fd = open_scratch();

	set_users(fd, 0);
	expect(SIXLANE_PASS_NO_ROUTE);
	expect_users(fd, 0);
	set_users(fd, 1);
	expect(SIXLANE_PUNT_RULES);
	expect_users(fd, 1);
	set_users(fd, 0);
	expect(SIXLANE_PASS_NO_ROUTE);
	close(fd);
}
