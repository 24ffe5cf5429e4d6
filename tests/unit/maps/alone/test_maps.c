// SPDX-License-Identifier: GPL-2.0-only
/*
 * The readers and adoption on a kernel made of arrays. The modules under test are included, and
 * libbpf is replaced.
 */

#include "../../../../user/maps/access.c"
#include "../../../../user/maps/adopt.c"
#include "../../../../user/maps/maps.c"
#include "../../../../user/maps/walk.c"
#include "../../unit.h"

#define ROOM 10000u
#define N_CPUS 3

/* A map of the fake kernel; its descriptor is its enum loader_map. */
static struct fake {
	size_t key_size, n, deleted;
	uint8_t keys[ROOM][MAPS_MAX_KEY];
	uint32_t values[ROOM];
} fakes[LOADER_N_MAPS];

/* How the batches behave. */
static struct {
	int refuse_later;	 /* errno of the second one */
	unsigned int interrupts; /* this many batches end early, after the first entry */
	bool stuck;		 /* every batch is interrupted before the first entry */
	unsigned int calls;
	bool no_room; /* for new maps */
} kernel;

static struct sixlane_counters cpu_counters[2][N_CPUS];
static struct sixlane_cpu cpus[N_CPUS];

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

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	return kernel.no_room ? fail_with(ENOMEM) : dup(STDOUT_FILENO);
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
	if (fd == LOADER_CPU) {
		memcpy(value, cpus, sizeof(cpus));
		return 0;
	}
	if (!fake_find(fd, key, &at))
		return fail_with(ENOENT);
	*(uint32_t *)value = fakes[fd].values[at];
	return 0;
}

/* The token is the number of the next entry, as of a hash's bucket. */
int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	const struct fake *fake = &fakes[fd];
	uint32_t room = *count, at = 0, n = 0;
	int error = 0;

	kernel.calls++;
	*count = 0;
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

/* --- what was adopted ------------------------------------------------------------------------- */

static char adopted[256];

static int note(const char *what, uint32_t number)
{
	size_t used = strlen(adopted);

	snprintf(adopted + used, sizeof(adopted) - used, "%s%u ", what, number);
	return 0;
}

int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *next_hop)
{
	return note("next hop ", id);
}

int fib_adopt_neigh(struct fib *fib, uint32_t slot, const struct sixlane_neigh *neigh)
{
	return note("neigh ", slot);
}

int fib_adopt_port(struct fib *fib, uint32_t slot, const struct sixlane_port *port)
{
	return note("port ", slot);
}

int fib_adopt_vlan(struct fib *fib, const struct sixlane_vlan_key *key, uint32_t slot)
{
	assert_int_equal(key->lower, 3);
	return note("vlan ", slot);
}

void fib_adopt_end(struct fib *fib, const union sixlane_nh_bucket *given)
{
	note("buckets ", given->bound);
}

int fib_adopt_source(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	return note("source ", value);
}

int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	note("route ", value);
	return -EINVAL;
}

int maps_write_exception(struct maps *of, const union sixlane_addr *dst,
			 const struct sixlane_exception *value)
{
	return 0;
}

int maps_write_exception_del(struct maps *of, const union sixlane_addr *dst)
{
	note("delete ", dst->bytes[15]);
	return 0;
}

void maps_punted_add(uint64_t *filter, const union sixlane_addr *dst)
{
	note("punted ", dst->bytes[15]);
}

int maps_exception_each(const struct maps *of, maps_exception_fn fn, void *ctx)
{
	const union sixlane_addr first = { .bytes = { [15] = 1 } },
				 second = { .bytes = { [15] = 2 } };
	const struct sixlane_exception oper = { .flags = SIXLANE_EXCEPTION_OPERATOR, .mtu = 1300 },
				       learned = { .flags = SIXLANE_EXCEPTION_KERNEL };

	return fn(ctx, &first, &oper) ?: fn(ctx, &second, &learned);
}

static int exception_error;

int fib_adopt_exception(struct fib *fib, const union sixlane_addr *dst,
			const struct sixlane_exception *value)
{
	note("exception ", dst->bytes[15] + value->mtu);
	return exception_error;
}

/* --- tests ------------------------------------------------------------------------------------ */

