// SPDX-License-Identifier: GPL-2.0-only
/*
 * The map writer and readers on a kernel made of arrays: walks by batches and without, what a
 * restarted daemon takes over, counters. The module under test is included, and libbpf replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/fib/maps.c"

#define ROOM 10000u
#define N_CPUS 3

/* A map of the fake kernel; its descriptor is its enum loader_map. */
static struct fake {
	size_t key_size, n, deleted;
	uint8_t keys[ROOM][MAX_KEY];
	uint32_t values[ROOM];
} fakes[LOADER_N_MAPS];

/* How the batches behave. */
static struct {
	int refuse;		 /* errno of the first one, 0: none */
	int refuse_later;	 /* errno of the second one */
	unsigned int interrupts; /* so many end early, after the first entry */
	bool stuck;		 /* every one is interrupted before the first entry */
	unsigned int calls, singles;
} kernel;

static struct sixlane_counters cpu_counters[2][N_CPUS];
static unsigned int cleared_slots[8], n_cleared;

static struct fake *fake_find(int fd, const void *key, size_t *at)
{
	struct fake *fake = &fakes[fd];

	for (*at = 0; *at < fake->n; ++*at) {
		if (!memcmp(fake->keys[*at], key, fake->key_size))
			return fake;
	}
	return NULL;
}

static int fail_with(int error)
{
	errno = error;
	return -error;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	const struct sixlane_counters *counters = value;

	(void)flags;
	if (fd != LOADER_COUNTERS)
		return fail_with(EBADF);
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		assert_int_equal(counters[cpu].verdicts[0].packets, 0);
	cleared_slots[n_cleared++] = *(const uint32_t *)key;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	size_t at;

	if (!fake_find(fd, key, &at))
		return fail_with(ENOENT);
	fakes[fd].deleted++;
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	size_t at;

	if (fd == LOADER_COUNTERS) {
		memcpy(value, cpu_counters[*(const uint32_t *)key], sizeof(cpu_counters[0]));
		return 0;
	}
	if (!fake_find(fd, key, &at))
		return fail_with(ENOENT);
	*(uint32_t *)value = fakes[fd].values[at];
	return 0;
}

int bpf_map_get_next_key(int fd, const void *prev, void *next)
{
	size_t at = 0;

	kernel.singles++;
	if (prev && fake_find(fd, prev, &at))
		at++;
	if (at >= fakes[fd].n)
		return fail_with(ENOENT);
	memcpy(next, fakes[fd].keys[at], fakes[fd].key_size);
	return 0;
}

/* The token is the number of the next entry, as of a hash's bucket. */
int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	const struct fake *fake = &fakes[fd];
	uint32_t room = *count, at = 0, n = 0;
	int error = 0;

	(void)opts;
	kernel.calls++;
	*count = 0;
	if (kernel.calls == 1 && kernel.refuse)
		return fail_with(kernel.refuse);
	if (kernel.calls == 2 && kernel.refuse_later)
		return fail_with(kernel.refuse_later);
	if (kernel.stuck)
		return fail_with(EINTR);
	if (in)
		memcpy(&at, in, sizeof(at));
	if (kernel.interrupts) {
		kernel.interrupts--;
		room = 1;
		error = EINTR;
	}
	for (; n < room && at < fake->n; n++, at++) {
		memcpy((uint8_t *)keys + n * fake->key_size, fake->keys[at], fake->key_size);
		((uint32_t *)values)[n] = fake->values[at];
	}
	memcpy(out, &at, sizeof(at));
	*count = n;
	if (at == fake->n)
		error = ENOENT;
	return error ? fail_with(error) : 0;
}

int libbpf_num_possible_cpus(void)
{
	return N_CPUS;
}

/* --- what was adopted --------------------------------------------------------------------- */

static char adopted[256];

static int note(const char *what, uint32_t number)
{
	size_t used = strlen(adopted);

	snprintf(adopted + used, sizeof(adopted) - used, "%s%u ", what, number);
	return 0;
}

int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *next_hop)
{
	(void)fib;
	(void)next_hop;
	return note("next hop ", id);
}

int fib_adopt_neigh(struct fib *fib, uint32_t slot, const struct sixlane_neigh *neigh)
{
	(void)fib;
	(void)neigh;
	return note("neigh ", slot);
}

int fib_adopt_port(struct fib *fib, uint32_t slot, const struct sixlane_port *port)
{
	(void)fib;
	(void)port;
	return note("port ", slot);
}

int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	(void)fib;
	(void)key;
	note("route ", value);
	return -EINVAL;
}

/* --- tests ------------------------------------------------------------------------------- */

