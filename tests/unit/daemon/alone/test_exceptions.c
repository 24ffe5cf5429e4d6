// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which destinations with exceptions are exact, punt or neither, and in which order the maps
 * change. The kernel's records, the audit and ICMPv6 events are simulated here; the FIB writes to
 * simulated maps.
 */
#include "../../unit.h"

#include <errno.h>
#include <string.h>

#include "../../../../user/daemon/audit.h"
#include "../../../../user/daemon/exceptions.h"
#include "../../../../user/daemon/exceptions_store.h"
#include "../../../../user/daemon/kernel_reader.h"
#include "../../../../user/daemon/operator.h"
#include "../../../../user/daemon/ports.h"
#include "../../fib/sim_maps.h"
#include "../../resolve/resolve_world.h"

#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>

#define ROUTE "2001:db8::/32"
#define SHORTER "2001::/16"
#define SECOND_NS 1000000000ull
#define OBJECT 7

/* An exception of the kernel, if mtu or redirect is set. Default: at the only hop of ROUTE in main.
 */
struct found {
	uint32_t mtu;
	bool redirect; /* by device 5 */
	const char *route;
	uint32_t hop, siblings, object, src_len;
};

#define MAX_FOUND 2
#define MAX_RECORDS (2 * MAX_FOUND + 1)

static union sixlane_addr dst_; /* the destination of all exceptions */

/* --- the kernel ------------------------------------------------------------------------------- */

static struct found kernel[MAX_FOUND];
static uint64_t expires_ns; /* of all */
static int read_error;
static bool cut;	 /* a view does not hold everything */
static bool walk_misses; /* the next walk finds nothing */

static bool is_at(const struct found *found, uint32_t table, const struct prefix *dst)
{
	const struct prefix route = world_prefix(found->route ?: ROUTE);

	if ((!found->mtu && !found->redirect) || !dst != !!found->object)
		return false;
	return !dst || (table == RT_TABLE_MAIN && prefix_equal(&route, dst));
}

/* The record of a route, or object, and of its exception. */
static void add_records(struct kernel_record *out, const struct found *found)
{
	const struct prefix route = world_prefix(found->route ?: ROUTE);

	out[0] = (struct kernel_record){
		.kind = found->object ? KERNEL_RECORD_OBJECT : KERNEL_RECORD_ROUTE,
		.next_hop_id = found->object,
		.dst_len = route.len,
		.src_len = (uint8_t)found->src_len,
		.ifindex = found->hop ?: 3,
		.n_siblings = (uint16_t)found->siblings,
		.type = RTN_UNICAST,
	};
	memcpy(out[0].dst, route.addr.bytes, sizeof(out[0].dst));
	out[1] = (struct kernel_record){
		.kind = KERNEL_RECORD_EXCEPTION,
		.dst_len = 128,
		.ifindex = found->redirect ? 5 : out[0].ifindex,
		.mtu = found->mtu,
		.flags = found->redirect ? RTF_DYNAMIC : RTF_EXPIRES,
		.expires = expires_ns,
	};
	memcpy(out[1].dst, dst_.bytes, sizeof(out[1].dst));
}

/* The records of a route; dst NULL: of objects. A multipath route has another hop. */
static struct kernel_view view_of(uint32_t table, const struct prefix *dst)
{
	static struct kernel_record records[MAX_RECORDS];
	struct kernel_view view = {
		.now_ns = util_now_ns(), .end = true, .cut = cut, .records = records
	};

	for (size_t i = 0; i < MAX_FOUND; i++) {
		if (!is_at(&kernel[i], table, dst))
			continue;
		add_records(&records[view.n], &kernel[i]);
		view.n += 2;
	}
	if (view.n && records[0].n_siblings) {
		records[view.n] = records[0];
		records[view.n++].ifindex = 6;
	}
	return view;
}

uint64_t kernel_reader_expires_ns(const struct kernel_view *view,
				  const struct kernel_record *record)
{
	return record->flags & RTF_EXPIRES ? record->expires : 0;
}

