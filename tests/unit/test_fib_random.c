// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random histories of a fib against a model: prefixes of several tables and what they lead to come,
 * change and go while maps are full, writes fail, memory is short and the daemon restarts.
 * After every single write, packets from and to random addresses must meet the fate of before
 * or after the change, or be punted; when nothing is missing, exactly the fate.
 *
 * In half of the histories the fib is given so few ids and cells that they are always being reused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/fib/fib_internal.h"
#include "../../user/util.h"
#include "fib_model.h"

#define N_HISTORIES 24
#define N_OPERATIONS 900

/* --- memory that runs out --------------------------------------------------------------------- */

static unsigned int alloc_fails; /* one in so many while the fib is at work; 0: never */
static bool fib_at_work;
static uint64_t alloc_random = 1;

void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t n, size_t size);
void *__interceptor_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);

static bool alloc_strikes(void)
{
	if (!fib_at_work || !alloc_fails)
		return false;
	alloc_random = alloc_random * 6364136223846793005u + 1442695040888963407u;
	return (alloc_random >> 33) % alloc_fails == 0;
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

/* --- the world -------------------------------------------------------------------------------- */

struct world {
	struct sim *sim;
	struct fib *fib;
	struct model model;
	bool tight;	/* few ids and cells */
	bool trouble;	/* something was made to fail since the last clean retry */
	bool forgot;	/* the fib said -ENOMEM since the last synchronisation without */
	bool lost;	/* … or of an exception, since all were told the last time … */
	bool lost_anew; /* … began to be told */
	bool bounded;	/* there may be fewer exceptions than are said */
	uint32_t max_exceptions;
	uint64_t evicted;
	uint64_t seed;
	unsigned int operation;
};

static uint32_t rnd(struct world *world, uint32_t n)
{
	return sim_random(world->sim, n);
}

/* --- telling the fib -------------------------------------------------------------------------- */

static void note(struct world *world, int err)
{
	if (err != -ENOMEM)
		assert_int_equal(err, 0);
	if (!alloc_fails)
		assert_int_equal(err, 0);
	world->forgot |= err != 0;
}

static void tell_slot(struct world *world, const struct model_slot *slot)
{
	struct fib_source sources[N_SOURCES];
	struct fib_target target = model_target(&slot->leaf);
	int err;

	if (slot->n_sources)
		target = (struct fib_target){ .verdict = SIXLANE_FORWARD,
					      .kind = FIB_SOURCES,
					      .n_sources = slot->n_sources,
					      .sources = sources };
	for (size_t i = 0; i < slot->n_sources; i++) {
		const struct model_source *source = &slot->sources[slot->n_sources - 1 - i];

		sources[i] = (struct fib_source){ .src = source->src,
						  .dst_len = source->dst_len,
						  .target = model_target(&source->leaf) };
	}
	fib_at_work = true;
	err = fib_set(world->fib, slot->table, &slot->dst, slot->there ? &target : NULL);
	fib_at_work = false;
	note(world, err);
}

static void tell_object(struct world *world, uint32_t i)
{
	const struct fib_object object = model_object(&world->model.now.objects[i]);
	int err;

	fib_at_work = true;
	err = fib_set_object(world->fib, i + 1, world->model.now.objects[i].there ? &object : NULL);
	fib_at_work = false;
	note(world, err);
}

static int tell_port(struct world *world, const struct sixlane_port *port)
{
	int err;

	fib_at_work = true;
	err = fib_set_port(world->fib, port);
	fib_at_work = false;
	if (!world->trouble)
		assert_int_equal(err, 0);
	return err;
}

static size_t retry(struct world *world)
{
	size_t missing;

	fib_at_work = true;
	missing = fib_retry(world->fib);
	fib_at_work = false;
	return missing;
}

/* --- comparing -------------------------------------------------------------------------------- */

/*
 * Passing for want of room is never wrong, if there is a want; neither is finding nothing, if
 * others are told so.
 */
static bool is_pass(const struct world *world, const struct sim_found *found)
{
	uint32_t verdict = found ? sim_verdict(found) : SIXLANE_FORWARD;

	if (!world->trouble && !world->tight && !world->forgot)
		return false;
	if (!found)
		return world->sim->gaps;
	if (verdict == SIXLANE_PUNT_NEXT_HOP_OBJECT)
		return world->forgot || fib_at_work;
	return verdict == SIXLANE_PUNT_MAP_FULL || verdict == SIXLANE_PUNT_SOURCE_ROUTE;
}

/* It finds its route as state has it, and there the exception that it has, too. */
static bool is_as(const struct world *world, const struct model_state *state,
		  const struct model_probe *probe, const struct sim_found *found, bool exact)
{
	bool evicting = fib_at_work && world->max_exceptions < N_EXCEPTIONS;
	bool excused = !exact &&
		       (world->trouble || world->tight || world->forgot || world->lost || evicting);

	return model_agrees(&world->model, state, probe, found, exact) &&
	       (!found || sim_verdict(found) != SIXLANE_FORWARD ||
		model_excepts(&world->model, state, probe, found, excused));
}

static void check_probe(const struct world *world, const struct model_probe *probe, bool exact)
{
	struct sim_found at;
	const struct sim_found *found = NULL;

	if (sim_find(world->sim, probe->table, &probe->dst, &probe->src, &at))
		found = &at;
	if (is_as(world, &world->model.now, probe, found, exact))
		return;
	if (!exact &&
	    (is_as(world, &world->model.before, probe, found, false) || is_pass(world, found)))
		return;
	fail_msg("table %#x probe %zu has verdict %d, which is neither old nor new", probe->table,
		 (size_t)(probe - world->model.probes), found ? (int)sim_verdict(found) : -1);
}

/* exact: whoever has a tag gets it. */
static void check_vlans(const struct world *world, bool exact)
{
	for (uint32_t lower = 1; lower <= 2; lower++) {
		for (uint16_t vid = 1; vid <= 2; vid++) {
			const union sixlane_tag tag = { .tpid = 0x81, .tci = vid };
			uint32_t found = sim_vlan_ifindex(world->sim, lower, tag);

			if (found)
				assert_true(model_claims(&world->model.now, found, lower, tag) ||
					    model_claims(&world->model.before, found, lower, tag));
			else if (exact)
				assert_false(model_claims(&world->model.now, 0, lower, tag));
		}
	}
}

static void check_write(void *ctx)
{
	struct world *world = ctx;
	bool at_work = fib_at_work;

	for (int i = 0; i < 6; i++)
		check_probe(world, &world->model.probes[rnd(world, N_PROBES)], false);
	check_vlans(world, false);
	fib_at_work = at_work;
}

/* Between operations. */
static void check_all(struct world *world)
{
	struct fib_stats stats;
	size_t there = 0;
	bool exact;

	fib_get_stats(world->fib, &stats);
	exact = !stats.missing && !world->forgot && !world->lost;
	world->model.before = world->model.now;
	for (size_t i = 0; i < N_PROBES; i++)
		check_probe(world, &world->model.probes[i], exact);
	for (size_t i = 0; i < N_PREFIXES; i++)
		there += world->model.now.slots[i].there;
	check_vlans(world, false);
	assert_int_equal(stats.exceptions, world->sim->n_exceptions);
	assert_int_equal(stats.routes, world->sim->routes.n);
	assert_int_equal(stats.sources, world->sim->sources.n);
	assert_int_equal(stats.neighbours, world->sim->n_neigh_index);
	if (exact) {
		assert_int_equal(stats.routes, there);
		assert_false(world->sim->gaps);
	}
	if (!world->trouble && !world->tight)
		assert_int_equal(stats.missing, 0);
}

/* --- operations ------------------------------------------------------------------------------- */

static void change(struct world *world)
{
	struct model_slot *slot = &world->model.now.slots[rnd(world, N_PREFIXES)];

	slot->there = !slot->there || rnd(world, 2);
	model_random_content(&world->model, slot);
	model_change_doubts(&world->model);
	tell_slot(world, slot);
}

static void change_object(struct world *world)
{
	uint32_t i = rnd(world, N_OBJECTS);

	world->model.now.objects[i] =
		model_random_object(&world->model, &world->model.now.objects[i]);
	model_change_doubts(&world->model);
	tell_object(world, i);
}

static void make_trouble(struct world *world)
{
	struct sim *sim = world->sim;

	world->trouble = true;
	switch (rnd(world, 12)) {
	case 10:
		sim->exception_fails = rnd(world, 4);
		break;
	case 11:
		sim->exceptions_capacity = sim->n_exceptions + rnd(world, 3);
		break;
	case 0:
		sim->routes.capacity = sim->routes.n + rnd(world, 3);
		break;
	case 1:
		sim->full_refuses_replace = !sim->full_refuses_replace;
		break;
	case 2:
		sim->enomem = rnd(world, 3);
		break;
	case 3:
		sim->set_fails = rnd(world, 4);
		break;
	case 4:
		sim->del_fails = rnd(world, 4);
		break;
	case 5:
		sim->index_fails = rnd(world, 4);
		break;
	case 6:
		sim->sources.capacity = sim->sources.n + rnd(world, 3);
		break;
	case 7:
		sim->grace_fails = !sim->grace_fails;
		break;
	case 8:
		alloc_fails = rnd(world, 2) * (2 + rnd(world, 30));
		break;
	default:
		sim->routes.capacity = sim->sources.capacity = SIM_MAX_ROUTES;
		break;
	}
}

static void sync_all(struct world *world);
static void tell_all(struct world *world, enum fib_origin origin);
static void note_evicted(struct world *world);

static void end_trouble(struct world *world)
{
	struct sim *sim = world->sim;

	alloc_fails = 0;
	sim->routes.capacity = sim->sources.capacity = SIM_MAX_ROUTES;
	sim->full_refuses_replace = sim->grace_fails = false;
	sim->enomem = sim->set_fails = sim->del_fails = sim->index_fails = 0;
	sim->exception_fails = 0;
	sim->exceptions_capacity = SIM_MAX_EXCEPTIONS;
	/* What the daemon does after -ENOMEM. */
	if (world->forgot)
		sync_all(world);
	model_raise_doubts(&world->model);
	if (!world->tight)
		assert_int_equal(retry(world), 0);
	/* What is deleted last makes room for nobody but the next try. */
	retry(world);
	sim->index_errors = 0;
	check_vlans(world, true);
	tell_all(world, FIB_KERNEL);
	world->trouble = false;
}

static void move_neigh(struct world *world)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, (uint8_t)rnd(world, 4) };
	union sixlane_addr addr = model_random_addr(&world->model);
	uint32_t ifindex = 1 + rnd(world, 4);
	bool up = rnd(world, 3) != 0;
	int err;

	fib_at_work = true;
	err = fib_set_neigh(world->fib, ifindex, &addr, up ? mac : NULL);
	fib_at_work = false;
	if (!world->trouble && !world->tight)
		assert_int_equal(err, 0);
	if (up && !err)
		assert_memory_equal(&(uint64_t){ sim_neigh_mac(world->sim, ifindex, &addr) }, mac,
				    6);
	else
		assert_int_equal(sim_neigh_mac(world->sim, ifindex, &addr), 0);
}

