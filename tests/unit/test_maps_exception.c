// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions in their map, on a kernel that copies values word by word and CPU by CPU: what packets
 * may read in between, what each CPU has counted, walks, the operator's, hints. The modules under
 * test are included, and libbpf replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/fib/maps_exception.c"
#include "../../user/fib/maps_hints.c"

#define N_CPUS 3
#define ROOM 600u

static struct {
	struct sixlane_exception_key keys[ROOM];
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

static struct sixlane_cpu answers[N_CPUS];

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
	kernel.n--;
	kernel.keys[at] = kernel.keys[kernel.n];
	memcpy(kernel.values[at], kernel.values[kernel.n], sizeof(kernel.values[at]));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	size_t at;

	if (fd == LOADER_CPU) {
		memcpy(value, answers, sizeof(answers));
		return 0;
	}
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

static struct maps maps;

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	maps.no_memory = false;
	kernel.batches = true;
	for (int i = 0; i < LOADER_N_MAPS; i++)
		maps.fd[i] = i;
	return 0;
}

static const struct sixlane_exception_key key = {
	.dst.words = { 0x20010db8, 1, 2, 3 },
	.table = 254,
};

static int set(const struct sixlane_exception *value)
{
	return maps_write_exception(&maps, &key, value);
}

/* --- values ------------------------------------------------------------------------------- */

static void each_cpu_keeps_what_it_has_counted(void **state)
{
	const struct sixlane_exception first = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };
	struct sixlane_exception second = first, is;
	uint64_t begin_ns = util_now_ns(), added_ns;

	(void)state;
	assert_int_equal(set(&first), 0);
	added_ns = kernel.values[0][N_CPUS - 1].added_ns;
	assert_in_range(added_ns, begin_ns, util_now_ns());
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		kernel.values[0][cpu].hits = 1u << cpu;
		kernel.values[0][cpu].bytes = 10u << cpu;
		kernel.values[0][cpu].used_ns = 100 - cpu;
	}
	kernel.values[0][1].used_ns = 200;
	second.mtu = 1400;
	second.hits = second.bytes = second.used_ns = 9999; /* nobody's business */
	assert_int_equal(set(&second), 0);
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		assert_int_equal(kernel.values[0][cpu].mtu, 1400);
		assert_int_equal(kernel.values[0][cpu].hits, 1u << cpu);
		assert_int_equal(kernel.values[0][cpu].bytes, 10u << cpu);
	}
	assert_int_equal(maps_exception(&maps, &key, &is), 0);
	second.added_ns = added_ns;
	second.hits = 7;
	second.bytes = 70;
	second.used_ns = 200;
	assert_memory_equal(&is, &second, sizeof(is));
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(maps_exception(&maps, &key, &is), -ENOENT);
	assert_int_equal(maps_write_exception_del(&maps, &key), -ENOENT);
}

/* Soon there is some again; if not, no time is lost with the next ones. */
static void memory_is_waited_for_once(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };

	(void)state;
	naps = 0;
	kernel.fail = ENOMEM;
	kernel.fail_first = 3;
	assert_int_equal(set(&value), 0);
	assert_int_equal(naps, 3);
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	kernel.fail_first = 1000;
	assert_int_equal(set(&value), -ENOMEM);
	assert_int_equal(naps, 3 + REFILL_STEPS);
	assert_int_equal(set(&value), -ENOMEM);
	assert_int_equal(naps, 3 + REFILL_STEPS);
	kernel.fail_first = 0;
	assert_int_equal(set(&value), 0);
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	kernel.fail_first = 1;
	assert_int_equal(set(&value), 0);
	assert_int_equal(naps, 4 + REFILL_STEPS);
}

static void errors_are_told(void **state)
{
	static const struct {
		int error, told;
	} cases[] = { { E2BIG, -ENOSPC }, { ENOMEM, -ENOMEM }, { EPERM, -EPERM } };
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		maps.no_memory = true; /* as it was a moment ago */
		kernel.fail = cases[i].error;
		kernel.fail_update = kernel.updates + 1;
		assert_int_equal(set(&value), cases[i].told);
		assert_int_equal(kernel.n, 0);
	}
}

