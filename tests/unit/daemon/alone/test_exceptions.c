// SPDX-License-Identifier: GPL-2.0-only
/*
 * What comes of the kernel's exceptions: which destinations are exact, punt or neither, and in
 * which order the maps hear of it. The kernel's records are this test's own, and so is the audit;
 * the FIB writes to simulated maps.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../user/daemon/exceptions.h"
#include "../../fib/sim_maps.h"
#include "../../resolve/resolve_world.h"
#include "../../unit.h"

#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>

#define DST "2001:db8::1"
#define ROUTE "2001:db8::/32"
#define LONGER "2001:db8::/48"
#define VIA_3 ROUTE " dev 3"
#define BY_TWO ROUTE " dev 3 dev 4"
#define MAIN RT_TABLE_MAIN
#define SECOND_NS 1000000000ull

/* --- what is replaced --------------------------------------------------------------------------
 */

static uint64_t read_since_ns, handed_on_ns, lost;
static struct kernel_record *answer; /* of kernel_reader_find(), at PREFIX of main */
static size_t n_answer;
static int answer_error;

uint64_t audit_read_since_ns(const struct sync *sync)
{
	(void)sync;
	return read_since_ns;
}

bool audit_reads_kernel(const struct audit *audit)
{
	(void)audit;
	return true;
}

struct kernel_reader *audit_reader(const struct audit *audit)
{
	(void)audit;
	return NULL;
}

void audit_read_all(struct sync *sync)
{
	(void)sync;
}

uint64_t hints_read_until_ns(const struct sync *sync)
{
	(void)sync;
	return handed_on_ns;
}

uint64_t hints_lost(const struct sync *sync)
{
	(void)sync;
	return lost;
}

void ports_need(struct sync *sync, uint32_t ifindex)
{
	(void)sync;
	(void)ifindex;
}

uint64_t kernel_reader_expires_ns(const struct kernel_view *view,
				  const struct kernel_record *record)
{
	(void)view;
	return record->flags & RTF_EXPIRES ? record->expires : 0;
}

int kernel_reader_find(struct kernel_reader *reader, uint32_t table, const struct prefix *dst,
		       const struct kernel_choice *choice, struct kernel_view *view)
{
	(void)reader;
	(void)choice;
	*view = (struct kernel_view){ .now_ns = util_now_ns(), .end = true };
	if (table == MAIN && dst->len == 32) {
		view->records = answer;
		view->n = n_answer;
	}
	return answer_error;
}

int kernel_reader_objects(struct kernel_reader *reader, uint32_t budget,
			  const struct kernel_choice *choice, struct kernel_cursor *cursor,
			  struct kernel_view *view)
{
	(void)reader;
	(void)budget;
	(void)choice;
	(void)cursor;
	*view = (struct kernel_view){ .now_ns = util_now_ns(), .end = true };
	return 0;
}

/* --- a daemon ----------------------------------------------------------------------------------
 */

static uint64_t punted[SIXLANE_PUNTED_WORDS], fresh[SIXLANE_FRESH_WORDS];
static struct sixlane_meta meta;
static struct maps maps = { .meta = &meta, .punted = punted, .fresh = fresh };
static struct config config;
static struct world *world;
static struct sim *sim;
static struct sync sync_;
static union sixlane_addr dst; /* what all of it is about */

static void answer_with(struct kernel_record *records, size_t n)
{
	answer = records;
	n_answer = n;
}