static void move_port(struct world *world)
{
	struct sixlane_port port = { .ifindex = 1 + rnd(world, 6), .flags = rnd(world, 3) };

	tell_port(world, &port);
}

static void move_vlan(struct world *world)
{
	uint32_t i = rnd(world, N_VLAN_PORTS);
	struct sixlane_port *port = &world->model.now.vlans[i];

	*port = (struct sixlane_port){ .ifindex = FIRST_VLAN_PORT + i };
	if (rnd(world, 3)) {
		port->flags = SIXLANE_PORT_TAGGED | rnd(world, 2);
		port->lower = 1 + rnd(world, 2);
		port->tag =
			(union sixlane_tag){ .tpid = 0x81, .tci = (uint16_t)(1 + rnd(world, 2)) };
	}
	/* Without memory for the port it has no tag either. */
	if (tell_port(world, port))
		port->flags = 0;
}

static void sync_all(struct world *world)
{
	world->forgot = false;
	world->model.syncing = true;
	fib_at_work = true;
	fib_sync_begin(world->fib);
	fib_at_work = false;
	for (uint32_t i = 0; i < N_VLAN_PORTS; i++) {
		if (world->model.now.vlans[i].flags && tell_port(world, &world->model.now.vlans[i]))
			world->model.now.vlans[i].flags = 0;
	}
	for (uint32_t i = 0; i < N_OBJECTS; i++) {
		if (world->model.now.objects[i].there)
			tell_object(world, i);
	}
	for (int len = 128; len >= 0; len--) {
		for (size_t i = 0; i < N_PREFIXES; i++) {
			if (world->model.now.slots[i].there &&
			    world->model.now.slots[i].dst.len == len)
				tell_slot(world, &world->model.now.slots[i]);
		}
	}
	fib_at_work = true;
	fib_sync_end(world->fib);
	fib_at_work = false;
	world->model.syncing = false;
}

