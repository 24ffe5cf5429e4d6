// SPDX-License-Identifier: GPL-2.0-only
/* The scratch memory, one piece a CPU: it is given back, and a packet that finds it in use passes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "tests.h"

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

	harness_world(&world);
	world_port(&world, DEV_IN)->flags |= SIXLANE_PORT_RULES;
	world.meta.rules.word = 0;
	harness_install(&world);
	frame_plain(&frame, 0, 0);
	EXPECT(.frame = &frame, .verdict = verdict, .once = true);
}

void scratch_test_taken(void **state)
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