int kernel_reader_find(struct kernel_reader *reader, uint32_t table, const struct prefix *dst,
		       const struct kernel_choice *choice, struct kernel_view *view)
{
	*view = view_of(table, dst);
	return read_error;
}

int kernel_reader_walk(struct kernel_reader *reader, uint32_t table, uint32_t budget,
		       const struct kernel_choice *choice, struct kernel_cursor *cursor,
		       struct kernel_view *view)
{
	*view = view_of(KERNEL_READER_OBJECTS, NULL);
	view->n *= !walk_misses;
	walk_misses = false;
	return 0;
}

/* --- other replaced functions ----------------------------------------------------------------- */

static uint64_t read_since_ns, lost;
static bool event_waits; /* a message about dst_ has come */
static int restored;	 /* readings of the operator's exceptions that were requested */

uint64_t audit_read_since_ns(const struct audit *audit)
{
	return read_since_ns;
}

int maps_icmp_events_lost(const struct maps *maps, uint64_t *out)
{
	*out = lost;
	return 0;
}

int maps_ring_read(struct maps_ring *ring, void *records, size_t max)
{
	struct sixlane_icmp_event *icmp_events = records;
	const int n = event_waits;

	if (event_waits)
		icmp_events[0] = (struct sixlane_icmp_event){ .dst = dst_ };
	event_waits = false;
	return n;
}

int maps_ring_fd(const struct maps_ring *ring)
{
	return -1;
}

void audit_place_read_unsteady(struct sync *sync, uint32_t ifindex)
{
}

void operator_reread(struct operator_list *list)
{
	restored++;
}

void operator_restore(struct sync *sync, const union sixlane_addr *dst)
{
	assert_memory_equal(dst, &dst_, sizeof(dst_));
	operator_reread(NULL);
}

void ports_add_egress(struct sync *sync, uint32_t ifindex)
{
}

/* --- a daemon --------------------------------------------------------------------------------- */

static uint64_t punted[SIXLANE_PUNTED_WORDS], fresh[SIXLANE_FRESH_WORDS];
static struct sixlane_meta meta;
static struct maps maps = { .meta = &meta, .punted = punted, .fresh = fresh };
static struct config config;
static struct world *world;
static struct sim *sim;
static struct audit audit_ = { .reader = (struct kernel_reader *)&world }; /* not NULL */
static struct sync sync_;

/* All destinations are on the links of these devices. */
static void resolve(bool resolved)
{
	for (uint32_t ifindex = 3; ifindex <= 5; ifindex++)
		neighs_set(sync_.stores.neighs,
			   &(struct neigh){ .ifindex = ifindex,
					    .addr = dst_,
					    .state = resolved ? NUD_STALE : NUD_FAILED,
					    .has_mac = resolved });
}

static int start(void **state)
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

static int stop(void **state)
{
	exceptions_free(sync_.exceptions);
	nexthops_free(sync_.stores.nexthops);
	neighs_free(sync_.stores.neighs);
	fib_free(sync_.fib);
	sim_free(sim);
	world_free(world);
	return 0;
}

static void receive_event(void)
{
	event_waits = true;
	sync_.icmp_events.next_read_ns = 0;
	exceptions_fresh_read(&sync_);
}

/* Read what is queued. done: the kernel has acted on all events. */
static void run_queue(bool done)
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
static void check_store(uint64_t since_ns)
{
	read_since_ns = since_ns;
	sync_.exceptions->next_check_ns = sync_.exceptions->fresh.next_turn_ns = 0;
	exceptions_run(&sync_);
}

static void note_all(void)
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

static void run_pass(void)
{
	const uint64_t since_ns = util_now_ns();

	note_all();
	check_store(since_ns);
}

static void set_fresh(void)
{
	uint8_t *bytes = (uint8_t *)fresh;

	for (uint32_t i = 0; i < SIXLANE_FRESH_NUMBERS; i++)
		bytes[sixlane_fresh_byte(sixlane_exception_sum(&dst_), i) + meta.fresh] = 1;
	((uint32_t *)&fresh[SIXLANE_FRESH_COUNTS])[meta.fresh] = 1;
	maps_check_punted(&maps);
}

