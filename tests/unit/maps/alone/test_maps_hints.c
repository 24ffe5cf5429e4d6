// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring of hints, and how many found no room in it. The module under test is included, and
 * libbpf replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../unit.h"

#include "../../../../user/maps/hints.c"

#define N_CPUS 3

static struct maps maps;

/* --- the ring ----------------------------------------------------------------------------- */

struct ring_buffer {
	ring_buffer_sample_fn fn;
	void *ctx;
	uint32_t next, n;
	int fail;
};

static struct ring_buffer ring;

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx,
				     const struct ring_buffer_opts *opts)
{
	assert_null(opts);
	assert_int_equal(fd, LOADER_HINTS);
	ring.fn = fn;
	ring.ctx = ctx;
	errno = ring.fail;
	return ring.fail ? NULL : &ring;
}

void ring_buffer__free(struct ring_buffer *rb)
{
	assert_ptr_equal(rb, &ring);
}

int ring_buffer__epoll_fd(const struct ring_buffer *rb)
{
	assert_ptr_equal(rb, &ring);
	return 33;
}

/* As libbpf: a record is taken before its function is called, and a negative answer ends it. */
int ring_buffer__consume(struct ring_buffer *rb)
{
	int rc;

	if (rb->fail)
		return -rb->fail;
	while (rb->next < rb->n) {
		struct sixlane_hint hint = { .ifindex = rb->next++ };

		rc = rb->fn(rb->ctx, &hint, sizeof(hint));
		if (rc < 0)
			return rc;
	}
	return (int)rb->n;
}

static uint32_t heard;

static void hear(void *ctx, const struct sixlane_hint *hint)
{
	assert_ptr_equal(ctx, &heard);
	assert_int_equal(hint->ifindex, heard++);
}

static void hints_come_in_bounded_steps(void **state)
{
	struct maps_hints *hints;

	(void)state;
	ring = (struct ring_buffer){ .n = 10 };
	heard = 0;
	assert_int_equal(maps_hints_open(&maps, hear, &heard, &hints), 0);
	assert_int_equal(maps_hints_fd(hints), 33);
	assert_int_equal(maps_hints_read(hints, 0), 0);
	assert_int_equal(maps_hints_read(hints, 4), 4);
	assert_int_equal(heard, 4);
	assert_int_equal(maps_hints_read(hints, 100), 6);
	assert_int_equal(maps_hints_read(hints, 100), 0);
	assert_int_equal(heard, 10);
	ring.fail = EIO;
	assert_int_equal(maps_hints_read(hints, 1), -EIO);
	maps_hints_close(hints);
	assert_int_equal(maps_hints_open(&maps, hear, &heard, &hints), -EIO);
	maps_hints_close(NULL);
}

/* --- what it lost ------------------------------------------------------------------------- */

static struct sixlane_cpu cpus[N_CPUS];

int libbpf_num_possible_cpus(void)
{
	return N_CPUS;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	assert_int_equal(fd, LOADER_CPU);
	assert_int_equal(*(const uint32_t *)key, 0);
	memcpy(value, cpus, sizeof(cpus));
	return 0;
}

static void lost_hints_are_summed(void **state)
{
	uint64_t lost;

	(void)state;
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
		cpus[cpu].hints_lost = 1u << cpu;
	assert_int_equal(maps_hints_lost(&maps, &lost), 0);
	assert_int_equal(lost, 7);
}

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < LOADER_N_MAPS; i++)
		maps.fd[i] = i;
	return 0;
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(hints_come_in_bounded_steps, setup),
		cmocka_unit_test_setup(lost_hints_are_summed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
