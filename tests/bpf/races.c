// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores to the maps while packets are under way. A thread writes as fast as it can, as the daemon
 * never does; the datapath must not let a packet out that mixes two states. A program that reads
 * a word again where it is used fails with high probability; one that reads its parts side by side
 * is caught where interrupts come between them.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../user/lib/util.h"
#include "tests.h"

#define RUNS 50000
#define RARE_RUNS 200000  /* with interrupts */
#define INTERRUPT_RUNS 8  /* from one interrupt to the next: the reader must get on */
#define MOST_RUNS 5000000 /* where the writer waits for a CPU */
#define STATES 4
#define WRONG (-1)
#define PASSED STATES /* or dropped: as it came in */

/* A word of a map, the states that are stored in it in turn, and what each does to the packet. */
struct race {
	__u64 *word;
	void (*store)(size_t i); /* instead, for what takes more than one word */
	uint64_t words[STATES];
	size_t n;
	int (*classify)(uint32_t action, const struct frame *in, const struct frame *out);
	uint32_t expected; /* a bit for each of what classify() returns: all of it is to be seen */
	uint32_t may;	   /* … and nothing else, but for this perhaps */
	uint32_t seen;
	bool rare; /* to be wrong takes an interrupt between two loads */
	atomic_bool stop;
};

static void *write_words(void *arg)
{
	struct race *race = arg;
	volatile __u64 *word = race->word;

	harness_pin(1); /* as far as there are two */
	for (size_t i = 0; !atomic_load_explicit(&race->stop, memory_order_relaxed); i++) {
		if (race->store)
			race->store(i % race->n);
		else
			*word = race->words[i % race->n];
	}
	return NULL;
}

/* The state by which a packet was forwarded, or WRONG. */
static int read_packet(const struct race *race, const struct frame *in)
{
	static struct frame out;
	uint32_t action = harness_send(PROG_SHOWS_EGRESS, in, &out);

	return race->classify(action, in, &out);
}

/* Interrupts of this thread, wherever it is, until closed: as far apart as some packets take, since
 * an emulated machine needs long for a packet. */
static int open_interrupts(const struct race *race, const struct frame *in)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	uint64_t from = util_now_ns();
	int fd;

	for (int i = 0; i < INTERRUPT_RUNS; i++)
		(void)read_packet(race, in);
	attr.sample_period = util_now_ns() - from;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		fail_msg("no interrupts by perf_event_open(): %s; without them this test finds "
			 "little: run it as root, on a kernel with CONFIG_PERF_EVENTS",
			 strerror(errno));
	return fd;
}

/* Returns how many packets were forwarded by no state at all. */
static size_t read_packets(struct race *race)
{
	const int runs = race->rare ? RARE_RUNS : RUNS;
	_cleanup_close_ int interrupts = -1;
	static struct frame in;
	size_t wrong = 0;

	frame_plain(&in, 0, 9);
	if (race->rare)
		interrupts = open_interrupts(race, &in);
	for (int i = 0; i < runs || ((race->expected & ~race->seen) && i < MOST_RUNS); i++) {
		int state = read_packet(race, &in);

		if (state == WRONG)
			wrong++;
		else
			race->seen |= 1u << state;
	}
	return wrong;
}

static void run(struct race *race)
{
	pthread_t thread;
	size_t wrong;

	harness_pin(0);
	assert_int_equal(pthread_create(&thread, NULL, write_words, race), 0);
	wrong = read_packets(race);
	atomic_store(&race->stop, true);
	pthread_join(thread, NULL);
	harness_unpin();
	assert_int_equal(wrong, 0);
	assert_int_equal(race->seen & ~race->may, race->expected);
}

/* A word of a map, which takes each of the race's words by turns. */
static void run_words(const struct world *world, __u64 *word, struct race race)
{
	harness_install(world);
	*word = race.words[0];
	race.word = word;
	run(&race);
}

static void make_world(struct world *world, uint32_t next_hop)
{
	world_init(world);
	world_add_route(world, "2001:db8:2::/48", 0, next_hop);
}

static bool is_untouched(uint32_t action, const struct frame *in, const struct frame *out)
{
	return (action == XDP_PASS || action == XDP_DROP) && out->len == in->len &&
	       !memcmp(out->bytes, in->bytes, in->len);
}