/* --- packets while values change ---------------------------------------------------------- */

/* The words that a packet of the datapath acts by, in the order of their positions. */
struct acted {
	uint64_t first, second, under, expires;
};

static struct acted acted_of(const struct sixlane_exception *value)
{
	struct acted acted;

	memcpy(&acted, value, sizeof(acted));
	return acted;
}

static struct {
	struct acted moments[N_CPUS][32]; /* what one CPU's packets may read, one after another */
	size_t n[N_CPUS];
	unsigned int punted, applied;
} race;

static void note_moment(const struct sixlane_exception *value)
{
	size_t cpu = (size_t)(value - kernel.values[0]);

	assert_true(race.n[cpu] < ARRAY_SIZE(race.moments[cpu]));
	race.moments[cpu][race.n[cpu]++] = acted_of(value);
}

static bool acts_like(const struct acted *acted, const struct sixlane_exception *value)
{
	const struct acted as = acted_of(value);

	return !((acted->first ^ as.first) & ~(uint64_t)SIXLANE_EXCEPTION_VERSION) &&
	       !((acted->second ^ as.second) & UINT32_MAX) && acted->under == as.under &&
	       acted->expires == as.expires;
}

/* A packet that read the first word in the moment [0], and the first one again in [4]. */
static void packet_reads(const struct acted *moments, const size_t at[5],
			 const struct sixlane_exception *before,
			 const struct sixlane_exception *after)
{
	const struct acted acted = { moments[at[0]].first, moments[at[1]].second,
				     moments[at[2]].under, moments[at[3]].expires };

	if (acted.first & SIXLANE_EXCEPTION_PUNT || acted.first != moments[at[4]].first) {
		race.punted++;
		return;
	}
	race.applied++;
	if (!acts_like(&acted, before) && !acts_like(&acted, after))
		fail_msg("a packet took half of each");
}

/* However a packet's reads fall among the moments. */
static void packets_read(const struct acted *moments, size_t n,
			 const struct sixlane_exception *before,
			 const struct sixlane_exception *after)
{
	size_t at[5] = { 0 };
	int i;

	for (;;) {
		packet_reads(moments, at, before, after);
		for (i = 4; i >= 0 && at[i] == n - 1; i--)
			;
		if (i < 0)
			return;
		at[i]++;
		for (; i < 4; i++)
			at[i + 1] = at[i];
	}
}

static void race_from(const struct sixlane_exception *before, const struct sixlane_exception *after)
{
	setup(NULL);
	assert_int_equal(set(before), 0);
	memset(&race, 0, sizeof(race));
	kernel.packet = note_moment;
	assert_int_equal(set(after), 0);
	kernel.packet = NULL;
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		packets_read(race.moments[cpu], race.n[cpu], before, after);
}

static void packets_never_take_half_of_each(void **state)
{
	const struct sixlane_exception hop = { .flags = SIXLANE_EXCEPTION_NEXT_HOP,
					       .next_hop = 7,
					       .expires_ns = 10 };
	struct sixlane_exception other = hop, both = hop, under = hop;

	(void)state;
	other.next_hop = 8;
	other.expires_ns = 20;
	both.flags |= SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_UNDER;
	both.mtu = 1300;
	both.next_hop = 9;
	both.under.word = 55;
	under.flags = SIXLANE_EXCEPTION_UNDER | SIXLANE_EXCEPTION_MTU;
	under.mtu = 1280;
	under.next_hop = 0;
	under.under.word = 66;
	race_from(&hop, &other);
	assert_true(race.punted && race.applied);
	race_from(&other, &both);
	race_from(&both, &under);
	race_from(&under, &hop);
	/* Punted and back, which changes but one word at a time. */
	other = both;
	other.flags |= SIXLANE_EXCEPTION_PUNT;
	race_from(&both, &other);
	assert_int_equal(kernel.updates, 2);
	race_from(&other, &both);
	assert_int_equal(kernel.updates, 2);
	/* Refreshed, as most are. */
	other = both;
	other.expires_ns = 99;
	race_from(&both, &other);
	assert_int_equal(kernel.updates, 2);
	assert_int_equal(race.punted, 0);
}