static int start(void **state)
{
	struct fib_writer writer;

	(void)state;
	memset(punted, 0, sizeof(punted));
	memset(fresh, 0, sizeof(fresh));
	meta = (struct sixlane_meta){ 0 };
	config = (struct config){ .max_exceptions = 10 };
	world = world_new(true);
	sim = sim_new();
	writer = sim_writer(sim);
	sync_ = (struct sync){
		.config = &config,
		.maps = &maps,
		.rib = world->rib,
		.resolve = world->resolve,
		.view = world->view,
		.nexthops = nexthops_new(NULL, NULL),
		.fib = fib_new(&writer, 1000),
		.exceptions = exceptions_new(),
	};
	fib_set_max_exceptions(sync_.fib, config.max_exceptions);
	sync_.exceptions->ready = true;
	dst = world_prefix(DST).addr;
	read_since_ns = handed_on_ns = lost = 0;
	answer_with(NULL, 0);
	answer_error = 0;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	exceptions_free(sync_.exceptions);
	nexthops_free(sync_.nexthops);
	fib_free(sync_.fib);
	sim_free(sim);
	world_free(world);
	return 0;
}

/* --- records ------------------------------------------------------------------------------------
 */

static struct kernel_record route(const char *text, uint32_t ifindex)
{
	const struct prefix prefix = world_prefix(text);
	struct kernel_record record = { .kind = KERNEL_RECORD_ROUTE,
					.dst_len = prefix.len,
					.ifindex = ifindex,
					.type = RTN_UNICAST };

	memcpy(record.dst, prefix.addr.bytes, sizeof(record.dst));
	return record;
}

/* It ends in a minute. mtu 0: a redirect by another device. */
static struct kernel_record exception(uint32_t mtu)
{
	struct kernel_record record = { .kind = KERNEL_RECORD_EXCEPTION,
					.dst_len = 128,
					.ifindex = mtu ? 3 : 4,
					.mtu = mtu,
					.flags = mtu ? RTF_EXPIRES : RTF_DYNAMIC };

	record.expires = util_now_ns() + 60 * SECOND_NS;
	memcpy(record.dst, dst.bytes, sizeof(record.dst));
	return record;
}

static void note(uint32_t table, const struct kernel_record *records, size_t n)
{
	const struct kernel_view view = { .now_ns = util_now_ns() };

	exceptions_note(&sync_, table, &view, records, n);
}

/* Where one is found, as the kernel reports it, and what it says. */
struct found {
	const char *route; /* NULL: no more */
	uint32_t mtu, siblings, object, table, src_len;
};

static void note_found(const struct found *found)
{
	struct kernel_record records[3] = { route(found->route, 3), exception(found->mtu) };

	records[0].n_siblings = (uint16_t)found->siblings;
	records[0].src_len = (uint8_t)found->src_len;
	if (found->object) {
		records[0].kind = KERNEL_RECORD_OBJECT;
		records[0].next_hop_id = found->object;
	}
	records[2] = records[0];
	records[2].ifindex = 4;
	note(found->table ? found->table : MAIN, records, found->siblings ? 3 : 2);
}

/* One at the only hop of a prefix of main. */
static void note_one(void)
{
	const struct found found = { .route = ROUTE, .mtu = 1300 };

	note_found(&found);
}

static void assert_state(const char *what, enum excepted_state state)
{
	const struct excepted *excepted = exceptions_find(sync_.exceptions, &dst);

	if ((excepted ? excepted->state : EXCEPTED_NONE) != state)
		fail_msg("%s: state %d instead of %d", what, excepted ? (int)excepted->state : -1,
			 state);
	assert_int_equal(sim_exception(sim, &dst) != NULL, state == EXCEPTED_EXACT);
	if (state == EXCEPTED_PUNT)
		assert_true(maps_punted_has(&maps, &dst));
}

/* Where a pass has been through since. */
static void assert_passed(const char *what, enum excepted_state state)
{
	struct excepted *excepted = exceptions_find(sync_.exceptions, &dst);

	excepted->known = true;
	exceptions_decide(&sync_, excepted);
	assert_state(what, state);
}

#define AT_ROUTE                            \
	{                                   \
		.route = ROUTE, .mtu = 1300 \
	}
#define AT_ONE_OF_TWO                                      \
	{                                                  \
		.route = ROUTE, .mtu = 1300, .siblings = 1 \
	}

/* --- which are exact ----------------------------------------------------------------------------
 */

