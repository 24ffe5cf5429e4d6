// SPDX-License-Identifier: GPL-2.0-only
/* The reader of a ring. The module under test is included, and libbpf replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../unit.h"

#include "../../../../user/maps/ring.c"

struct ring_buffer {
	ring_buffer_sample_fn fn;
	void *ctx;
	uint32_t next, n;
	size_t bytes; /* of a record */
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

/* As libbpf: a record is consumed before its function is called, and a negative answer ends it. */
int ring_buffer__consume(struct ring_buffer *rb)
{
	if (rb->fail)
		return -rb->fail;
	while (rb->next < rb->n) {
		struct sixlane_hint hint = { .ifindex = rb->next++ };
		int rc = rb->fn(rb->ctx, &hint, rb->bytes);

		if (rc < 0)
			return rc;
	}
	return (int)rb->n;
}

static void records_come_in_bounded_steps(void **state)
{
	const struct maps maps = { .fd = { [LOADER_HINTS] = LOADER_HINTS } };
	struct sixlane_hint out[8];
	struct maps_ring *reader;

	(void)state;
	ring = (struct ring_buffer){ .n = 10, .bytes = sizeof(*out) };
	assert_int_equal(maps_ring_open(&maps, LOADER_HINTS, sizeof(*out), &reader), 0);
	assert_int_equal(maps_ring_fd(reader), 33);
	assert_int_equal(maps_ring_read(reader, out, 0), 0);
	assert_int_equal(maps_ring_read(reader, out, 3), 3);
	assert_int_equal(out[0].ifindex, 0);
	assert_int_equal(out[2].ifindex, 2);
	assert_int_equal(maps_ring_read(reader, out, 8), 7);
	assert_int_equal(out[6].ifindex, 9);
	assert_int_equal(maps_ring_read(reader, out, 8), 0);
	/* of another program */
	ring = (struct ring_buffer){ .fn = ring.fn, .ctx = ring.ctx, .n = 10, .bytes = 8 };
	assert_int_equal(maps_ring_read(reader, out, 8), 0);
	ring.fail = EIO;
	assert_int_equal(maps_ring_read(reader, out, 1), -EIO);
	maps_ring_close(reader);
	assert_int_equal(maps_ring_open(&maps, LOADER_HINTS, sizeof(*out), &reader), -EIO);
	maps_ring_close(NULL);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_bounded_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