/* The same first word as long ago is not taken for that of a moment ago. */
static void versions_tell_one_state_from_the_next(void **state)
{
	struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_NEXT_HOP, .next_hop = 1 };
	uint32_t first;

	(void)state;
	assert_int_equal(set(&value), 0);
	first = kernel.values[0][0].flags;
	value.next_hop = 2;
	assert_int_equal(set(&value), 0);
	assert_int_not_equal(kernel.values[0][0].flags, first);
	assert_int_equal(kernel.values[0][0].flags & ~SIXLANE_EXCEPTION_VERSION, value.flags);
	for (uint32_t i = 0; i < 0x10000; i++) {
		value.next_hop = 3 + i;
		assert_int_equal(set(&value), 0);
	}
	assert_int_equal(kernel.values[0][0].flags & ~SIXLANE_EXCEPTION_VERSION, value.flags);
}

static void memory_of_another_entry_is_told_by_its_check(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };
	struct sixlane_exception_key other = key;

	(void)state;
	assert_int_equal(set(&value), 0);
	assert_int_equal(kernel.values[0][N_CPUS - 1].check, sixlane_exception_check(&key));
	other.dst.words[3]++;
	assert_int_not_equal(sixlane_exception_check(&other), sixlane_exception_check(&key));
	other = key;
	other.table++;
	assert_int_not_equal(sixlane_exception_check(&other), sixlane_exception_check(&key));
}

/* Nor are addresses alike that are numbered alike: prefix 1, host 2 is not prefix 2, host 1. */
static void checks_of_a_plan_differ(void **state)
{
	static uint32_t seen[64 * 64];
	struct sixlane_exception_key other = key;
	size_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		for (uint32_t j = 0; j < 64; j++) {
			other.dst.words[1] = htobe32(i);
			other.dst.words[3] = htobe32(j);
			seen[n] = sixlane_exception_check(&other);
			for (size_t k = 0; k < n; k++)
				assert_int_not_equal(seen[k], seen[n]);
			n++;
		}
	}
}

/* A packet that was held up since before the first went takes nothing of it for the second's. */
static void an_entry_that_comes_again_is_another(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_NEXT_HOP,
						 .next_hop = 1 };
	uint32_t first;

	(void)state;
	assert_int_equal(set(&value), 0);
	first = kernel.values[0][0].flags;
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(set(&value), 0);
	assert_int_not_equal(kernel.values[0][0].flags, first);
	assert_int_equal(kernel.values[0][0].flags & ~SIXLANE_EXCEPTION_VERSION, value.flags);
}

/* Whichever step fails: what was there, or the kernel's. */
static void a_change_that_fails_half_way_punts(void **state)
{
	const struct sixlane_exception before = { .flags = SIXLANE_EXCEPTION_NEXT_HOP,
						  .next_hop = 1 };
	struct sixlane_exception after = before, is;

	after.next_hop = 2;
	for (unsigned int step = 1; step <= 3; step++) {
		setup(state);
		assert_int_equal(set(&before), 0);
		kernel.fail_update = kernel.updates + step;
		kernel.fail = ENOMEM;
		assert_int_equal(set(&after), -ENOMEM);
		assert_int_equal(maps_exception(&maps, &key, &is), 0);
		assert_int_equal(is.flags & SIXLANE_EXCEPTION_PUNT,
				 step > 1 ? SIXLANE_EXCEPTION_PUNT : 0);
		if (step == 1)
			assert_int_equal(is.next_hop, before.next_hop);
		assert_int_equal(set(&after), 0);
		assert_int_equal(maps_exception(&maps, &key, &is), 0);
		assert_int_equal(is.flags, after.flags);
		assert_int_equal(is.next_hop, after.next_hop);
	}
}

