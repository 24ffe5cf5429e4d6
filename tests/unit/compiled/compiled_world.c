// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of compiled_world.h, their naive longest match, and the memory of the compiled FIB.
 */
#include <sys/mman.h>

#include "compiled_world.h"

/* --- the owner of memory and readers ---------------------------------------------------------- */

static void *give_chunk(void *ctx, uint32_t n)
{
	struct cworld *world = ctx;

	assert_int_equal(n, world->n_chunks);
	if (n >= world->chunks_max)
		return NULL;
	world->n_chunks++;
	world->view.chunks[n] = world->chunks + (size_t)n * SIXLANE_FIB_CHUNK_BYTES;
	return world->chunks + (size_t)n * SIXLANE_FIB_CHUNK_BYTES;
}

static void publish(void *ctx, union sixlane_fib fib)
{
	struct cworld *world = ctx;

	world->view.fib.word = fib.word;
	if (world->published)
		world->published(world);
}

static int wait_for_readers(void *ctx)
{
	struct cworld *world = ctx;
	const struct compiled_runs *retired = &world->compiled->store.retired;

	if (world->grace_error)
		return world->grace_error;
	world->graces++;
	if (world->grace)
		world->grace(world);
	for (size_t i = 0; i < retired->n; i++)
		memset(compiled_at(&world->compiled->store,
				   sixlane_fib_node(retired->list[i].unit, 0, 0)),
		       0xd5, (size_t)retired->list[i].n * SIXLANE_FIB_UNIT_BYTES);
	return 0;
}

static uint32_t entry_value(const struct radix_node *node)
{
	assert_false(node->glue);
	return ((const struct cworld_entry *)node)->value;
}

uint64_t cworld_play(uint64_t n, void (*play)(uint64_t seed))
{
	const char *given = getenv("HISTORIES"), *given_seed = getenv("SEED");
	uint64_t seed = given_seed ? strtoull(given_seed, NULL, 0) : util_now_ns();

	n = given ? strtoull(given, NULL, 0) : n;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < n; i++)
		play(seed + i);
	return n;
}

unsigned int cworld_operation;
static const struct cworld *opened; /* the last one, if it is still open */

int cworld_print_seed(void **state)
{
	if (opened)
		print_message("failed: SEED=%llu HISTORIES=1, at operation %u\n",
			      (unsigned long long)opened->seed, cworld_operation);
	opened = NULL;
	return 0;
}