static void tighten(struct world *world)
{
	if (!world->tight)
		return;
	world->fib->next_hop_pool.limit = 32;
	world->fib->set_pool.limit = 6;
	world->fib->neigh_pool.limit = 16;
	world->fib->cells.limit = 64;
}

/* Routes that lead to groups and sets, which are made anew. */
static size_t count_opaque(const struct world *world)
{
	size_t n = 0;

	for (size_t i = 0; i < N_PREFIXES; i++) {
		const struct model_slot *slot = &world->model.now.slots[i];

		n += slot->there &&
		     (slot->n_sources || (slot->leaf.kind != FIB_OBJECT &&
					  (slot->leaf.kind != FIB_ONE || slot->leaf.expires_ns)));
	}
	return n;
}

/*
 * What was right is left as it is but for groups and sets, and packets do not notice: neither
 * before the first synchronisation nor while it goes on. What the old daemon had to leave is swept.
 */
static void restart(struct world *world)
{
	struct fib_writer writer = sim_writer(world->sim);
	struct fib_stats stats;
	bool quiet = !world->trouble && !world->forgot, complete;
	unsigned long writes;

	fib_get_stats(world->fib, &stats);
	complete = !stats.missing && !world->forgot && !world->lost;
	fib_free(world->fib);
	world->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	fib_set_max_exceptions(world->fib, world->max_exceptions);
	world->evicted = 0;
	model_raise_doubts(&world->model);
	world->model.adopted = true;
	tighten(world);
	sim_adopt(world->sim, world->fib);
	writes = world->sim->routes.writes;
	fib_retry(world->fib);
	note_evicted(world);
	fib_get_stats(world->fib, &stats);
	complete &= !stats.missing;
	for (size_t i = 0; i < N_PROBES; i++)
		check_probe(world, &world->model.probes[i], complete);
	sync_all(world);
	if (quiet && !world->tight && !world->lost)
		assert_in_range(world->sim->routes.writes, writes, writes + count_opaque(world));
	tell_all(world, FIB_OPERATOR);
	tell_all(world, FIB_KERNEL);
	world->model.adopted = false;
}