static struct exception_dest *dest_now(void)
{
	return exceptions_find(sync_.exceptions, &dst_);
}

/* Also asserts that exact ones have an entry, and punt ones their bits. */
static enum exception_state state_now(void)
{
	const struct exception_dest *dest = dest_now();
	const enum exception_state state = dest ? dest->state : EXCEPTION_NONE;

	assert_int_equal(sim_exception(sim, &dst_) != NULL, state == EXCEPTION_EXACT);
	assert_true(state < EXCEPTION_PUNT || maps_punted_has(maps.punted, &dst_));
	return state;
}

/* --- states by what the kernel has ------------------------------------------------------------ */

struct step {
	const char *what;
	struct found kernel[MAX_FOUND];
	enum exception_state state;
};

static const struct step steps[] = {
	{ "one", { { .mtu = 1300 } }, .state = EXCEPTION_EXACT },
	{ "smaller", { { .mtu = 1280 } }, .state = EXCEPTION_EXACT },
	{ "two", { { .mtu = 1280 }, { .mtu = 1290, .route = SHORTER } }, .state = EXCEPTION_PUNT },
	{ "the other one", { { .mtu = 1290, .route = SHORTER } }, .state = EXCEPTION_PUNT },
	{ "the first one", { { .mtu = 1280 } }, .state = EXCEPTION_EXACT },
	{ "at another hop", { { .mtu = 1280, .hop = 4 } }, .state = EXCEPTION_PUNT },
	{ "a redirect", { { .redirect = true } }, .state = EXCEPTION_EXACT },
	{ "at one of several hops", { { .mtu = 1280, .siblings = 1 } }, .state = EXCEPTION_PUNT },
	{ "alone again", { { .mtu = 1280 } }, .state = EXCEPTION_EXACT },
	{ "by source", { { .mtu = 1280, .src_len = 8 } }, .state = EXCEPTION_PUNT },
	{ "an MTU that no link may have", { { .mtu = 1000 } }, .state = EXCEPTION_PUNT },
	{ "gone", { { .mtu = 0 } }, .state = EXCEPTION_NONE },
	{ "two at once",
	  { { .mtu = 1280 }, { .mtu = 1290, .route = SHORTER } },
	  .state = EXCEPTION_PUNT },
};

/* By the setting `always`. */
static const struct step always[] = {
	{ "at one of several hops", { { .mtu = 1400, .siblings = 1 } }, .state = EXCEPTION_EXACT },
	{ "at another one, too",
	  { { .mtu = 1400, .siblings = 1 }, { .mtu = 1300, .hop = 4, .siblings = 1 } },
	  .state = EXCEPTION_PUNT },
	{ "a redirect", { { .redirect = true, .siblings = 1 } }, .state = EXCEPTION_PUNT },
};

static void read_alone(void)
{
	receive_event();
	run_queue(true);
}

static void pass_alone(void)
{
	run_pass();
	run_queue(true);
}

static void run_steps(const struct step *all, size_t n, void (*find)(void))
{
	start(NULL);
	config.exceptions = all == always ? CONFIG_EXCEPTIONS_ALWAYS : CONFIG_EXCEPTIONS_KERNEL;
	run_pass(); /* the first pass */
	for (size_t i = 0; i < n; i++) {
		const struct found *found = all[i].kernel;
		unsigned long writes = sim->exception_writes;

		print_message("%s\n", all[i].what);
		memcpy(kernel, found, sizeof(kernel));
		find();
		assert_int_equal(state_now(), all[i].state);
		if (all[i].state == EXCEPTION_EXACT) /* the smallest one */
			assert_int_equal(sim_exception(sim, &dst_)->mtu,
					 (found[1].mtu ?: found[0].mtu));
		else /* one deletion at most, and nothing in between */
			assert_true(sim->exception_writes <= writes + 1);
		writes = sim->exception_writes;
		run_pass(); /* finds the same: nothing is written */
		assert_int_equal(state_now(), all[i].state);
		assert_int_equal(sim->exception_writes, writes);
		assert_false(maps_checks_punted(&maps));
	}
	stop(NULL);
}