static struct sixlane_meta meta;
static struct sixlane_port ports[SIXLANE_MAX_PORTS];
static struct sixlane_next_hop next_hops[SIXLANE_MAX_NEXT_HOPS];
static struct sixlane_neigh neighbours[SIXLANE_MAX_NEIGHBOURS];
static struct maps maps = {
	.meta = &meta, .ports = ports, .next_hops = next_hops, .neighbours = neighbours
};

static int setup(void **state)
{
	(void)state;
	memset(fakes, 0, sizeof(fakes));
	memset(&kernel, 0, sizeof(kernel));
	memset(ports, 0, sizeof(ports));
	memset(next_hops, 0, sizeof(next_hops));
	memset(neighbours, 0, sizeof(neighbours));
	adopted[0] = '\0';
	n_cleared = 0;
	for (int i = 0; i < LOADER_N_MAPS; i++) {
		maps.fd[i] = i;
		fakes[i].key_size = sizeof(uint32_t);
	}
	fakes[LOADER_ROUTES].key_size = sizeof(struct sixlane_route_key);
	fakes[LOADER_NEIGH_INDEX].key_size = sizeof(struct sixlane_neigh_key);
	return 0;
}

static void put(enum loader_map map, const void *key, uint32_t value)
{
	struct fake *fake = &fakes[map];

	memcpy(fake->keys[fake->n], key, fake->key_size);
	fake->values[fake->n++] = value;
}

static void put_routes(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct sixlane_route_key key = { .prefix_len = 160, .addr.words = { i } };

		put(LOADER_ROUTES, &key, i + 1);
	}
}

static uint8_t seen[ROOM + 1];

static int see(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	(void)ctx;
	assert_int_equal(key->addr.words[0], value - 1);
	seen[value]++;
	return 0;
}

/* Walk n routes; each must be seen once. */
static void walk(uint32_t n)
{
	put_routes(n);
	memset(seen, 0, sizeof(seen));
	assert_int_equal(maps_route_each(&maps, see, NULL), 0);
	for (uint32_t i = 1; i <= n; i++)
		assert_int_equal(seen[i], 1);
}

static void walks_by_batches(void **state)
{
	static const uint32_t sizes[] = { 0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, ROOM };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		setup(state);
		walk(sizes[i]);
		assert_int_equal(kernel.singles, 0);
	}
}

static void walks_without_batches(void **state)
{
	static const int errors[] = { EINVAL, EOPNOTSUPP, ENOTSUPP_KERNEL };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		setup(state);
		kernel.refuse = errors[i];
		walk(1000);
		assert_int_equal(kernel.singles, 1001);
	}
}

static void walk_goes_on_when_entries_go_away(void **state)
{
	(void)state;
	kernel.interrupts = 5;
	walk(BATCH + 10);
}

static void walk_ends_with_its_errors(void **state)
{
	(void)state;
	put_routes(BATCH + 10);
	kernel.refuse_later = EINVAL; /* too late to start anew without batches */
	assert_int_equal(maps_route_each(&maps, see, NULL), -EINVAL);
	assert_int_equal(kernel.singles, 0);
	kernel.stuck = true;
	assert_int_equal(maps_route_each(&maps, see, NULL), -EAGAIN);
}

/* Index entries that contradict their slots go; what is named comes before what names it. */
static void adopts_what_is_consistent(void **state)
{
	struct sixlane_neigh_key good = { .ifindex = 3, .addr.words = { 1 } };
	struct sixlane_neigh_key bad = { .ifindex = 3, .addr.words = { 2 } };
	const uint32_t eth = 3, gone = 4, wild = 5;

	(void)state;
	ports[1].ifindex = eth;
	ports[2].ifindex = 99;
	put(LOADER_PORT_INDEX, &eth, 1);
	put(LOADER_PORT_INDEX, &gone, 2);
	put(LOADER_PORT_INDEX, &wild, SIXLANE_MAX_PORTS);
	neighbours[7].key = good;
	put(LOADER_NEIGH_INDEX, &good, 7);
	put(LOADER_NEIGH_INDEX, &bad, 7);
	next_hops[0].port = 1; /* id 0 is never used */
	next_hops[4].verdict = SIXLANE_PASS_LOCAL;
	next_hops[SIXLANE_MAX_NEXT_HOPS - 1].port = 1;
	put_routes(2);
	assert_int_equal(maps_adopt(&maps, NULL), -EINVAL);
	assert_string_equal(adopted, "port 1 neigh 7 next hop 4 next hop 65535 route 1 route 2 ");
	assert_int_equal(fakes[LOADER_PORT_INDEX].deleted, 2);
	assert_int_equal(fakes[LOADER_NEIGH_INDEX].deleted, 1);
}