static const struct {
	const char *what;
	const char *routes[2]; /* of the RIB */
	struct found found[2];
	enum excepted_state state;
	bool always;
} decisions[] = {
	{ "the only hop", { VIA_3 }, { AT_ROUTE }, .state = EXCEPTED_EXACT },
	{ "a redirect", { VIA_3 }, { { .route = ROUTE } }, .state = EXCEPTED_EXACT },
	{ "no route any more", { NULL }, { AT_ROUTE }, .state = EXCEPTED_PUNT },
	{ "another hop", { ROUTE " dev 5" }, { AT_ROUTE }, .state = EXCEPTED_PUNT },
	{ "a longer prefix", { VIA_3, LONGER " dev 3" }, { AT_ROUTE }, .state = EXCEPTED_PUNT },
	{ "two of them",
	  { VIA_3, LONGER " dev 3" },
	  { AT_ROUTE, { .route = LONGER, .mtu = 1300 } },
	  .state = EXCEPTED_PUNT },
	{ "of several", { BY_TWO }, { AT_ONE_OF_TWO }, .state = EXCEPTED_PUNT },
	{ "always", { BY_TWO }, { AT_ONE_OF_TWO }, .state = EXCEPTED_EXACT, .always = true },
	{ "by an object",
	  { ROUTE " nhid 7" },
	  { { .route = ROUTE, .mtu = 1300, .object = 7 } },
	  .state = EXCEPTED_PUNT },
	{ "by source",
	  { VIA_3 },
	  { { .route = ROUTE, .mtu = 1300, .src_len = 8 } },
	  .state = EXCEPTED_PUNT },
	{ "of table local",
	  { VIA_3 " table 255" },
	  { { .route = ROUTE, .mtu = 1300, .table = RT_TABLE_LOCAL } },
	  .state = EXCEPTED_PUNT },
	{ "local before main",
	  { VIA_3, "2001::/16 dev 3 table 255" },
	  { AT_ROUTE },
	  .state = EXCEPTED_PUNT },
	{ "an MTU that no link may have",
	  { VIA_3 },
	  { { .route = ROUTE, .mtu = 1000 } },
	  .state = EXCEPTED_PUNT },
};

static void test_decisions(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(decisions); i++) {
		start(state);
		config.exceptions =
			decisions[i].always ? CONFIG_EXCEPTIONS_ALWAYS : CONFIG_EXCEPTIONS_KERNEL;
		for (size_t j = 0; j < 2 && decisions[i].routes[j]; j++)
			world_add(world, decisions[i].routes[j]);
		for (size_t j = 0; j < 2 && decisions[i].found[j].route; j++)
			note_found(&decisions[i].found[j]);
		assert_passed(decisions[i].what, decisions[i].state);
		stop(state);
	}
}

/* --- what happens to one
 * -------------------------------------------------------------------------- */

static void test_unknown_is_punt(void **state)
{
	(void)state;
	world_add(world, VIA_3);
	note_one();
	assert_true(maps_punted_has(&maps, &dst));
	assert_null(sim_exception(sim, &dst));
	assert_passed("known", EXCEPTED_EXACT);
	exceptions_rebuild(&sync_);
	assert_true(maps_punted_has(&maps, &dst));
	/* its bits go when all are rebuilt */
	exceptions_find(sync_.exceptions, &dst)->found.seen_ns = 0;
	assert_passed("gone", EXCEPTED_NONE);
	assert_null(sim_exception(sim, &dst));
	assert_true(sync_.exceptions->dirty);
	assert_true(maps_punted_has(&maps, &dst));
	exceptions_rebuild(&sync_);
	assert_false(maps_punted_has(&maps, &dst));
}