static void test_steps(void **state)
{
	run_steps(steps, ARRAY_SIZE(steps), read_alone);
	run_steps(steps, ARRAY_SIZE(steps), pass_alone);
	run_steps(always, ARRAY_SIZE(always), read_alone);
	run_steps(always, ARRAY_SIZE(always), pass_alone);
}

/* One of the two walks of a reading may miss an exception of an object. */
static void test_at_an_object(void **state)
{
	const struct next_hop object = { .id = OBJECT };

	nexthops_set(sync_.stores.nexthops, &object);
	kernel[0] = (struct found){ .mtu = 1280, .object = OBJECT };
	for (uint32_t mtu = 0; mtu <= 1400; mtu += 1400) { /* alone, and beside another one */
		kernel[1].mtu = mtu;
		walk_misses = true;
		read_alone();
		assert_int_equal(state_now(), EXCEPTION_PUNT);
		assert_true(maps_checks_punted(&maps));
	}
	kernel[0].mtu = 0;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	kernel[1].mtu = 0;
	pass_alone();
	assert_int_equal(state_now(), EXCEPTION_NONE);
	assert_false(maps_checks_punted(&maps));
}

/* The exception may go with a neighbour that fails, or is unresolved and may fail. */
static void test_its_neighbour_fails(void **state)
{
	const union sixlane_addr other = world_prefix("2001:db8::2").addr;

	kernel[0].mtu = 1300;
	read_alone();
	exceptions_neigh_changed(&sync_, 3, &other);
	exceptions_neigh_changed(&sync_, 5, &dst_);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	exceptions_neigh_changed(&sync_, 3, &dst_);
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	resolve(false);
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	resolve(true);
	run_pass();
	run_queue(true);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
}

/* Nothing is read for ns. */
static void age(uint64_t ns)
{
	dest_now()->found.seen_ns -= ns;
	dest_now()->since_ns -= ns;
	check_store(0);
}

/* A redirect never expires, but its entry does: only readings renew it. */
static void test_lease(void **state)
{
	const uint64_t half_ns = EXCEPTIONS_LEASE_NS / 2;
	struct fib_exception entry;

	kernel[0].redirect = true;
	pass_alone();
	entry = *fib_exception(sync_.fib, &dst_);
	entry.expires_ns = util_now_ns() + SECOND_NS;
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &entry), 0);
	age(half_ns + SECOND_NS);
	assert_in_range(sim_exception(sim, &dst_)->expires_ns, entry.expires_ns + SECOND_NS,
			util_now_ns() + half_ns);
	run_queue(true);
	assert_true(sim_exception(sim, &dst_)->expires_ns > util_now_ns() + half_ns);
	age(EXCEPTIONS_LEASE_NS);
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &entry), 0);
	check_store(0);
	assert_int_equal(state_now(), EXCEPTION_PUNT);
}

/* --- failures --------------------------------------------------------------------------------- */

/* Punt until the first pass is complete, and while it cannot be read. */
static void test_not_known(void **state)
{
	kernel[0].mtu = 1300;
	sync_.exceptions->start_ns = util_now_ns();
	check_store(sync_.exceptions->start_ns);
	assert_true(exceptions_need_pass(&sync_));
	note_all();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	run_pass();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_false(exceptions_need_pass(&sync_));
	kernel[0].mtu = 0;
	sync_.schedule.backlog = true; /* the RIB may be outdated, too */
	read_alone();
	assert_int_equal(sync_.exceptions->n_queued, 1);
	sync_.schedule.backlog = false;
	read_error = -EIO;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	assert_true(exceptions_need_pass(&sync_));
	run_pass();
	assert_null(dest_now());
	check_store(util_now_ns() + SECOND_NS);
	assert_false(exceptions_need_pass(&sync_));
	read_error = 0;
	cut = true;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	run_pass();
	assert_null(dest_now());
	assert_false(maps_punted_has(maps.punted, &dst_));
}

static void assert_overflow(uint64_t n)
{
	exceptions_write_meta(&sync_, &meta);
	assert_int_equal(meta.exceptions_overflow, n);
}

