// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random histories of a fib against a model. Prefixes, objects, exceptions and devices come, change
 * and go while maps are full, writes fail, memory is short and the daemon restarts. After every
 * write, random packets must meet the next hop of before or after the change, or be punted. When
 * nothing is missing, they must meet exactly the next hop of the model.
 *
 * In half of the histories there are so few ids and buckets that they are reused all the time.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../user/fib/desired.h"
#include "../../../../user/lib/util.h"
#include "../fib_history_check.h"

#define N_HISTORIES 16
#define N_OPERATIONS 900

/* --- memory that runs out --------------------------------------------------------------------- */

static uint64_t alloc_random = 1;

void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t n, size_t size);
void *__interceptor_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);

static bool alloc_strikes(void)
{
	if (!history_at_work || !history_alloc_fails)
		return false;
	alloc_random = alloc_random * 6364136223846793005u + 1442695040888963407u;
	return (alloc_random >> 33) % history_alloc_fails == 0;
}

void *malloc(size_t size)
{
	return alloc_strikes() ? NULL : __interceptor_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return alloc_strikes() ? NULL : __interceptor_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return alloc_strikes() ? NULL : __interceptor_realloc(old, size);
}

/* --- random ----------------------------------------------------------------------------------- */

static uint32_t rnd(struct history *history, uint32_t n)
{
	return sim_random(history->sim, n);
}

/* --- operations ------------------------------------------------------------------------------- */

static void change(struct history *history)
{
	struct model_slot *slot = &history->model.now.slots[rnd(history, N_PREFIXES)];

	slot->there = !slot->there || rnd(history, 2);
	model_random_content(&history->model, slot);
	history_set_slot(history, slot);
}

static void change_object(struct history *history)
{
	uint32_t i = rnd(history, N_OBJECTS);

	history->model.now.objects[i] =
		model_random_object(&history->model, &history->model.now.objects[i]);
	history_set_object(history, i);
}

static void make_trouble(struct history *history)
{
	struct sim *sim = history->sim;
	unsigned int *const fails[] = {
		&sim->enomem,	   &sim->set_fails,	  &sim->del_fails,
		&sim->index_fails, &sim->exception_fails, &sim->chunk_fails
	};
	size_t *const capacities[] = { &sim->routes.capacity, &sim->sources.capacity,
				       &sim->exceptions_capacity };
	const size_t filled[] = { sim->routes.n, sim->sources.n, sim->n_exceptions };
	uint32_t i;

	history->trouble = true;
	switch (rnd(history, 12)) {
	case 0:
		sim->full_refuses_replace = !sim->full_refuses_replace;
		break;
	case 1:
		sim->grace_fails = !sim->grace_fails;
		break;
	case 2:
		history_alloc_fails = rnd(history, 2) * (2 + rnd(history, 30));
		break;
	case 3:
		sim->routes.capacity = sim->sources.capacity = SIM_MAX_ROUTES;
		break;
	case 4:
	case 5:
	case 6:
		i = rnd(history, ARRAY_SIZE(filled));
		*capacities[i] = filled[i] + rnd(history, 3);
		break;
	default:
		*fails[rnd(history, ARRAY_SIZE(fails))] = rnd(history, 4);
		break;
	}
}

static void end_trouble(struct history *history)
{
	struct sim *sim = history->sim;

	history_alloc_fails = 0;
	sim->routes.capacity = sim->sources.capacity = SIM_MAX_ROUTES;
	sim->full_refuses_replace = sim->grace_fails = false;
	sim->enomem = sim->set_fails = sim->del_fails = sim->index_fails = 0;
	sim->exception_fails = sim->chunk_fails = 0;
	sim->exceptions_capacity = SIM_MAX_EXCEPTIONS;
	/* After -ENOMEM the daemon synchronises again. */
	if (history->forgot)
		history_sync(history);
	if (!history->tight)
		assert_int_equal(history_retry(history), 0);
	/* What this retry deletes last makes room only for another retry. */
	history_retry(history);
	sim->index_errors = 0;
	history_check_vlans(history, true);
	history->trouble = false;
}

static void move_neigh(struct history *history)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, (uint8_t)rnd(history, 4) };
	union sixlane_addr addr = model_random_addr(&history->model);
	uint32_t ifindex = 1 + rnd(history, 4);
	bool up = rnd(history, 3) != 0;
	int err;

	AT_WORK(err = fib_set_neigh(history->fib, ifindex, &addr, up ? mac : NULL));
	if (!history->trouble && !history->tight)
		assert_int_equal(err, 0);
	if (up && !err)
		assert_memory_equal(&(uint64_t){ sim_neigh_mac(history->sim, ifindex, &addr) }, mac,
				    6);
	else
		assert_int_equal(sim_neigh_mac(history->sim, ifindex, &addr), 0);
}