static void test_change_of_its_route(void **state)
{
	const struct prefix prefix = world_prefix(ROUTE), longer = world_prefix(LONGER),
			    other = world_prefix("2001:db8:1::/48");

	(void)state;
	world_add(world, VIA_3);
	note_one();
	assert_passed("first", EXCEPTED_EXACT);
	exceptions_rebuild(&sync_);
	exceptions_route_changes(&sync_, MAIN, &other, NULL);
	exceptions_route_changes(&sync_, 100, &prefix, NULL);
	assert_non_null(sim_exception(sim, &dst));
	exceptions_route_changes(&sync_, MAIN, &longer, NULL);
	assert_null(sim_exception(sim, &dst));
	assert_true(maps_punted_has(&maps, &dst));
	assert_int_equal(sync_.exceptions->n_soon, 1);
}

static void test_no_room(void **state)
{
	const struct fib_exception oper = { .origin = FIB_OPERATOR, .table = MAIN, .mtu = 1400 };
	const union sixlane_addr other = world_prefix("2001:db8::2").addr;

	(void)state;
	config.max_exceptions = 1;
	fib_set_max_exceptions(sync_.fib, 1);
	world_add(world, VIA_3);
	assert_int_equal(fib_set_exception(sync_.fib, &other, &oper), 0);
	note_one();
	assert_passed("no room", EXCEPTED_PUNT);
	assert_int_equal(exceptions_overflow(&sync_), 1);
	fib_set_exception(sync_.fib, &other, NULL);
	assert_passed("room", EXCEPTED_EXACT);
	/* one of the operator's goes before it */
	assert_true(exceptions_make_room(&sync_));
	assert_null(sim_exception(sim, &dst));
	assert_true(maps_punted_has(&maps, &dst));
	assert_false(exceptions_make_room(&sync_));
}

static void assert_punt_beside(const char *what, bool punt)
{
	const struct sixlane_exception *entry = sim_exception(sim, &dst);

	assert_true(maps_punted_has(&maps, &dst));
	assert_int_equal(entry->mtu, 1400);
	if (!(entry->flags & SIXLANE_EXCEPTION_PUNT) != !punt)
		fail_msg("%s: flags %#x", what, entry->flags);
}

static void test_beside_the_operators(void **state)
{
	struct fib_exception oper = { .origin = FIB_OPERATOR, .table = MAIN, .mtu = 1400 };

	(void)state;
	/* of an earlier daemon's bits nobody knows whose they are, until all has been read */
	sync_.exceptions->ready = false;
	maps_punted_add(&maps, &dst);
	assert_true(exceptions_yield(&sync_, &dst));
	sync_.exceptions->ready = true;
	assert_false(exceptions_yield(&sync_, &dst));
	/* what comes beside it, … */
	assert_int_equal(fib_set_exception(sync_.fib, &dst, &oper), 0);
	world_add(world, VIA_3);
	note_one();
	assert_punt_beside("beside it", true);
	/* … is gone, … */
	exceptions_find(sync_.exceptions, &dst)->found.seen_ns = 0;
	exceptions_decide(&sync_, exceptions_find(sync_.exceptions, &dst));
	assert_punt_beside("not yet rebuilt", true);
	exceptions_rebuild(&sync_);
	assert_punt_beside("rebuilt", false);
	/* … is lost, … */
	exceptions_lose(&sync_, &dst);
	assert_punt_beside("lost", true);
	exceptions_rebuild(&sync_);
	assert_punt_beside("lost and rebuilt", true);
	/* … or has been there before */
	exceptions_take_back(&sync_, &dst);
	fib_set_exception(sync_.fib, &dst, NULL);
	note_one();
	assert_passed("alone", EXCEPTED_EXACT);
	oper.punt = exceptions_yield(&sync_, &dst);
	assert_null(sim_exception(sim, &dst));
	assert_int_equal(fib_set_exception(sync_.fib, &dst, &oper), 0);
	exceptions_decide(&sync_, exceptions_find(sync_.exceptions, &dst));
	assert_punt_beside("before", true);
}