/* A destination without room in the store is punt until a pass does not find it. */
static void test_overflow(void **state)
{
	struct radix *store = &sync_.exceptions->store;

	kernel[0].mtu = 1300;
	store->entries += SIXLANE_MAX_EXCEPTIONS;
	run_pass();
	store->entries -= SIXLANE_MAX_EXCEPTIONS;
	assert_null(dest_now());
	assert_true(maps_punted_has(maps.punted, &dst_) && maps_checks_punted(&maps));
	assert_overflow(1);
	kernel[0].mtu = 0;
	run_pass(); /* it may have been before the kernel acted */
	assert_true(maps_punted_has(maps.punted, &dst_));
	check_store(util_now_ns() + SECOND_NS);
	assert_false(maps_punted_has(maps.punted, &dst_) || maps_checks_punted(&maps));
	assert_overflow(0);
}

/* A destination over max_exceptions is punt until another one goes. */
static void test_bound(void **state)
{
	kernel[0].mtu = 1300;
	sync_.exceptions->n[EXCEPTION_EXACT] = config.max_exceptions;
	pass_alone();
	assert_int_equal(state_now(), EXCEPTION_NO_ROOM);
	assert_overflow(1);
	sync_.exceptions->n[EXCEPTION_EXACT]--;
	run_pass();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_overflow(0);
}

/* What the kernel has, or may have, overrides the operator's exception. */
static void test_before_the_operators(void **state)
{
	struct fib_exception oper = { FIB_OPERATOR, .table = RT_TABLE_MAIN, .mtu = 1400 };

	/* bits of an earlier daemon count until everything was read */
	maps_punted_add(maps.punted, &dst_);
	assert_false(exceptions_override(&sync_, &dst_)); /* not started: these bits are its own */
	exceptions_start(&sync_);
	exceptions_check(&sync_);
	assert_true(exceptions_override(&sync_, &dst_));
	restored = 0;
	run_pass();
	assert_false(exceptions_override(&sync_, &dst_));
	assert_int_equal(restored, 1);
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	sync_.exceptions->dirty = true;
	run_pass();
	assert_true(maps_punted_has(maps.punted, &dst_));
	/* an exception of the kernel takes its place, ... */
	kernel[0].mtu = 1300;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_int_equal(sim_exception(sim, &dst_)->mtu, 1300);
	assert_true(exceptions_override(&sync_, &dst_));
	/* ... goes, ... */
	kernel[0].mtu = 0;
	restored = 0;
	run_pass();
	assert_int_equal(restored, 1);
	assert_false(exceptions_override(&sync_, &dst_));
	/* ... has no room, ... */
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	exceptions_punt_untracked(&sync_, &dst_);
	assert_null(sim_exception(sim, &dst_));
	check_store(util_now_ns() + SECOND_NS);
	assert_true(exceptions_override(&sync_, &dst_));
	check_store(util_now_ns() + SECOND_NS);
	assert_false(exceptions_override(&sync_, &dst_));
	assert_int_equal(restored, 2);
	/* ... or is only observed */
	config.exceptions = CONFIG_EXCEPTIONS_OBSERVE;
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	kernel[0].mtu = 1300;
	pass_alone();
	assert_int_equal(sim_exception(sim, &dst_)->mtu, 1400);
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, NULL), 0);
	pass_alone();
	assert_true(sim_exception(sim, &dst_)->flags & SIXLANE_EXCEPTION_OBSERVE);
	/* ... also after the operator's in its place is gone */
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	pass_alone();
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, NULL), 0);
	pass_alone();
	assert_true(sim_exception(sim, &dst_)->flags & SIXLANE_EXCEPTION_OBSERVE);
}

/* --- sl_fresh ----------------------------------------------------------------------------- */