static void move_port(struct history *history)
{
	struct sixlane_port port = { .ifindex = 1 + rnd(history, 6), .flags = rnd(history, 3) };

	history_set_port(history, &port);
}

static void move_vlan(struct history *history)
{
	uint32_t i = rnd(history, N_VLAN_PORTS);
	struct sixlane_port *port = &history->model.now.vlans[i];

	*port = (struct sixlane_port){ .ifindex = FIRST_VLAN_PORT + i };
	if (rnd(history, 3)) {
		port->flags = SIXLANE_PORT_TAGGED | rnd(history, 2);
		port->lower = 1 + rnd(history, 2);
		port->tag =
			(union sixlane_tag){ .tpid = 0x81, .tci = (uint16_t)(1 + rnd(history, 2)) };
	}
	/* Without memory for the port it has no tag either. */
	if (history_set_port(history, port))
		port->flags = 0;
}

static void tighten(struct history *history)
{
	if (!history->tight)
		return;
	history->fib->next_hop_ids.limit = 32;
	history->fib->source_ids.limit = 6;
	history->fib->neigh_ids.limit = 16;
	history->fib->buckets.limit = 64;
}

/* Routes to groups and source-specific tables, which a restarted daemon builds again. */
static size_t count_rebuilt(const struct history *history)
{
	size_t n = 0;

	for (size_t i = 0; i < N_PREFIXES; i++) {
		const struct model_slot *slot = &history->model.now.slots[i];

		n += slot->there &&
		     (slot->n_sources || (slot->leaf.kind != FIB_OBJECT &&
					  (slot->leaf.kind != FIB_ONE || slot->leaf.expires_ns)));
	}
	return n;
}

/* A restarted daemon reads the kernel's exceptions again. */
static void forget_kernel_exceptions(struct history *history)
{
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		struct model_exception *exception = &history->model.now.exceptions[i];

		exception->there &= exception->value.origin == FIB_OPERATOR;
		exception->flagged &= exception->there;
	}
	history->model.before = history->model.now;
}

/*
 * A restart writes no route that is right, except those of groups and source-specific tables.
 * Packets notice nothing, neither before the first synchronisation nor in it.
 */
static void restart(struct history *history)
{
	struct fib_writer writer = sim_writer(history->sim);
	struct fib_stats stats;
	bool quiet = !history->trouble && !history->forgot, complete;
	unsigned long writes;

	fib_get_stats(history->fib, &stats);
	complete = !stats.missing && !history->forgot;
	fib_free(history->fib);
	history->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	forget_kernel_exceptions(history);
	tighten(history);
	sim_adopt(history->sim, history->fib);
	writes = history->sim->routes.writes;
	fib_retry(history->fib);
	fib_get_stats(history->fib, &stats);
	complete &= !stats.missing;
	for (size_t i = 0; i < N_PROBES; i++)
		history_check_probe(history, &history->model.probes[i], complete);
	history_sync(history);
	if (quiet && !history->tight)
		assert_in_range(history->sim->routes.writes, writes,
				writes + count_rebuilt(history));
	history_set_exceptions(history);
}

/* Prefixes and objects have changed without notice. */
static void resync(struct history *history)
{
	for (int i = 0; i < 5; i++) {
		struct model_slot *slot = &history->model.now.slots[rnd(history, N_PREFIXES)];

		slot->there = !slot->there;
		model_random_content(&history->model, slot);
	}
	if (rnd(history, 2)) {
		uint32_t i = rnd(history, N_OBJECTS);

		history->model.now.objects[i] =
			model_random_object(&history->model, &history->model.now.objects[i]);
	}
	history_sync(history);
}

/* --- exceptions ------------------------------------------------------------------------------- */

static void set_one(struct history *history)
{
	size_t i = rnd(history, N_EXCEPTIONS);
	struct model_exception *exception = &history->model.now.exceptions[i];

	exception->there = rnd(history, 4) != 0;
	if (exception->there)
		exception->value = model_random_exception(&history->model, exception->table);
	history_set_exception(history, i);
}