static void test_observed(void **state)
{
	(void)state;
	config.exceptions = CONFIG_EXCEPTIONS_OBSERVE;
	world_add(world, VIA_3);
	note_one();
	assert_false(maps_punted_has(&maps, &dst));
	assert_passed("observed", EXCEPTED_EXACT);
	assert_true(sim_exception(sim, &dst)->flags & SIXLANE_EXCEPTION_OBSERVE);
}

/* --- readings of one, and passes ----------------------------------------------------------------
 */

/* What waits to be read is due; the kernel is done with what it heard of, if so said. */
static void hurry(bool done)
{
	struct excepted *at;

	TAILQ_FOREACH(at, &sync_.exceptions->soon, soon)
	{
		at->due_ns = 1;
		if (done)
			at->heard_ns = 1;
	}
	sync_.exceptions->budget_ns = 1000000;
	exceptions_run(&sync_);
}

static void assert_read(const char *what, enum excepted_state state)
{
	exceptions_event(&sync_, &dst);
	hurry(true);
	assert_state(what, state);
}

static void test_readings(void **state)
{
	struct kernel_record records[] = { route(ROUTE, 3), exception(1300), exception(1290) };
	unsigned long writes;

	(void)state;
	world_add(world, VIA_3);
	answer_with(records, 2);
	assert_read("one", EXCEPTED_EXACT);
	writes = sim->exception_writes;
	assert_read("the same again", EXCEPTED_EXACT);
	assert_int_equal(sim->exception_writes, writes);
	records[1].mtu = 1280;
	assert_read("another", EXCEPTED_EXACT);
	assert_int_equal(sim_exception(sim, &dst)->mtu, 1280);
	records[2].ifindex = 4;
	records[0].n_siblings = 1;
	answer_with(records, 3);
	assert_read("at one of several hops", EXCEPTED_PUNT);
	records[0].n_siblings = 0;
	answer_with(records, 2);
	assert_read("alone again", EXCEPTED_EXACT);
	records[0].kind = KERNEL_RECORD_OBJECT;
	records[0].next_hop_id = 7;
	for (int i = 0; i < 2; i++) {
		assert_read("at an object", EXCEPTED_PUNT);
		sync_.exceptions->fresh.next_turn_ns = 0;
		exceptions_run(&sync_);
		assert_true(maps_looks(&maps));
	}
	answer_error = -EIO;
	assert_read("who knows", EXCEPTED_PUNT);
	assert_true(maps_punted_has(&maps, &dst));
	assert_int_equal(exceptions_overflow(&sync_), 1);
	answer_error = 0;
	answer_with(NULL, 0);
	assert_read("gone", EXCEPTED_NONE);
	assert_null(exceptions_find(sync_.exceptions, &dst));
}

static void assert_looked(uint64_t since_ns, enum excepted_state state)
{
	read_since_ns = since_ns;
	sync_.exceptions->next_look_ns = sync_.exceptions->fresh.next_turn_ns = 0;
	exceptions_run(&sync_);
	assert_state("a look", state);
}

static void test_passes(void **state)
{
	const struct found other = { .route = "2001::/16", .mtu = 1290 },
			   object = { .route = ROUTE, .mtu = 1300, .object = 7 };
	uint64_t since_ns;

	(void)state;
	world_add(world, VIA_3);
	world_add(world, "2001::/16 dev 3");
	sync_.exceptions->ready = false;
	note_one();
	assert_looked(0, EXCEPTED_PUNT);
	assert_looked(EXCEPTIONS_DELAY_NS + 1, EXCEPTED_EXACT);
	note_found(&other);
	assert_looked(EXCEPTIONS_DELAY_NS + 1, EXCEPTED_PUNT);
	since_ns = util_now_ns();
	note_one();
	assert_looked(since_ns, EXCEPTED_EXACT);
	/* the one that was known is gone, the other one is not: read */
	note_found(&other);
	since_ns = util_now_ns();
	note_found(&other);
	assert_looked(since_ns, EXCEPTED_PUNT);
	assert_int_equal(sync_.exceptions->n_soon, 1);
	/* packets look while an object has any */
	assert_false(maps_looks(&maps));
	note_found(&object);
	assert_true(maps_looks(&maps));
	assert_looked(since_ns, EXCEPTED_PUNT);
	assert_true(maps_looks(&maps));
	assert_looked(util_now_ns(), EXCEPTED_NONE);
	assert_false(maps_looks(&maps));
}

