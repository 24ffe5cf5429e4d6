/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps of exceptions and of the operator's, on a kernel that copies values word by word and CPU
 * by CPU. maps/exception.c and maps/excepted.c are included, libbpf and nanosleep() are replaced:
 * for one file of a program only.
 */
#ifndef UNIT_MAPS_MAPS_EXCEPTION_WORLD_H
#define UNIT_MAPS_MAPS_EXCEPTION_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../user/maps/excepted.c"
#include "../../../user/maps/exception.c"

#define N_CPUS 3
#define ROOM 600u

static struct {
	union sixlane_addr keys[ROOM];
	struct sixlane_exception values[ROOM][N_CPUS];
	struct sixlane_operator operators[ROOM];
	size_t n, n_operators;
	unsigned int updates, fail_update; /* this one fails, counted from 1 … */
	unsigned int fail_first;	   /* or so many of the next ones … */
	int fail;			   /* … with this errno */
	bool batches;
	/* Called between any two words that are copied. */
	void (*packet)(const struct sixlane_exception *value);
} kernel;

static unsigned int naps;

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	(void)left;
	assert_int_equal(wanted->tv_nsec, REFILL_STEP_NS);
	naps++;
	return 0;
}

static int fail_with(int error)
{
	errno = error;
	return -error;
}

static bool find(const void *key, size_t *at)
{
	for (*at = 0; *at < kernel.n; ++*at) {
		if (!memcmp(&kernel.keys[*at], key, sizeof(kernel.keys[0])))
			return true;
	}
	return false;
}

static int is_excepted(const void *key);

static void copy_words(struct sixlane_exception *to, const struct sixlane_exception *from)
{
	for (size_t i = 0; i < sizeof(*to) / 8; i++) {
		if (kernel.packet)
			kernel.packet(to);
		memcpy((uint64_t *)(void *)to + i, (const uint64_t *)(const void *)from + i, 8);
	}
	if (kernel.packet)
		kernel.packet(to);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	size_t at;

	assert_int_equal(flags, BPF_ANY);
	if (++kernel.updates == kernel.fail_update)
		return fail_with(kernel.fail);
	if (kernel.fail_first) {
		kernel.fail_first--;
		return fail_with(kernel.fail);
	}
	if (fd == LOADER_OPERATOR) {
		assert_memory_equal(key, &kernel.keys[kernel.n_operators], sizeof(kernel.keys[0]));
		memcpy(&kernel.operators[kernel.n_operators++], value, sizeof(*kernel.operators));
		return 0;
	}
	assert_int_equal(fd, LOADER_EXCEPTIONS);
	assert_int_equal(is_excepted(key), 1);
	if (!find(key, &at)) {
		memcpy(&kernel.keys[kernel.n++], key, sizeof(kernel.keys[0]));
		memcpy(kernel.values[at], value, sizeof(kernel.values[at]));
		return 0;
	}
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		copy_words(&kernel.values[at][cpu], (const struct sixlane_exception *)value + cpu);
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	size_t at;

	if (fd == LOADER_OPERATOR)
		return kernel.n_operators-- ? 0 : fail_with(ENOENT);
	if (!find(key, &at))
		return fail_with(ENOENT);
	assert_int_equal(is_excepted(key), 1);
	kernel.n--;
	kernel.keys[at] = kernel.keys[kernel.n];
	memcpy(kernel.values[at], kernel.values[kernel.n], sizeof(kernel.values[at]));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	size_t at;

	if (!find(key, &at))
		return fail_with(ENOENT);
	if (fd == LOADER_OPERATOR)
		memcpy(value, &kernel.operators[at], sizeof(kernel.operators[at]));
	else
		memcpy(value, kernel.values[at], sizeof(kernel.values[at]));
	return 0;
}

int bpf_map_get_next_key(int fd, const void *prev, void *next)
{
	size_t at = 0;

	(void)fd;
	if (prev && find(prev, &at))
		at++;
	if (at >= kernel.n)
		return fail_with(ENOENT);
	memcpy(next, &kernel.keys[at], sizeof(kernel.keys[at]));
	return 0;
}

int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	uint32_t at = 0, n = *count;

	(void)opts;
	*count = 0;
	if (!kernel.batches)
		return fail_with(EINVAL);
	if (in)
		memcpy(&at, in, sizeof(at));
	if (n > kernel.n - at)
		n = (uint32_t)kernel.n - at;
	memcpy(keys, &kernel.keys[at], n * sizeof(kernel.keys[0]));
	if (fd == LOADER_OPERATOR)
		memcpy(values, &kernel.operators[at], n * sizeof(kernel.operators[0]));
	else
		memcpy(values, kernel.values[at], n * sizeof(kernel.values[0]));
	at += n;
	memcpy(out, &at, sizeof(at));
	*count = n;
	return at == kernel.n ? fail_with(ENOENT) : 0;
}

int libbpf_num_possible_cpus(void)
{
	return N_CPUS;
}

static uint64_t excepted[SIXLANE_EXCEPTED_WORDS];
static uint8_t n_excepted[SIXLANE_EXCEPTED_BITS];
static struct sixlane_meta meta;
static struct maps maps = { .meta = &meta, .excepted = excepted, .n_excepted = n_excepted };

/* Both bits are there (1), none is (0), or one of them, which is wrong at any time. */
static int is_excepted(const void *key)
{
	int n = 0;

	for (uint32_t few = 0; few < 2; few++) {
		uint32_t bit = sixlane_excepted_bit(sixlane_exception_check(key), few);

		n += excepted[bit / 64] >> bit % 64 & 1;
	}
	return n == 1 ? -1 : n / 2;
}

static inline int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	memset(excepted, 0, sizeof(excepted));
	memset(n_excepted, 0, sizeof(n_excepted));
	memset(&meta, 0, sizeof(meta));
	maps.n_exceptions = 0;
	maps.no_memory = false;
	kernel.batches = true;
	for (int i = 0; i < LOADER_N_MAPS; i++)
		maps.fd[i] = i;
	return 0;
}

static const union sixlane_addr key = { .words = { 0x20010db8, 1, 2, 3 } };

static inline int set(const struct sixlane_exception *value)
{
	return maps_write_exception(&maps, &key, value);
}

#endif