/* Delete all exceptions, then the flags. */
static void clear_flags(struct history *history)
{
	for (size_t i = 0; i < N_EXCEPTIONS; i++)
		history->model.now.exceptions[i].there = false;
	history_set_exceptions(history);
	for (size_t i = 0; i < N_EXCEPTIONS; i++)
		history->model.now.exceptions[i].flagged =
			history->model.before.exceptions[i].flagged = false;
	AT_WORK(fib_clear_exception_flags(history->fib));
}

static void flag_one(struct history *history)
{
	history_set_flag(history, &history->model.now.exceptions[rnd(history, N_EXCEPTIONS)]);
}

static void retry(struct history *history)
{
	history_retry(history);
}

static void operate(struct history *history)
{
	static const struct {
		uint32_t weight; /* their sum is 140 */
		void (*fn)(struct history *history);
	} operations[] = {
		{ 54, change },
		{ 14, change_object },
		{ 5, move_neigh },
		{ 4, move_port },
		{ 5, move_vlan },
		{ 8, retry },
		{ 4, make_trouble },
		{ 2, end_trouble },
		{ 2, restart },
		{ 2, resync },
		{ 30, set_one },
		{ 6, flag_one },
		{ 2, history_set_exceptions },
		{ 2, clear_flags },
	};
	uint32_t dice = rnd(history, 140);
	size_t i;

	for (i = 0; dice >= operations[i].weight; i++)
		dice -= operations[i].weight;
	operations[i].fn(history);
}

/* --- histories -------------------------------------------------------------------------------- */

static void open_world(struct history *history, uint64_t seed, bool tight)
{
	struct fib_writer writer;

	memset(history, 0, sizeof(*history));
	history->sim = sim_new();
	history->sim->random = seed;
	history->seed = seed;
	history->tight = tight;
	history_alloc_fails = 0;
	alloc_random = seed;
	writer = sim_writer(history->sim);
	history->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	tighten(history);
	model_init(&history->model, history->sim);
}

/* Withdraw everything. Whatever happened before, nothing is left. */
static void empty(struct history *history)
{
	struct fib_stats stats;

	end_trouble(history);
	history_check(history);
	for (size_t i = 0; i < N_PREFIXES; i++)
		history->model.now.slots[i].there = false;
	for (size_t i = 0; i < N_OBJECTS; i++)
		history->model.now.objects[i].there = false;
	clear_flags(history);
	history_sync(history);
	history_check(history);
	fib_get_stats(history->fib, &stats);
	assert_int_equal(stats.routes, 0);
	assert_int_equal(stats.sources, 0);
	assert_int_equal(stats.buckets, 0);
	assert_int_equal(stats.next_hops, 0);
	assert_int_equal(stats.neighbours, 0);
	assert_int_equal(stats.missing, 0);
	assert_int_equal(stats.exceptions, 0);
	for (uint32_t ifindex = 1; ifindex <= FIRST_VLAN_PORT + N_VLAN_PORTS; ifindex++)
		fib_set_port(history->fib, &(struct sixlane_port){ .ifindex = ifindex });
	assert_int_equal(history->sim->n_port_index, 0);
	assert_int_equal(history->sim->n_vlans, 0);
}

static struct history history;

static void play(uint64_t seed, bool trouble_allowed, bool tight)
{
	open_world(&history, seed, tight);
	history_sync(&history);
	history.sim->written = history_check_write;
	history.sim->ctx = &history;
	for (int i = 0; i < N_OPERATIONS; i++) {
		history.operation = (unsigned int)i;
		operate(&history);
		if (i % 8 == 0)
			history_compile(&history);
		history_check(&history);
		if (trouble_allowed || !history.trouble)
			continue;
		end_trouble(&history);
		history_check(&history);
	}
	history.sim->written = NULL;
	empty(&history);
	fib_free(history.fib);
	sim_free(history.sim);
	history.sim = NULL;
}

static int print_seed(void **state)
{
	if (history.sim)
		print_message("failed: SEED=%llu HISTORIES=1, at operation %u\n",
			      (unsigned long long)history.seed, history.operation);
	return 0;
}

static uint64_t seed_of_run(void)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : util_now_ns();

	print_message("SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

static void test_histories(void **state)
{
	const char *given = getenv("HISTORIES");
	uint64_t seed = seed_of_run(), n = given ? strtoull(given, NULL, 0) : N_HISTORIES;

	for (uint64_t i = 0; i < n; i++)
		play(seed + i, (seed + i) % 4 != 0, (seed + i) % 2);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_histories, print_seed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