static uint64_t mac_word(uint8_t byte, uint16_t flags)
{
	union sixlane_mac mac = { .flags = flags };

	memset(mac.bytes, byte, sizeof(mac.bytes));
	return mac.word;
}

static int classify_mac(uint32_t action, const struct frame *in, const struct frame *out)
{
	const uint8_t *mac = out->bytes + AT_DST_MAC;

	if (action == XDP_PASS)
		return is_untouched(action, in, out) ? PASSED : WRONG;
	for (int i = 1; i < 6; i++)
		if (mac[i] != mac[0])
			return WRONG;
	if (mac[0] != 0x22 && mac[0] != 0xaa)
		return WRONG;
	return mac[0] == 0x22 ? 0 : 2;
}

/* Two good MACs and one that must not be used. */
TEST(test_mac_is_never_seen_in_half, "a MAC is never seen in half")
{
	struct world world;

	make_world(&world, NH_GATEWAY);
	run_words(&world, &harness_maps.neighbours[world_neigh_slot(NEIGH_GATEWAY)].mac.word,
		  (struct race){
			  .words = { mac_word(0x22, SIXLANE_MAC_VALID), mac_word(0x66, 0),
				     mac_word(0xaa, SIXLANE_MAC_VALID) },
			  .n = 3,
			  .classify = classify_mac,
			  .expected = 1u << 0 | 1u << 2 | 1u << PASSED,
		  });
}

static bool leaves_by(enum neighbour via, uint32_t action, const struct frame *in,
		      const struct frame *out)
{
	enum device egress = world_neigh_device(via);
	struct frame want = *in;

	frame_route(&want, world_neigh_mac[via], world_device_mac[egress]);
	frame_push(&want, world_device_tags(egress), WORLD_TAGS);
	return action == WORLD_IFINDEX(world_device_xmit(egress)) && out->len == want.len &&
	       !memcmp(out->bytes, want.bytes, want.len);
}

static int classify_way(uint32_t action, const struct frame *in, const struct frame *out)
{
	if (leaves_by(NEIGH_GATEWAY, action, in, out))
		return 0;
	if (leaves_by(NEIGH_ALT, action, in, out))
		return 1;
	if (leaves_by(NEIGH_OUT_10, action, in, out))
		return 2;
	return is_untouched(action, in, out) ? PASSED : WRONG;
}

/* The entry of NH_ON_LINK is, by turns, by way of NH_GATEWAY, NH_ALT, a tag, a blackhole. */
static void run_entries(uint32_t route, size_t n, uint32_t alt)
{
	const uint32_t member = NH_ALT, on_link = NH_ON_LINK;
	struct world world;

	make_world(&world, route);
	world_set_buckets(&world, NH_GROUP, 0, &on_link, 1);
	world_set_buckets(&world, NH_GROUP + 1, 3, &member, 1);
	run_words(&world, &harness_maps.next_hops[NH_ON_LINK].nh_entry.word,
		  (struct race){
			  .words = { world.next_hops[NH_GATEWAY].nh_entry.word,
				     world.next_hops[alt].nh_entry.word,
				     world.next_hops[NH_VIA(NEIGH_OUT_10)].nh_entry.word,
				     world.next_hops[NH_ENTRY + SIXLANE_DROP_BLACKHOLE]
					     .nh_entry.word },
			  .n = n,
			  .classify = classify_way,
			  .expected = 1u << 0 | 1u << 1 | 1u << 2 | (n == 4 ? 1u << PASSED : 0),
		  });
}

/* Port and neighbour, a tag, a group, a blackhole: all of it in one word. */
TEST(test_entry_changes_at_once, "a next-hop entry changes at once")
{
	run_entries(NH_ON_LINK, 4, NH_GROUP + 1);
}

TEST(test_member_changes_at_once, "a member's entry changes at once")
{
	run_entries(NH_GROUP, 3, NH_ALT);
}

/* Bound and members: at either bound only the one that is good is taken. */
TEST(test_bucket_changes_at_once, "a bucket changes at once")
{
	const union sixlane_nh_bucket below = { .bound = 0xffffffff, .below = NH_GATEWAY };
	const union sixlane_nh_bucket above = { .bound = 0, .above = NH_ALT };
	const uint32_t member = NH_GATEWAY;
	struct world world;

	make_world(&world, NH_GROUP);
	world_set_buckets(&world, NH_GROUP, 0, &member, 1);
	run_words(&world, &harness_maps.buckets->word,
		  (struct race){
			  .words = { below.word, above.word },
			  .n = 2,
			  .classify = classify_way,
			  .expected = 1u << 0 | 1u << 1,
		  });
}