static struct sixlane_fib_head fib_head;
static struct sixlane_port ports[SIXLANE_MAX_PORTS];
static struct sixlane_next_hop next_hops[SIXLANE_MAX_NEXT_HOPS];
static struct sixlane_neigh neighbours[SIXLANE_MAX_NEIGHBOURS];
static union sixlane_nh_bucket buckets[SIXLANE_MAX_NH_BUCKETS];

static struct maps maps = {
	.n_cpus = N_CPUS,
	.fib_head = &fib_head,
	.ports = ports,
	.next_hops = next_hops,
	.neighbours = neighbours,
	.buckets = buckets,
};

static int setup(void **state)
{
	memset(fakes, 0, sizeof(fakes));
	memset(&kernel, 0, sizeof(kernel));
	memset(&fib_head, 0, sizeof(fib_head));
	memset(ports, 0, sizeof(ports));
	memset(next_hops, 0, sizeof(next_hops));
	memset(neighbours, 0, sizeof(neighbours));
	adopted[0] = '\0';
	for (int i = 0; i < LOADER_N_MAPS; i++) {
		maps.fd[i] = i;
		fakes[i].key_size = sizeof(uint32_t);
	}
	maps.fd[LOADER_FIB_ARENA] = -1;
	maps.arena = NULL;
	fakes[LOADER_ROUTES].key_size = sizeof(struct sixlane_route_key);
	fakes[LOADER_SOURCES].key_size = sizeof(struct sixlane_route_key);
	fakes[LOADER_NEIGH_INDEX].key_size = sizeof(struct sixlane_neigh_key);
	fakes[LOADER_VLANS].key_size = sizeof(struct sixlane_vlan_key);
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
	}
}

static void walk_goes_on_when_entries_go_away(void **state)
{
	kernel.interrupts = 5;
	walk(BATCH + 10);
}

static void walk_ends_with_its_errors(void **state)
{
	put_routes(BATCH + 10);
	kernel.refuse_later = EINVAL;
	assert_int_equal(maps_route_each(&maps, see, NULL), -EINVAL);
	kernel.stuck = true;
	assert_int_equal(maps_route_each(&maps, see, NULL), -EAGAIN);
}

/* Index entries that contradict their slots are deleted; parts come before what names them. */
static void adopts_what_is_consistent(void **state)
{
	struct sixlane_neigh_key good = { .ifindex = 3, .addr.words = { 1 } };
	struct sixlane_neigh_key bad = { .ifindex = 3, .addr.words = { 2 } };
	const struct sixlane_vlan_key tag = { .lower = 3 };
	const struct sixlane_route_key all = { .prefix_len = 32 };
	const uint32_t eth = 3, gone = 4, wild = 5;

	ports[1].ifindex = eth;
	ports[2].ifindex = 99;
	put(LOADER_PORT_INDEX, &eth, 1);
	put(LOADER_PORT_INDEX, &gone, 2);
	put(LOADER_PORT_INDEX, &wild, SIXLANE_MAX_PORTS);
	neighbours[7].key = good;
	put(LOADER_NEIGH_INDEX, &good, 7);
	put(LOADER_NEIGH_INDEX, &bad, 7);
	next_hops[0].nh_entry.port = 1; /* id 0 is never used */
	next_hops[4].nh_entry.type = SIXLANE_PASS_LOCAL;
	next_hops[SIXLANE_MAX_NEXT_HOPS - 1].nh_entry.port = 1;
	buckets[0].bound = 77;
	put(LOADER_VLANS, &tag, 9);
	put(LOADER_SOURCES, &all, 6);
	put_routes(2);
	assert_int_equal(maps_adopt(&maps, NULL), -EINVAL);
	assert_string_equal(adopted, "port 1 neigh 7 vlan 9 next hop 4 next hop 65535 "
				     "source 6 route 1 route 2 punted 1 exception 1301 "
				     "punted 2 delete 2 buckets 77 ");
	assert_int_equal(fakes[LOADER_PORT_INDEX].deleted, 2);
	assert_int_equal(fakes[LOADER_NEIGH_INDEX].deleted, 1);
	/* -ENOMEM is reported before other errors. */
	exception_error = -ENOMEM;
	assert_int_equal(maps_adopt(&maps, NULL), -ENOMEM);
	exception_error = 0;
}