static void slots_are_checked_against_their_keys(void **state)
{
	struct sixlane_neigh_key key = { .ifindex = 3, .addr.words = { 1 } };
	const uint32_t ifindex = 3;

	(void)state;
	put(LOADER_NEIGH_INDEX, &key, 5);
	put(LOADER_PORT_INDEX, &ifindex, 5);
	assert_int_equal(maps_neigh_slot(&maps, 3, &key.addr), 0);
	assert_int_equal(maps_port_slot(&maps, 3), 0);
	neighbours[5].key = key;
	ports[5].ifindex = 3;
	assert_int_equal(maps_neigh_slot(&maps, 3, &key.addr), 5);
	assert_int_equal(maps_neigh_slot(&maps, 4, &key.addr), 0);
	assert_int_equal(maps_port_slot(&maps, 3), 5);
}

static void counters_are_summed(void **state)
{
	struct sixlane_counters sum;

	(void)state;
	for (int cpu = 0; cpu < N_CPUS; cpu++) {
		cpu_counters[1][cpu].verdicts[0].packets = 1u << cpu;
		cpu_counters[1][cpu].verdicts[SIXLANE_MAX_VERDICTS - 1].bytes = 10u << cpu;
	}
	assert_int_equal(maps_counters(&maps, 1, &sum), 0);
	assert_int_equal(sum.verdicts[0].packets, 7);
	assert_int_equal(sum.verdicts[0].bytes, 0);
	assert_int_equal(sum.verdicts[SIXLANE_MAX_VERDICTS - 1].bytes, 70);
}

static void writer_stores_whole_entries(void **state)
{
	const struct fib_writer writer = maps_writer(&maps);
	const struct sixlane_port port = { .ifindex = 3,
					   .flags = SIXLANE_PORT_INGRESS | SIXLANE_PORT_UPPER,
					   .mtu = 1500,
					   .table = 254,
					   .mac.word = 0x0605040302010000 };
	const struct sixlane_neigh neigh = { .mac.word = 0x1,
					     .key.ifindex = 3,
					     .key.addr.words = { 1, 2, 3, 4 } };
	const struct sixlane_next_hop next_hop = { .port = 1, .neighbour = 2, .mtu = 3 };

	(void)state;
	writer.port_set(writer.ctx, 2, &port);
	assert_memory_equal(&ports[2], &port, sizeof(port));
	writer.neigh_set(writer.ctx, 2, &neigh);
	assert_memory_equal(&neighbours[2], &neigh, sizeof(neigh));
	writer.neigh_set_mac(writer.ctx, 2, (union sixlane_mac){ .word = 9 });
	assert_int_equal(neighbours[2].mac.word, 9);
	writer.next_hop_set(writer.ctx, 2, &next_hop);
	assert_memory_equal(&next_hops[2], &next_hop, sizeof(next_hop));
}

static void a_slots_new_device_counts_from_zero(void **state)
{
	const struct fib_writer writer = maps_writer(&maps);
	struct sixlane_port port = { .ifindex = 3 };

	(void)state;
	writer.port_set(writer.ctx, 6, &port);
	port.mtu = 1280;
	writer.port_set(writer.ctx, 6, &port); /* the same device goes on counting */
	port.ifindex = 4;
	writer.port_set(writer.ctx, 6, &port);
	port.ifindex = 0;
	writer.port_set(writer.ctx, 6, &port);
	assert_int_equal(n_cleared, 2);
	assert_int_equal(cleared_slots[0], 6);
}

static unsigned int used_slots;

static void take_used(void *ctx, uint32_t slot)
{
	(void)ctx;
	used_slots += slot;
}

static void use_is_told_once(void **state)
{
	(void)state;
	neighbours[3].used = 1;
	neighbours[SIXLANE_MAX_NEIGHBOURS - 1].used = 1;
	used_slots = 0;
	maps_take_used(&maps, take_used, NULL);
	assert_int_equal(used_slots, 3 + SIXLANE_MAX_NEIGHBOURS - 1);
	maps_take_used(&maps, take_used, NULL);
	assert_int_equal(used_slots, 3 + SIXLANE_MAX_NEIGHBOURS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(walks_by_batches, setup),
		cmocka_unit_test_setup(walks_without_batches, setup),
		cmocka_unit_test_setup(walk_goes_on_when_entries_go_away, setup),
		cmocka_unit_test_setup(walk_ends_with_its_errors, setup),
		cmocka_unit_test_setup(adopts_what_is_consistent, setup),
		cmocka_unit_test_setup(slots_are_checked_against_their_keys, setup),
		cmocka_unit_test_setup(counters_are_summed, setup),
		cmocka_unit_test_setup(writer_stores_whole_entries, setup),
		cmocka_unit_test_setup(a_slots_new_device_counts_from_zero, setup),
		cmocka_unit_test_setup(use_is_told_once, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