/* --- walks -------------------------------------------------------------------------------- */

static uint8_t seen[ROOM];

static int see(void *ctx, const struct sixlane_exception_key *at,
	       const struct sixlane_exception *value)
{
	(void)ctx;
	assert_int_equal(value->mtu, 1300 + at->table);
	assert_int_equal(value->hits, N_CPUS * at->table);
	assert_int_equal(value->flags, SIXLANE_EXCEPTION_MTU);
	assert_int_equal(value->check, 0);
	seen[at->table]++;
	return 0;
}

static void walks_see_every_entry(void **state)
{
	struct sixlane_exception_key at = { 0 };

	for (int batches = 0; batches < 2; batches++) {
		setup(state);
		kernel.batches = batches;
		memset(seen, 0, sizeof(seen));
		for (at.table = 0; at.table < ROOM; at.table++) {
			const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU,
								 .mtu = 1300 + at.table };

			assert_int_equal(maps_write_exception(&maps, &at, &value), 0);
			for (int cpu = 0; cpu < N_CPUS; cpu++)
				kernel.values[at.table][cpu].hits = at.table;
		}
		assert_int_equal(maps_exception_each(&maps, see, NULL), 0);
		for (size_t i = 0; i < ROOM; i++)
			assert_int_equal(seen[i], 1);
	}
}

static int see_operator(void *ctx, const struct sixlane_exception_key *at,
			const struct sixlane_operator *value)
{
	*(uint32_t *)ctx += value->mtu;
	assert_memory_equal(at, &key, sizeof(key));
	return maps_operator_del(&maps, at);
}

static void the_operators_are_set_read_and_deleted(void **state)
{
	const struct sixlane_operator value = { .mtu = 1300, .device = "eth0" };
	struct sixlane_operator is;
	uint32_t sum = 0;

	(void)state;
	kernel.keys[0] = key;
	assert_int_equal(maps_operator(&maps, &key, &is), -ENOENT);
	assert_int_equal(maps_operator_set(&maps, &key, &value), 0);
	kernel.n = 1;
	assert_int_equal(maps_operator(&maps, &key, &is), 0);
	assert_memory_equal(&is, &value, sizeof(is));
	assert_int_equal(maps_operator_each(&maps, see_operator, &sum), 0);
	assert_int_equal(sum, 1300);
	assert_int_equal(kernel.n_operators, 0);
	kernel.fail_update = kernel.updates + 1;
	kernel.fail = E2BIG;
	assert_int_equal(maps_operator_set(&maps, &key, &value), -E2BIG);
}

/* --- hints -------------------------------------------------------------------------------- */

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

static void lost_hints_are_summed(void **state)
{
	uint64_t lost;

	(void)state;
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
		answers[cpu].hints_lost = 1u << cpu;
	assert_int_equal(maps_hints_lost(&maps, &lost), 0);
	assert_int_equal(lost, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_cpu_keeps_what_it_has_counted, setup),
		cmocka_unit_test_setup(memory_is_waited_for_once, setup),
		cmocka_unit_test_setup(errors_are_told, setup),
		cmocka_unit_test_setup(packets_never_take_half_of_each, setup),
		cmocka_unit_test_setup(versions_tell_one_state_from_the_next, setup),
		cmocka_unit_test_setup(checks_of_a_plan_differ, setup),
		cmocka_unit_test_setup(an_entry_that_comes_again_is_another, setup),
		cmocka_unit_test_setup(memory_of_another_entry_is_told_by_its_check, setup),
		cmocka_unit_test_setup(a_change_that_fails_half_way_punts, setup),
		cmocka_unit_test_setup(walks_see_every_entry, setup),
		cmocka_unit_test_setup(the_operators_are_set_read_and_deleted, setup),
		cmocka_unit_test_setup(hints_come_in_bounded_steps, setup),
		cmocka_unit_test_setup(lost_hints_are_summed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