/* Things went and came while nobody listened. */
static void resync(struct world *world)
{
	for (int i = 0; i < 5; i++) {
		struct model_slot *slot = &world->model.now.slots[rnd(world, N_PREFIXES)];

		slot->there = !slot->there;
		model_random_content(&world->model, slot);
	}
	if (rnd(world, 2)) {
		uint32_t i = rnd(world, N_OBJECTS);

		world->model.now.objects[i] =
			model_random_object(&world->model, &world->model.now.objects[i]);
	}
	model_change_doubts(&world->model);
	sync_all(world);
}

/* --- exceptions ---------------------------------------------------------------------------------
 */

static void tell_exception(struct world *world, size_t i, enum fib_origin origin)
{
	struct model_exception *exception = &world->model.now.exceptions[i];
	const struct fib_exception *said = &exception->said[origin];
	bool bounded = world->max_exceptions < N_EXCEPTIONS;
	int err;

	fib_at_work = true;
	err = fib_set_exception(world->fib, origin, exception->table, &exception->dst,
				exception->there[origin] ? said : NULL);
	fib_at_work = false;
	if (err)
		assert_true((err == -ENOMEM && alloc_fails) || (err == -ENOSPC && bounded));
	/* Refused, or lost, and then the kernel's. */
	if (origin == FIB_OPERATOR)
		exception->there[origin] &= !err;
	else if (err)
		exception->doubt = MODEL_DOUBT;
	if (err && origin == FIB_KERNEL)
		world->lost = world->lost_anew = true;
}

