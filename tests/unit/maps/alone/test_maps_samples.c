// SPDX-License-Identifier: GPL-2.0-only
/* The ring of samples, and the word by which one is asked for. libbpf is replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../unit.h"

#include "../../../../user/maps/samples.c"

struct ring_buffer {
	ring_buffer_sample_fn fn;
	void *ctx;
	uint32_t next, n;
	size_t bytes;
	int fail;
};

static struct ring_buffer ring;

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx,
				     const struct ring_buffer_opts *opts)
{
	assert_null(opts);
	assert_int_equal(fd, LOADER_SAMPLES);
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
		struct sixlane_sample sample = { .egress = rb->next++ };
		int rc = rb->fn(rb->ctx, &sample, rb->bytes);

		if (rc < 0)
			return rc;
	}
	return (int)rb->n;
}

static void samples_come_in_bounded_steps(void **state)
{
	struct sixlane_sample out[8];
	struct maps_samples *samples;
	struct maps maps;

	(void)state;
	for (int i = 0; i < LOADER_N_MAPS; i++)
		maps.fd[i] = i;
	ring = (struct ring_buffer){ .n = 10, .bytes = sizeof(*out) };
	assert_int_equal(maps_samples_open(&maps, &samples), 0);
	assert_int_equal(maps_samples_fd(samples), 33);
	assert_int_equal(maps_samples_read(samples, out, 0), 0);
	assert_int_equal(maps_samples_read(samples, out, 3), 3);
	assert_int_equal(out[0].egress, 0);
	assert_int_equal(out[2].egress, 2);
	assert_int_equal(maps_samples_read(samples, out, 8), 7);
	assert_int_equal(out[6].egress, 9);
	assert_int_equal(maps_samples_read(samples, out, 8), 0);
	/* of another program */
	ring = (struct ring_buffer){ .fn = ring.fn, .ctx = ring.ctx, .n = 10, .bytes = 8 };
	assert_int_equal(maps_samples_read(samples, out, 8), 0);
	ring.fail = EIO;
	assert_int_equal(maps_samples_read(samples, out, 1), -EIO);
	maps_samples_close(samples);
	assert_int_equal(maps_samples_open(&maps, &samples), -EIO);
	maps_samples_close(NULL);
}

static void a_sample_is_asked_for(void **state)
{
	struct sixlane_neigh neighbours[3] = { { .used = 1 }, { .used = 1 }, { .used = 1 } };
	struct maps maps = { .neighbours = neighbours };

	(void)state;
	assert_true(maps_sample_draw(&maps, 1));
	assert_false(maps_sample_draw(&maps, 1));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(neighbours[i].draw, i == 1);
		assert_int_equal(neighbours[i].used, i != 1);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_come_in_bounded_steps),
		cmocka_unit_test(a_sample_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
