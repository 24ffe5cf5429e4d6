// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions on a kernel that copies values word by word and CPU by CPU: what packets may read
 * meanwhile, counters, failures, and the bits of sl_punted. The modules under test are included,
 * libbpf and nanosleep() are replaced.
 */

#include "../../../../user/maps/exception.c"
#include "../../../../user/maps/punted.c"
#include "../../unit.h"

#define N_CPUS 3
#define MOMENTS 32
#define WORDS 4 /* that packets act by: see struct sixlane_exception */

static struct {
	bool has; /* an entry of key */
	struct sixlane_exception values[N_CPUS];
	unsigned int updates, naps;
	unsigned int fail_first; /* this many updates fail */
	int fail;		 /* with this errno */

	/* The words of an entry on each CPU, after each store. */
	bool watched;
	uint64_t moments[N_CPUS][MOMENTS][WORDS];
	size_t n_moments[N_CPUS];
} kernel;

static uint64_t filter[SIXLANE_PUNTED_WORDS];
static struct maps maps = { .n_cpus = N_CPUS, .punted = filter };

static const union sixlane_addr key = { .words = { 0x20010db8, 1, 2, 3 } };

static int setup(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	memset(filter, 0, sizeof(filter));
	maps.no_memory = false;
	for (int i = 0; i < LOADER_N_MAPS; i++)
		maps.fd[i] = i;
	return 0;
}

/* --- the kernel ------------------------------------------------------------------------------- */

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	assert_int_equal(wanted->tv_nsec, REFILL_STEP_NS);
	kernel.naps++;
	return 0;
}

static int fail_with(int error)
{
	errno = error;
	return -error;
}

static void note_moment(int cpu, const struct sixlane_exception *value)
{
	if (!kernel.watched)
		return;
	assert_true(kernel.n_moments[cpu] < MOMENTS);
	memcpy(kernel.moments[cpu][kernel.n_moments[cpu]++], value, sizeof(kernel.moments[0][0]));
}

static void copy_words(int cpu, struct sixlane_exception *to, const struct sixlane_exception *from)
{
	note_moment(cpu, to);
	for (size_t at = 0; at < sizeof(*from); at += 8) {
		memcpy((char *)to + at, (const char *)from + at, 8);
		note_moment(cpu, to);
	}
}

int bpf_map_update_elem(int fd, const void *dst, const void *value, __u64 flags)
{
	assert_int_equal(fd, LOADER_EXCEPTIONS);
	assert_memory_equal(dst, &key, sizeof(key));
	assert_int_equal(flags, BPF_ANY);
	kernel.updates++;
	if (kernel.fail_first) {
		kernel.fail_first--;
		return fail_with(kernel.fail);
	}
	kernel.has = true;
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		copy_words(cpu, &kernel.values[cpu], (const struct sixlane_exception *)value + cpu);
	return 0;
}

int bpf_map_delete_elem(int fd, const void *dst)
{
	kernel.has = false;
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *dst, void *value)
{
	if (!kernel.has)
		return fail_with(ENOENT);
	memcpy(value, kernel.values, sizeof(kernel.values));
	return 0;
}

static int set(const struct sixlane_exception *value)
{
	return maps_write_exception(&maps, &key, value);
}

/* --- packets while an entry changes ----------------------------------------------------------- */

static unsigned int punted, applied;

static bool acts_like(const uint64_t read[WORDS], const struct sixlane_exception *value)
{
	struct sixlane_exception is;

	memcpy(&is, read, WORDS * sizeof(read[0]));
	return (is.flags & ~SIXLANE_EXCEPTION_VERSION) == value->flags && is.mtu == value->mtu &&
	       is.next_hop == value->next_hop && is.table == value->table &&
	       is.expires_ns == value->expires_ns;
}

/* What a packet reads from this moment on: each word and then the first one again. */
static void read_on(int cpu, size_t from, size_t word, uint64_t read[WORDS],
		    const struct sixlane_exception *before, const struct sixlane_exception *after)
{
	for (size_t at = from; at < kernel.n_moments[cpu]; at++) {
		const uint64_t *moment = kernel.moments[cpu][at];

		if (word < WORDS) {
			read[word] = moment[word];
			read_on(cpu, at, word + 1, read, before, after);
		} else if (read[0] != moment[0] || read[0] & SIXLANE_EXCEPTION_CHANGING) {
			punted++;
		} else {
			applied++;
			assert_true(acts_like(read, before) || acts_like(read, after));
		}
	}
}

/* All ways in which a packet's loads can interleave. Returns the number of updates. */
static unsigned int race(const struct sixlane_exception *before,
			 const struct sixlane_exception *after)
{
	uint64_t read[WORDS];

	setup(NULL);
	assert_int_equal(set(before), 0);
	kernel.watched = true;
	assert_int_equal(set(after), 0);
	punted = applied = 0;
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		read_on(cpu, 0, 0, read, before, after);
	assert_true(applied);
	return kernel.updates - 1;
}

