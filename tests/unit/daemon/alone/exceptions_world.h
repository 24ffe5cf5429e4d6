/* SPDX-License-Identifier: GPL-2.0-only */
/* A daemon with one destination, whose FIB writes to simulated maps. */
#ifndef UNIT_DAEMON_EXCEPTIONS_WORLD_H
#define UNIT_DAEMON_EXCEPTIONS_WORLD_H

#include "../../fib/sim_maps.h"
#include "exceptions_kernel.h"

static uint64_t punted[SIXLANE_PUNTED_WORDS], fresh[SIXLANE_FRESH_WORDS];
static struct sixlane_meta meta;
static struct maps maps = { .meta = &meta, .punted = punted, .fresh = fresh };
static struct config config;
static struct world *world;
static struct sim *sim;
static struct audit audit_ = { .reader = (struct kernel_reader *)&world }; /* not NULL */
static struct sync sync_;

/* All destinations are on the links of these devices. */
static inline void resolve(bool resolved)
{
	for (uint32_t ifindex = 3; ifindex <= 5; ifindex++)
		neighs_set(sync_.stores.neighs,
			   &(struct neigh){ .ifindex = ifindex,
					    .addr = dst_,
					    .state = resolved ? NUD_STALE : NUD_FAILED,
					    .has_mac = resolved });
}

static inline int start(void **state)
{
	struct fib_writer writer;

	memset(punted, 0, sizeof(punted));
	memset(fresh, 0, sizeof(fresh));
	memset(kernel, 0, sizeof(kernel));
	meta = (struct sixlane_meta){ 0 };
	config = (struct config){ .max_exceptions = 10 };
	world = world_new(true);
	sim = sim_new();
	writer = sim_writer(sim);
	sync_ = (struct sync){
		.config = &config,
		.maps = &maps,
		.audit = &audit_,
		.stores.rib = world->rib,
		.stores.resolve = world->resolve,
		.stores.view = world->view,
		.stores.nexthops = nexthops_new(NULL, NULL),
		.stores.neighs = neighs_new(),
		.fib = fib_new(&writer, 1000),
		.exceptions = exceptions_new(),
	};
	world_add(world, ROUTE " dev 3");
	world_add(world, SHORTER " dev 3");
	dst_ = world_prefix("2001:db8::1").addr;
	resolve(true);
	read_since_ns = lost = 0;
	read_error = 0;
	cut = false;
	expires_ns = util_now_ns() + 60 * SECOND_NS;
	return 0;
}

static inline int stop(void **state)
{
	exceptions_free(sync_.exceptions);
	nexthops_free(sync_.stores.nexthops);
	neighs_free(sync_.stores.neighs);
	fib_free(sync_.fib);
	sim_free(sim);
	world_free(world);
	return 0;
}

static inline void receive_event(void)
{
	event_waits = true;
	sync_.icmp_events.next_read_ns = 0;
	exceptions_fresh_read(&sync_);
}

/* Read what is queued. done: the kernel has acted on all events. */
static inline void run_queue(bool done)
{
	struct exception_dest *at;

	TAILQ_FOREACH(at, &sync_.exceptions->queue, queued)
	{
		at->due_ns = 1;
		if (done)
			at->event_ns = 1;
	}
	sync_.exceptions->paused_until_ns = 0;
	exceptions_run(&sync_);
}

/* Everything was read since that time. */
static inline void check_store(uint64_t since_ns)
{
	read_since_ns = since_ns;
	sync_.exceptions->next_check_ns = sync_.exceptions->fresh.next_turn_ns = 0;
	exceptions_run(&sync_);
}

static inline void note_all(void)
{
	static const char *const routes[] = { ROUTE, SHORTER };
	struct kernel_view view;

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		const struct prefix prefix = world_prefix(routes[i]);

		view = view_of(RT_TABLE_MAIN, &prefix);
		exceptions_note(&sync_, RT_TABLE_MAIN, &view, view.records, view.n);
	}
	view = view_of(0, NULL);
	exceptions_note(&sync_, 0, &view, view.records, view.n);
}

static inline struct exception_dest *dest_now(void)
{
	return exceptions_find(sync_.exceptions, &dst_);
}

/* The state of dst_. Asserts that it has an entry if it is exact, and its bits if it is punted. */
static inline enum exception_state state_now(void)
{
	const struct exception_dest *dest = dest_now();
	const enum exception_state state = dest ? dest->state : EXCEPTION_NONE;

	assert_int_equal(sim_exception(sim, &dst_) != NULL, state == EXCEPTION_EXACT);
	assert_true(state < EXCEPTION_PUNT || maps_punted_has(maps.punted, &dst_));
	return state;
}

#endif