static void slots_are_checked_against_their_keys(void **state)
{
	struct sixlane_neigh_key key = { .ifindex = 3, .addr.words = { 1 } };
	const uint32_t ifindex = 3;

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

/* The trie answers by longest match; a fake one only knows whole addresses. */
static void sources_are_of_their_table(void **state)
{
	const union sixlane_addr addr = { .words = { 7 } };
	const struct sixlane_route_key key = { .prefix_len = 160,
					       .table = htonl(0x01020304),
					       .addr = addr };
	uint32_t value;

	put(LOADER_SOURCES, &key, 99);
	assert_int_equal(maps_source_lookup(&maps, 0x01020304, &addr, &value), 0);
	assert_int_equal(value, 99);
	assert_int_equal(maps_source_lookup(&maps, 1, &addr, &value), -ENOENT);
	assert_int_equal(maps_route_lookup(&maps, 0x01020304, &addr, &value), -ENOENT);
}

static void counters_are_summed(void **state)
{
	struct sixlane_counters sum;
	uint64_t lost;

	for (int cpu = 0; cpu < N_CPUS; cpu++) {
		cpu_counters[1][cpu].verdicts[0].packets = 1u << cpu;
		cpu_counters[1][cpu].verdicts[SIXLANE_MAX_VERDICTS - 1].bytes = 10u << cpu;
		cpus[cpu].icmp_events_lost = 2u << cpu;
	}
	assert_int_equal(maps_counters(&maps, 1, &sum), 0);
	assert_int_equal(sum.verdicts[0].packets, 7);
	assert_int_equal(sum.verdicts[0].bytes, 0);
	assert_int_equal(sum.verdicts[SIXLANE_MAX_VERDICTS - 1].bytes, 70);
	assert_int_equal(maps_icmp_events_lost(&maps, &lost), 0);
	assert_int_equal(lost, 14);
}

static unsigned int used_slots;

static void take_used(void *ctx, uint32_t slot)
{
	used_slots += slot;
}

static void use_is_reported_once(void **state)
{
	neighbours[3].used = 1;
	neighbours[SIXLANE_MAX_NEIGHBOURS - 1].used = 1;
	used_slots = 0;
	maps_take_used(&maps, take_used, NULL);
	assert_int_equal(used_slots, 3 + SIXLANE_MAX_NEIGHBOURS - 1);
	maps_take_used(&maps, take_used, NULL);
	assert_int_equal(used_slots, 3 + SIXLANE_MAX_NEIGHBOURS - 1);
}

static void a_sample_is_asked_for(void **state)
{
	for (uint32_t slot = 0; slot < 3; slot++)
		neighbours[slot].used = 1;
	assert_true(maps_sample_draw(&maps, 1));
	assert_false(maps_sample_draw(&maps, 1));
	for (uint32_t slot = 0; slot < 3; slot++) {
		assert_int_equal(neighbours[slot].sample, slot == 1);
		assert_int_equal(neighbours[slot].used, slot != 1);
	}
}

/* A refused page would kill the daemon at a later store. */
static void refused_pages_of_an_arena_are_no_chunk(void **state)
{
	const size_t bytes = (size_t)SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_BYTES;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(at != MAP_FAILED);
	maps.arena = at;
	assert_ptr_equal(maps_write_fib_chunk(&maps, 1), maps.arena + SIXLANE_FIB_CHUNK_BYTES);
	kernel.no_room = true;
	assert_null(maps_write_fib_chunk(&maps, 2));
	kernel.no_room = false;
	assert_ptr_equal(maps_write_fib_chunk(&maps, 2), maps.arena + 2 * SIXLANE_FIB_CHUNK_BYTES);
	assert_int_equal(mprotect(maps.arena + 3 * SIXLANE_FIB_CHUNK_BYTES, SIXLANE_FIB_CHUNK_BYTES,
				  PROT_READ),
			 0);
	assert_null(maps_write_fib_chunk(&maps, 3));
	assert_int_equal(munmap(at, bytes), 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(walks_by_batches, setup),
		cmocka_unit_test_setup(walk_goes_on_when_entries_go_away, setup),
		cmocka_unit_test_setup(walk_ends_with_its_errors, setup),
		cmocka_unit_test_setup(adopts_what_is_consistent, setup),
		cmocka_unit_test_setup(slots_are_checked_against_their_keys, setup),
		cmocka_unit_test_setup(counters_are_summed, setup),
		cmocka_unit_test_setup(sources_are_of_their_table, setup),
		cmocka_unit_test_setup(use_is_reported_once, setup),
		cmocka_unit_test_setup(a_sample_is_asked_for, setup),
		cmocka_unit_test_setup(refused_pages_of_an_arena_are_no_chunk, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