static void packets_never_take_half_of_each(void **state)
{
	const struct sixlane_exception hop = { .flags = SIXLANE_EXCEPTION_NEXT_HOP,
					       .next_hop = 7,
					       .expires_ns = 10 };
	const struct sixlane_exception both = { .flags = SIXLANE_EXCEPTION_NEXT_HOP |
							 SIXLANE_EXCEPTION_MTU,
						.mtu = 1300,
						.next_hop = 9,
						.table = 55,
						.expires_ns = 20 };
	struct sixlane_exception other = both;

	assert_int_equal(race(&hop, &both), 3);
	assert_true(punted);
	race(&both, &hop);
	/* Most changes, such as a new expiry, are of one word. */
	other.flags |= SIXLANE_EXCEPTION_OBSERVE;
	assert_int_equal(race(&both, &other), 1);
	assert_int_equal(race(&other, &both), 1);
	other = both;
	other.expires_ns = 99;
	assert_int_equal(race(&both, &other), 1);
	assert_int_equal(punted, 0);
}

/* The first word differs from that of all recent states, also of a deleted entry. */
static void versions_tell_one_state_from_the_next(void **state)
{
	struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_NEXT_HOP, .next_hop = 1 };
	const uint32_t *flags = &kernel.values[0].flags;
	uint32_t first;

	assert_int_equal(set(&value), 0);
	first = *flags;
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(set(&value), 0);
	assert_int_not_equal(*flags, first);
	for (uint32_t i = 0; i < 0x10000; i++) {
		first = *flags;
		value.next_hop++;
		assert_int_equal(set(&value), 0);
		assert_int_not_equal(*flags, first);
		assert_int_equal(*flags & ~SIXLANE_EXCEPTION_VERSION, value.flags);
	}
}

/* --- figures and failures --------------------------------------------------------------------- */

/* A change keeps the counters, and a reader gets their sum. */
static void each_cpu_keeps_what_it_has_counted(void **state)
{
	struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 }, is;
	struct sixlane_exception *cpus = kernel.values;
	uint64_t begin_ns = util_now_ns(), added_ns;

	assert_int_equal(set(&value), 0);
	added_ns = cpus[0].added_ns;
	assert_in_range(added_ns, begin_ns, util_now_ns());
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		cpus[cpu].hits = 1u << cpu;
		cpus[cpu].bytes = 10u << cpu;
		cpus[cpu].used_ns = cpu == 1 ? 200 : 100;
	}
	value.mtu = 1400;
	value.hits = value.bytes = value.used_ns = 9999; /* ignored */
	assert_int_equal(set(&value), 0);
	assert_int_equal(cpus[N_CPUS - 1].mtu, 1400);
	assert_int_equal(cpus[N_CPUS - 1].hits, 1u << (N_CPUS - 1));
	assert_int_equal(maps_exception(&maps, &key, &is), 0);
	value.added_ns = added_ns;
	value.hits = 7;
	value.bytes = 70;
	value.used_ns = 200;
	assert_memory_equal(&is, &value, sizeof(is));
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(maps_exception(&maps, &key, &is), -ENOENT);
}

/* After a wait in vain, the next insertions do not wait. */
static void memory_is_waited_for_once(void **state)
{
	static const struct {
		unsigned int fail_first, naps;
		int error, result;
	} steps[] = {
		{ 3, 3, ENOMEM, 0 },	      { 1000, REFILL_STEPS, ENOMEM, -ENOMEM },
		{ 1000, 0, ENOMEM, -ENOMEM }, { 0, 0, 0, 0 },
		{ 1, 1, ENOMEM, 0 },	      { 1, 0, E2BIG, -ENOSPC },
		{ 1, 0, EPERM, -EPERM },
	};
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		kernel.naps = 0;
		memset(filter, 0, sizeof(filter));
		kernel.fail = steps[i].error;
		kernel.fail_first = steps[i].fail_first;
		assert_int_equal(set(&value), steps[i].result);
		assert_int_equal(kernel.naps, steps[i].naps);
		assert_int_equal(maps_punted_has(maps.punted, &key), !steps[i].result);
		if (!steps[i].result)
			assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	}
}

/* Host 2 of prefix 1 and host 1 of prefix 2 have different checks. */
static void checks_of_a_plan_differ(void **state)
{
	union sixlane_addr one = key, other = key;

	for (uint32_t i = 0; i < 64; i++) {
		for (uint32_t j = 0; j < i; j++) {
			one.words[1] = other.words[3] = htobe32(i);
			one.words[3] = other.words[1] = htobe32(j);
			assert_int_not_equal(sixlane_exception_check(&one),
					     sixlane_exception_check(&other));
		}
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(packets_never_take_half_of_each, setup),
		cmocka_unit_test_setup(versions_tell_one_state_from_the_next, setup),
		cmocka_unit_test_setup(each_cpu_keeps_what_it_has_counted, setup),
		cmocka_unit_test_setup(memory_is_waited_for_once, setup),
		cmocka_unit_test_setup(checks_of_a_plan_differ, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