static void test_fresh_until_it_is_read(void **state)
{
	kernel[0].mtu = 1300;
	set_fresh();
	receive_event();
	dest_now()->due_ns = UINT64_MAX; /* however slow all this is */
	exceptions_run(&sync_);
	assert_true(sync_.exceptions->fresh.draining);
	/* another event: its bytes are in the other half, and it is read again */
	dest_now()->event_ns = util_now_ns();
	run_queue(false);
	assert_int_equal(sync_.exceptions->n_queued, 1);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_true(maps_fresh_has(&maps, &dst_)); /* other events may have come */
	sync_.icmp_events.until_ns = UINT64_MAX;
	dest_now()->due_ns = UINT64_MAX;
	note_all();
	check_store(dest_now()->since_ns + 1); /* it may have been before the kernel acted */
	assert_true(maps_fresh_has(&maps, &dst_));
	exceptions_note_event(sync_.exceptions, dest_now()); /* a change, which sets no byte */
	dest_now()->due_ns = UINT64_MAX;
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst_));
	run_queue(false); /* the event of the second reading came later */
	assert_int_equal(sync_.exceptions->n_queued, 1);
	assert_false(maps_fresh_has(&maps, &dst_));
	assert_false(maps_checks_punted(&maps));
}

/* The halves turn after the program has set the bytes, and before the event is read. */
static void test_fresh_before_it_is_heard(void **state)
{
	kernel[0].mtu = 1300;
	for (int i = 0; i < 2; i++) {
		sync_.exceptions->fresh.next_turn_ns = 0;
		set_fresh();
		exceptions_run(&sync_);
		assert_true(sync_.exceptions->fresh.draining);
		receive_event();
		dest_now()->due_ns = UINT64_MAX; /* however slow all this is */
		exceptions_run(&sync_);
		assert_true(maps_fresh_has(&maps, &dst_));
		run_queue(true);
		assert_int_equal(state_now(), EXCEPTION_EXACT);
		assert_false(maps_fresh_has(&maps, &dst_));
	}
}

/* Two events before the halves turn: the first reading may be too early for the second one. */
static void test_fresh_heard_twice(void **state)
{
	kernel[0].mtu = 1300;
	set_fresh();
	receive_event();
	receive_event();
	dest_now()->due_ns = UINT64_MAX; /* however slow all this is */
	sync_.icmp_events.until_ns = UINT64_MAX;
	exceptions_run(&sync_);
	run_queue(false);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst_));
	run_queue(true);
	assert_false(maps_fresh_has(&maps, &dst_));
}

static void test_fresh_until_a_pass(void **state)
{
	sync_.icmp_events.until_ns = UINT64_MAX;
	lost = 1;
	set_fresh();
	exceptions_run(&sync_);
	read_since_ns = sync_.exceptions->fresh.turned_ns + 1; /* may be too early */
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst_));
	read_since_ns = UINT64_MAX;
	exceptions_run(&sync_);
	assert_false(maps_fresh_has(&maps, &dst_));
	assert_false(maps_checks_punted(&maps));
}

/* An earlier daemon may have ended before it cleared a half. That needs a pass, before the next
 * turn. */
static void test_fresh_of_an_earlier_daemon(void **state)
{
	set_fresh();
	meta.fresh = 1;
	exceptions_start(&sync_);
	exceptions_check(&sync_);
	set_fresh();
	exceptions_run(&sync_);
	assert_int_equal(meta.fresh, 1);
	assert_true(exceptions_need_pass(&sync_));
	read_since_ns = UINT64_MAX;
	exceptions_fresh_run(&sync_, 0);
	assert_int_equal(maps_fresh_count(&maps, 0), 0);
	assert_int_equal(maps_fresh_count(&maps, 1), 1);
	assert_true(maps_fresh_has(&maps, &dst_) && maps_checks_punted(&maps));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test_setup_teardown(test_at_an_object, start, stop),
		cmocka_unit_test_setup_teardown(test_its_neighbour_fails, start, stop),
		cmocka_unit_test_setup_teardown(test_lease, start, stop),
		cmocka_unit_test_setup_teardown(test_not_known, start, stop),
		cmocka_unit_test_setup_teardown(test_before_the_operators, start, stop),
		cmocka_unit_test_setup_teardown(test_bound, start, stop),
		cmocka_unit_test_setup_teardown(test_overflow, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_until_it_is_read, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_before_it_is_heard, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_heard_twice, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_until_a_pass, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_of_an_earlier_daemon, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