static void test_smallest_of_several(void **state)
{
	struct kernel_record records[] = { route(ROUTE, 3), exception(1400), route(ROUTE, 4),
					   exception(1300) };
	uint64_t since_ns;

	(void)state;
	config.exceptions = CONFIG_EXCEPTIONS_ALWAYS;
	world_add(world, BY_TWO);
	records[0].n_siblings = records[2].n_siblings = 1;
	records[3].ifindex = 4;
	answer_with(records, 4);
	assert_read("both", EXCEPTED_EXACT);
	assert_int_equal(sim_exception(sim, &dst)->mtu, 1300);
	/* a pass that meets the larger one alone does not tell that there is none */
	since_ns = util_now_ns();
	records[1].expires = since_ns + 60 * SECOND_NS;
	note(MAIN, records, 3);
	assert_looked(since_ns, EXCEPTED_PUNT);
	assert_int_equal(sync_.exceptions->n_soon, 1);
	answer_with(records, 3);
	assert_read("one", EXCEPTED_EXACT);
	assert_int_equal(sim_exception(sim, &dst)->mtu, 1400);
	/* a redirect is of one hop */
	records[1].flags = RTF_DYNAMIC;
	records[1].ifindex = 5;
	assert_read("a redirect", EXCEPTED_PUNT);
}

/* --- sl_fresh -----------------------------------------------------------------------------------
 */

static void set_fresh(void)
{
	uint8_t *bytes = (uint8_t *)fresh;

	for (uint32_t i = 0; i < SIXLANE_FRESH_NUMBERS; i++)
		bytes[sixlane_fresh_byte(sixlane_exception_check(&dst), i) + meta.fresh] = 1;
	maps_look(&maps);
}

static void test_fresh_until_it_is_read(void **state)
{
	struct kernel_record records[] = { route(ROUTE, 3), exception(1300) };

	(void)state;
	world_add(world, VIA_3);
	answer_with(records, 2);
	set_fresh();
	exceptions_event(&sync_, &dst);
	TAILQ_FIRST(&sync_.exceptions->soon)->due_ns = UINT64_MAX; /* however slow all this is */
	exceptions_run(&sync_);
	assert_true(sync_.exceptions->fresh.draining);
	handed_on_ns = UINT64_MAX;
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst));
	/* heard of once more, it has its bytes in the other half, and is read again */
	TAILQ_FIRST(&sync_.exceptions->soon)->heard_ns = UINT64_MAX / 2;
	hurry(false);
	assert_int_equal(sync_.exceptions->n_soon, 1);
	assert_non_null(sim_exception(sim, &dst));
	assert_false(maps_fresh_has(&maps, &dst));
	assert_false(maps_looks(&maps));
}

static void test_fresh_until_a_pass(void **state)
{
	(void)state;
	handed_on_ns = UINT64_MAX;
	lost = 1;
	set_fresh();
	exceptions_run(&sync_);
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst));
	read_since_ns = UINT64_MAX;
	exceptions_run(&sync_);
	assert_false(maps_fresh_has(&maps, &dst));
	assert_false(maps_looks(&maps));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decisions),
		TEST(test_unknown_is_punt),
		TEST(test_change_of_its_route),
		TEST(test_no_room),
		TEST(test_beside_the_operators),
		TEST(test_observed),
		TEST(test_readings),
		TEST(test_passes),
		TEST(test_smallest_of_several),
		TEST(test_fresh_until_it_is_read),
		TEST(test_fresh_until_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