static void say(struct world *world, size_t i, enum fib_origin origin)
{
	struct model_exception *exception = &world->model.now.exceptions[i];

	exception->there[origin] = rnd(world, 4) != 0;
	if (exception->there[origin])
		exception->said[origin] = model_random_exception(&world->model, origin);
	if (origin == FIB_KERNEL)
		exception->doubt = MODEL_SURE;
	tell_exception(world, i, origin);
}

/* Those that go to make room for others are lost as well. */
static void note_evicted(struct world *world)
{
	struct fib_stats stats;

	fib_get_stats(world->fib, &stats);
	if (stats.exceptions_evicted != world->evicted)
		world->lost = world->lost_anew = true;
	world->evicted = stats.exceptions_evicted;
}

/* In full, some of it anew. */
static void tell_all(struct world *world, enum fib_origin origin)
{
	fib_at_work = true;
	fib_exceptions_begin(world->fib, origin);
	fib_at_work = false;
	world->lost_anew = false;
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		struct model_exception *exception = &world->model.now.exceptions[i];

		if (origin == FIB_KERNEL && exception->there[origin])
			exception->doubt = MODEL_SURE;
		if (exception->there[origin])
			tell_exception(world, i, origin);
	}
	fib_at_work = true;
	fib_exceptions_end(world->fib, origin, true);
	fib_at_work = false;
	note_evicted(world);
	if (origin == FIB_KERNEL)
		world->lost = world->lost_anew;
}

static void answer_doubts(struct world *world)
{
	union sixlane_addr dst;
	uint32_t table;

	for (uint32_t n = rnd(world, 4); n; n--) {
		size_t i = 0;

		if (!fib_exception_in_doubt(world->fib, &table, &dst))
			return;
		while (i < N_EXCEPTIONS &&
		       (world->model.now.exceptions[i].table != table ||
			memcmp(&world->model.now.exceptions[i].dst, &dst, sizeof(dst)) != 0))
			i++;
		assert_true(i < N_EXCEPTIONS);
		assert_true(world->model.now.exceptions[i].there[FIB_KERNEL]);
		if (!world->trouble && !world->tight)
			assert_int_not_equal(world->model.now.exceptions[i].doubt, MODEL_SURE);
		say(world, i, FIB_KERNEL);
	}
}

static void expire(struct world *world)
{
	struct model_state *now = &world->model.now;
	uint64_t next;

	world->model.now_ns += rnd(world, 10);
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		for (int origin = 0; origin < FIB_N_ORIGINS; origin++) {
			uint64_t expires_ns = now->exceptions[i].said[origin].expires_ns;

			if (expires_ns && expires_ns <= world->model.now_ns)
				now->exceptions[i].there[origin] = false;
		}
	}
	do {
		fib_at_work = true;
		fib_exceptions_expire(world->fib, world->model.now_ns, 1 + rnd(world, 5), &next);
		fib_at_work = false;
	} while (next <= world->model.now_ns);
}

/* Never fewer than what the operator has said. */
static void bound(struct world *world)
{
	uint32_t least = 1;

	for (size_t i = 0; i < N_EXCEPTIONS; i++)
		least += world->model.now.exceptions[i].there[FIB_OPERATOR];
	world->max_exceptions = rnd(world, 2) ? N_EXCEPTIONS : least;
	fib_at_work = true;
	fib_set_max_exceptions(world->fib, world->max_exceptions);
	fib_at_work = false;
}