/*
 * The lists have different lengths and tables, so that a packet that sees half of one and half of
 * the other goes another way.
 */
TEST(test_rules_change_at_once, "the list of rules changes at once")
{
	const struct sixlane_rule to_main = { .table = SIXLANE_TABLE_MAIN };
	const struct sixlane_rule other = { .table = 100 };
	struct race race = { .n = 2, .classify = classify_way, .expected = 1u << 0 | 1u << 1 };
	struct world world;

	make_world(&world, NH_GATEWAY);
	world_add_route(&world, "2001:db8:2::/48", 100, NH_ALT);
	world_add_rule(&world, &other, NULL, NULL);
	race.words[0] = world.meta.rules.word;
	world.meta.rules = (union sixlane_rules){ .first = SIXLANE_MAX_RULES };
	world_add_rule(&world, &other, "2001:db8:f::/48", NULL);
	world_add_rule(&world, &to_main, NULL, NULL);
	race.words[1] = world.meta.rules.word;
	run_words(&world, &harness_maps.meta->rules.word, race);
}

static struct world_exception exceptions[2]; /* what there is by turns */

/* NH_OUT_10 is where no packet should go. */
static int classify_exception(uint32_t action, const struct frame *in, const struct frame *out)
{
	int way = classify_way(action, in, out);

	return way == 2 ? WRONG : way;
}

static void put_version(const struct world_exception *exception, bool changing)
{
	static uint32_t version;
	struct world_exception step = *exception;

	if (changing) {
		step.value.flags |= SIXLANE_EXCEPTION_CHANGING;
	} else {
		version += 1u << SIXLANE_EXCEPTION_VERSION_SHIFT;
	}
	step.value.flags |= version;
	harness_put_exception(&step);
}

/*
 * The order that struct sixlane_exception demands: packets pass while SIXLANE_EXCEPTION_CHANGING is
 * set, and the version is a new one at the end.
 */
static void change_exception(size_t i)
{
	struct world_exception old = exceptions[!i];

	old.value.flags = exceptions[i].value.flags;
	put_version(&old, true);
	put_version(&exceptions[i], true);
	put_version(&exceptions[i], false);
}

/* An exception of a destination is the i-th from now on. */
static void set_exception(struct world *world, size_t i, const char *dst, uint32_t table,
			  uint32_t next_hop)
{
	const struct sixlane_exception value = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP,
		.next_hop = next_hop,
		.table = table,
	};

	make_world(world, NH_GATEWAY);
	world->routes[0].value |= SIXLANE_ROUTE_EXCEPTIONS;
	world_add_exception(world, dst, &value);
	exceptions[i] = world->exceptions[0];
}

/*
 * By turns, the memory holds an exception of FRAME_DST by NH_ALT, and one that does not apply to
 * its packets. expected: the ways that packets may go.
 */
static void run_exceptions(void (*store)(size_t i), const char *other_dst, uint32_t other_table,
			   uint32_t expected, bool rare)
{
	struct race race = {
		.store = store,
		.rare = rare,
		.n = 2,
		.classify = classify_exception,
		.expected = expected,
		.may = 1u << PASSED,
	};
	static struct world world;

	set_exception(&world, 1, other_dst, other_table, NH_VIA(NEIGH_OUT_10));
	set_exception(&world, 0, FRAME_DST, 0, NH_ALT);
	harness_install(&world);
	run(&race);
}

TEST(test_exception_changes_at_once, "an exception changes at once")
{
	run_exceptions(change_exception, FRAME_DST, 100, 1u << 0 | 1u << 1, false);
}

/*
 * By turns, the same memory holds the exception that the packets look up, without which they pass,
 * and another one. Each has a new version: a reader could otherwise not tell that the memory was
 * the other's between two of its reads.
 */
static void replace_exception(size_t i)
{
	harness_del_exception(&exceptions[!i]);
	put_version(&exceptions[i], false);
}

TEST(test_exception_is_not_another_destinations, "an exception is not another destination's")
{
	run_exceptions(replace_exception, "2001:db8:2::2", 0, 1u << 1, true);
	harness_del_exception(&exceptions[1]);
}