void cworld_open(struct cworld *world, uint64_t seed)
{
	const struct compiled_memory memory = { world, give_chunk, publish, wait_for_readers };

	opened = world;
	*world = (struct cworld){ .seed = seed, .random = seed, .chunks_max = SIXLANE_FIB_CHUNKS };
	world->chunks =
		mmap(NULL, (size_t)SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_BYTES,
		     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(world->chunks, MAP_FAILED);
	world->compiled = compiled_new(&memory, entry_value);
	assert_non_null(world->compiled);
}

void cworld_close(struct cworld *world)
{
	compiled_free(world->compiled);
	for (uint32_t i = 0; i < world->n_tables; i++) {
		struct cworld_table *table = &world->tables[i];

		for (uint32_t j = 0; j < table->n; j++)
			radix_remove(&table->radix, &table->routes[j].entry->node);
		free(table->routes);
		free(table->buckets);
	}
	munmap(world->chunks, (size_t)SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_BYTES);
	world->compiled = NULL;
	opened = NULL;
}

struct cworld_table *cworld_add_table(struct cworld *world, uint32_t id, enum cworld_shape shape,
				      uint32_t room)
{
	struct cworld_table *table = &world->tables[world->n_tables++];

	assert_true(world->n_tables <= CWORLD_TABLES);
	*table = (struct cworld_table){ .id = id, .shape = shape, .room = room };
	for (size_t i = 0; i < 8; i++)
		table->pool[i] = cworld_random_addr(world);
	for (table->n_buckets = 4; table->n_buckets < 2 * room;)
		table->n_buckets *= 2;
	table->routes = calloc(room, sizeof(*table->routes));
	table->buckets = malloc(table->n_buckets * sizeof(*table->buckets));
	assert_true(table->routes && table->buckets);
	memset(table->buckets, 0xff, table->n_buckets * sizeof(*table->buckets));
	return table;
}

uint32_t cworld_add_tables(struct cworld *world, uint64_t kind, uint32_t large, uint32_t small)
{
	static const uint32_t ids[CWORLD_TABLES] = {
		1, SIXLANE_TABLE_MAIN, 255, UINT32_MAX, 0, 1000
	};

	if (kind < CWORLD_SHAPES) {
		cworld_add_table(world, ids[cworld_random(world, 2)], (enum cworld_shape)kind,
				 large + 200);
		return large;
	}
	for (uint32_t i = 0; i < CWORLD_TABLES; i++)
		cworld_add_table(world, ids[i],
				 (enum cworld_shape)cworld_random(world, CWORLD_SHAPES),
				 small + 20);
	return small;
}

int cworld_build(struct cworld *world)
{
	int err = compiled_begin(world->compiled);

	if (!err)
		world->n_ballast = 0;
	assert_int_equal(world->view.fib.word, 0);
	for (uint32_t i = 0; i < world->n_tables && !err; i++) {
		if (world->tables[i].radix.entries)
			err = compiled_add(world->compiled, world->tables[i].id,
					   &world->tables[i].radix);
	}
	return err ?: compiled_end(world->compiled);
}

static uint32_t n_free(const struct cworld *world)
{
	struct compiled_stats stats;

	compiled_get_stats(world->compiled, &stats);
	return (uint32_t)(stats.free_bytes / SIXLANE_FIB_UNIT_BYTES);
}

void cworld_make_tight(struct cworld *world, uint32_t units)
{
	world->chunks_max = world->n_chunks;
	for (uint32_t n = SIXLANE_FIB_CHUNK_UNITS / 2; n; n /= 2) {
		while (n_free(world) >= units + n && world->n_ballast < 64) {
			uint32_t at = compiled_alloc(&world->compiled->store, n);

			if (!at)
				break;
			world->ballast[world->n_ballast++] = (struct compiled_run){ at, n };
		}
	}
}

/* --- the naive side --------------------------------------------------------------------------- */

static uint32_t *bucket_of(const struct cworld_table *table, const struct cworld_prefix *prefix)
{
	uint64_t hash = (uint64_t)(prefix->addr >> 64) * 0x9e3779b97f4a7c15u;

	hash = (hash ^ hash >> 29 ^ (uint64_t)prefix->addr) * 0xbf58476d1ce4e5b9u;
	hash = (hash ^ hash >> 32 ^ prefix->len) * 0x94d049bb133111ebu;
	return &table->buckets[hash >> 32 & (table->n_buckets - 1)];
}

/* The index that leads to it, or to none. */
static uint32_t *link_of(const struct cworld_table *table, const struct cworld_prefix *prefix)
{
	uint32_t *link = bucket_of(table, prefix);

	while (*link != CWORLD_NONE) {
		const struct cworld_prefix *at = &table->routes[*link].prefix;

		if (at->len == prefix->len && at->addr == prefix->addr)
			break;
		link = &table->routes[*link].next;
	}
	return link;
}

uint32_t cworld_value(const struct cworld_table *table, const struct cworld_prefix *prefix)
{
	uint32_t at = *link_of(table, prefix);

	return at == CWORLD_NONE ? 0 : table->routes[at].value;
}

uint32_t cworld_naive(const struct cworld_table *table, compiled_bits addr)
{
	for (int len = 128; len >= 0; len--) {
		struct cworld_prefix prefix = { addr & cworld_mask((uint8_t)len), (uint8_t)len };
		uint32_t value = table->by_length[len] ? cworld_value(table, &prefix) : 0;

		if (value)
			return value;
	}
	return 0;
}

/* The last route moves to its place. */
static void remove_route(struct cworld_table *table, uint32_t at)
{
	struct cworld_route *route = &table->routes[at], *last = &table->routes[table->n - 1];

	radix_remove(&table->radix, &route->entry->node);
	table->by_length[route->prefix.len]--;
	*link_of(table, &route->prefix) = route->next;
	if (route != last) {
		*link_of(table, &last->prefix) = at;
		*route = *last;
	}
	table->n--;
}

static struct cworld_route *new_route(struct cworld_table *table,
				      const struct cworld_prefix *prefix)
{
	const struct prefix dst = { .addr = cworld_network(prefix->addr), .len = prefix->len };
	struct cworld_route *route = &table->routes[table->n];

	assert_true(table->n < table->room);
	*route = (struct cworld_route){ .prefix = *prefix, .next = CWORLD_NONE };
	*link_of(table, prefix) = table->n++;
	table->by_length[prefix->len]++;
	route->entry = radix_add(&table->radix, &dst, sizeof(*route->entry));
	assert_non_null(route->entry);
	return route;
}

/* --- changes ---------------------------------------------------------------------------------- */

void cworld_put(struct cworld *world, struct cworld_table *table,
		const struct cworld_prefix *prefix, uint32_t value)
{
	uint32_t at = *link_of(table, prefix);
	struct cworld_route *route = at == CWORLD_NONE ? NULL : &table->routes[at];

	if (!route && !value)
		return;
	if (!route)
		route = new_route(table, prefix);
	table->n_live += (value != 0) - (route->value != 0);
	route->value = route->entry->value = value;
	if (!value && cworld_random(world, 3))
		remove_route(table, (uint32_t)(route - table->routes));
}

int cworld_apply(struct cworld *world, struct cworld_table *table,
		 const struct cworld_prefix *prefix, bool same_prefix)
{
	const struct prefix dst = { .addr = cworld_network(prefix->addr), .len = prefix->len };

	return compiled_change(world->compiled, table->id, &table->radix, &dst, same_prefix);
}

int cworld_set(struct cworld *world, struct cworld_table *table, const struct cworld_prefix *prefix,
	       uint32_t value)
{
	bool was = cworld_value(table, prefix) != 0;

	cworld_put(world, table, prefix, value);
	return cworld_apply(world, table, prefix, was && value);
}

void cworld_sweep(struct cworld *world, struct cworld_table *table)
{
	for (int i = 0; table->n && i < 8; i++) {
		uint32_t at = cworld_random(world, table->n);

		if (!table->routes[at].value)
			remove_route(table, at);
	}
}

/* --- looking ---------------------------------------------------------------------------------- */

int cworld_find(const struct cworld *world, const struct cworld_table *table, compiled_bits addr,
		uint32_t *value)
{
	const union sixlane_addr network = cworld_network(addr);

	return compiled_find(&world->view, table->id, &network, value);
}

void cworld_check(struct cworld *world, const struct cworld_table *table, compiled_bits addr)
{
	uint32_t expected = cworld_naive(table, addr), value = 0;
	int err = cworld_find(world, table, addr, &value);

	world->lookups++;
	if (!err && value == expected)
		return;
	fail_msg("SEED=%llu table %u (shape %d) %016llx%016llx: error %d, value %08x, not %08x",
		 (unsigned long long)world->seed, table->id, table->shape,
		 (unsigned long long)(addr >> 64), (unsigned long long)addr, err, value, expected);
}

void cworld_check_edges(struct cworld *world, const struct cworld_table *table,
			const struct cworld_prefix *prefix)
{
	cworld_check(world, table, prefix->addr);
	cworld_check(world, table, cworld_last(prefix));
	cworld_check(world, table, prefix->addr - 1);
	cworld_check(world, table, cworld_last(prefix) + 1);
}

void cworld_check_all(struct cworld *world)
{
	for (uint32_t i = 0; i < world->n_tables; i++) {
		const struct cworld_table *table = &world->tables[i];

		for (uint32_t j = 0; j < table->n; j++)
			cworld_check_edges(world, table, &table->routes[j].prefix);
		for (int j = 0; j < 64; j++)
			cworld_check(world, table, cworld_random_target(world, table));
	}
}