static void except(struct world *world)
{
	uint32_t dice = rnd(world, 20);

	if (dice < 10)
		say(world, rnd(world, N_EXCEPTIONS), rnd(world, FIB_N_ORIGINS));
	else if (dice < 14)
		answer_doubts(world);
	else if (dice < 17)
		expire(world);
	else if (dice < 18)
		tell_all(world, rnd(world, FIB_N_ORIGINS));
	else if (dice < 19 && world->bounded)
		bound(world);
	note_evicted(world);
}

static void operate(struct world *world)
{
	uint32_t dice = rnd(world, 140);

	if (dice >= 100)
		except(world);
	else if (dice < 54)
		change(world);
	else if (dice < 68)
		change_object(world);
	else if (dice < 73)
		move_neigh(world);
	else if (dice < 77)
		move_port(world);
	else if (dice < 82)
		move_vlan(world);
	else if (dice < 90)
		retry(world);
	else if (dice < 94)
		make_trouble(world);
	else if (dice < 96)
		end_trouble(world);
	else if (dice < 98)
		restart(world);
	else
		resync(world);
}

/* --- histories -------------------------------------------------------------------------------- */

static void open_world(struct world *world, uint64_t seed, bool tight)
{
	struct fib_writer writer;

	memset(world, 0, sizeof(*world));
	world->sim = sim_new();
	world->sim->random = seed;
	world->seed = seed;
	world->bounded = seed % 3 == 0;
	world->max_exceptions = N_EXCEPTIONS;
	world->tight = tight;
	alloc_fails = 0;
	alloc_random = seed;
	writer = sim_writer(world->sim);
	world->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	tighten(world);
	model_init(&world->model, world->sim);
}

/* In the end nothing is left, whatever happened. */
static void empty(struct world *world)
{
	struct fib_stats stats;

	end_trouble(world);
	check_all(world);
	for (size_t i = 0; i < N_PREFIXES; i++)
		world->model.now.slots[i].there = false;
	for (size_t i = 0; i < N_OBJECTS; i++)
		world->model.now.objects[i].there = false;
	memset(world->model.now.exceptions, 0, sizeof(world->model.now.exceptions));
	tell_all(world, FIB_OPERATOR);
	tell_all(world, FIB_KERNEL);
	sync_all(world);
	check_all(world);
	fib_get_stats(world->fib, &stats);
	assert_int_equal(stats.routes, 0);
	assert_int_equal(stats.sources, 0);
	assert_int_equal(stats.cells, 0);
	assert_int_equal(stats.next_hops, 0);
	assert_int_equal(stats.neighbours, 0);
	assert_int_equal(stats.missing, 0);
	assert_int_equal(stats.exceptions, 0);
	for (uint32_t ifindex = 1; ifindex <= FIRST_VLAN_PORT + N_VLAN_PORTS; ifindex++)
		fib_set_port(world->fib, &(struct sixlane_port){ .ifindex = ifindex });
	assert_int_equal(world->sim->n_port_index, 0);
	assert_int_equal(world->sim->n_vlans, 0);
}

static struct world world;

static void play(uint64_t seed, bool trouble_allowed, bool tight)
{
	open_world(&world, seed, tight);
	sync_all(&world);
	world.sim->written = check_write;
	world.sim->ctx = &world;
	for (int i = 0; i < N_OPERATIONS; i++) {
		world.operation = (unsigned int)i;
		operate(&world);
		check_all(&world);
		if (trouble_allowed || !world.trouble)
			continue;
		end_trouble(&world);
		check_all(&world);
	}
	world.sim->written = NULL;
	empty(&world);
	fib_free(world.fib);
	sim_free(world.sim);
	world.sim = NULL;
}

static int tell_seed(void **state)
{
	(void)state;
	if (world.sim)
		print_message("failed: SEED=%llu HISTORIES=1, at operation %u\n",
			      (unsigned long long)world.seed, world.operation);
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

	(void)state;
	for (uint64_t i = 0; i < n; i++)
		play(seed + i, (seed + i) % 4 != 0, (seed + i) % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_histories, tell_seed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
