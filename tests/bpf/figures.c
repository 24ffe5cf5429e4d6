// SPDX-License-Identifier: GPL-2.0-only
/* The figures of exceptions, value by value and CPU by CPU, and the ring of ICMP events. */
#include "setup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct setup *setup;
static struct world_exception installed[WORLD_EXCEPTIONS];
static size_t n_installed;
static uint8_t fresh[SIXLANE_FRESH_WORDS * 8];	 /* before a frame */
static uint8_t look;				 /* likewise */
static struct sixlane_exception *before, *after; /* [exception][cpu] */
static uint64_t before_ns;			 /* the clock that the datapath reads */

static union sixlane_addr last_hit;
static int n_hits;
/* sl_fresh and SIXLANE_META_CHECK_PUNTED after it. */
static uint8_t fresh_after[SIXLANE_FRESH_WORDS * 8];
static uint8_t look_after;

/* [slot][cpu]. The earlier snapshot holds until a packet runs unseen. */
static struct sixlane_counters *counters, *counters_after;
static bool counters_hold;

void figures_miss(void)
{
	counters_hold = false;
}

/* --- counters -------------------------------------------------------------------------- */

/* Counters of the first slots; returns how many. */
static uint32_t snapshot_counters(struct sixlane_counters *to, enum harness_sweep sweep)
{
	static uint32_t keys[SIXLANE_MAX_PORTS];
	uint32_t n = sweep == SWEEP_ALL ? SIXLANE_MAX_PORTS : WORLD_PORTS, last;

	/* An array is dumped in the order of its indices. */
	setup_must(
		bpf_map_lookup_batch(setup->map_fd[MAP_COUNTERS], NULL, &last, keys, to, &n, NULL),
		"sl_counters");
	return n;
}

/* The counters that rose. */
static struct risen {
	size_t n;
	uint32_t slot, verdict; /* the last of them */
	uint64_t packets, bytes;
} risen;

static void note_risen(uint32_t slot, const struct sixlane_counters *old,
		       const struct sixlane_counters *new)
{
	for (uint32_t v = 0; v < SIXLANE_MAX_VERDICTS; v++) {
		uint64_t packets = new->verdicts[v].packets - old->verdicts[v].packets;
		uint64_t bytes = new->verdicts[v].bytes - old->verdicts[v].bytes;

		if (!packets && !bytes)
			continue;
		risen = (struct risen){ risen.n + 1, slot, v, packets, bytes };
	}
}

/* Takes the later snapshot for the next frame's first. */
static void find_risen(uint32_t n_slots)
{
	risen = (struct risen){ 0 };
	for (size_t i = 0; i < n_slots * (size_t)setup->n_cpus; i++) {
		if (!memcmp(&counters[i], &counters_after[i], sizeof(*counters)))
			continue;
		note_risen((uint32_t)(i / (size_t)setup->n_cpus), &counters[i], &counters_after[i]);
		counters[i] = counters_after[i];
	}
}

static bool is_counted(const struct frame *in, const struct expected *expected)
{
	return risen.n == 1 && risen.slot == expected->slot && risen.verdict == expected->verdict &&
	       risen.packets == 1 && risen.bytes == in->len;
}

/* --- ICMP events and samples ------------------------------------------------------------- */

/* A ring, how many records came since n was set to 0, and where the first of them go to. */
struct ring {
	struct ring_buffer *buffer;
	size_t bytes, n;
	void *wanted;
	size_t max;
};

static struct sixlane_icmp_event last_icmp_event;
static struct ring rings[] = {
	[RING_ICMP_EVENTS] = { .bytes = sizeof(struct sixlane_icmp_event) },
	[RING_SAMPLES] = { .bytes = sizeof(struct sixlane_sample) },
};
static struct ring *const icmp_events = &rings[RING_ICMP_EVENTS];
static struct ring *const samples = &rings[RING_SAMPLES];

static int note(void *ctx, void *data, size_t bytes)
{
	struct ring *ring = ctx;

	if (bytes != ring->bytes)
		ring->n += 1000; /* no number that is expected */
	else if (ring->n < ring->max)
		memcpy((uint8_t *)ring->wanted + ring->n * bytes, data, bytes);
	if (ring == icmp_events && bytes == ring->bytes)
		memcpy(&last_icmp_event, data, bytes);
	ring->n++;
	return 0;
}

size_t harness_take(enum harness_ring which, void *wanted, size_t max)
{
	struct ring *ring = &rings[which];

	ring->n = 0;
	ring->wanted = wanted;
	ring->max = max;
	ring_buffer__consume(ring->buffer);
	ring->max = 0;
	return ring->n;
}

/* --- beginning and end ------------------------------------------------------------------- */

int figures_open(const struct setup *of)
{
	size_t n = WORLD_EXCEPTIONS * (size_t)of->n_cpus;

	setup = of;
	before = calloc(n, sizeof(*before));
	after = calloc(n, sizeof(*after));
	counters = calloc(SIXLANE_MAX_PORTS * (size_t)of->n_cpus, sizeof(*counters));
	counters_after = calloc(SIXLANE_MAX_PORTS * (size_t)of->n_cpus, sizeof(*counters));
	icmp_events->buffer =
		ring_buffer__new(of->map_fd[MAP_ICMP_EVENTS], note, icmp_events, NULL);
	samples->buffer = ring_buffer__new(of->map_fd[MAP_SAMPLES], note, samples, NULL);
	return before && after && counters && counters_after && icmp_events->buffer &&
			       samples->buffer
		       ? 0
		       : -ENOMEM;
}

void figures_close(void)
{
	ring_buffer__free(icmp_events->buffer);
	ring_buffer__free(samples->buffer);
	free(before);
	free(after);
	free(counters);
	free(counters_after);
}

/* What all CPUs' sl_cpu are, to be freed. */
static struct sixlane_cpu *read_cpus(void)
{
	struct sixlane_cpu *cpus = calloc((size_t)setup->n_cpus, sizeof(*cpus));
	uint32_t zero = 0;

	setup_must(cpus ? bpf_map_lookup_elem(setup->map_fd[MAP_CPU], &zero, cpus) : -ENOMEM,
		   "sl_cpu");
	return cpus;
}

static void write_cpus(struct sixlane_cpu *cpus)
{
	uint32_t zero = 0;

	setup_must(bpf_map_update_elem(setup->map_fd[MAP_CPU], &zero, cpus, BPF_ANY), "sl_cpu");
	free(cpus);
}

void harness_fill_buckets(uint64_t filled_ns)
{
	struct sixlane_cpu *cpus = read_cpus();

	for (int cpu = 0; cpu < setup->n_cpus; cpu++)
		cpus[cpu].filled_ns = filled_ns;
	write_cpus(cpus);
}

uint64_t harness_icmp_events_lost(void)
{
	struct sixlane_cpu *cpus = read_cpus();
	uint64_t lost = 0;

	for (int cpu = 0; cpu < setup->n_cpus; cpu++)
		lost += cpus[cpu].icmp_events_lost;
	free(cpus);
	return lost;
}

static struct sixlane_exception *of_exception(struct sixlane_exception *values, size_t i)
{
	return values + i * (size_t)setup->n_cpus;
}

/* Memory for each CPU is taken from a stock that the kernel fills up by a work queue. */
static void put_values(const union sixlane_addr *dst, const void *values, uint64_t flags)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const time_t deadline = time(NULL) + 10;
	int ret;

	while ((ret = bpf_map_update_elem(setup->map_fd[MAP_EXCEPTIONS], dst, values, flags)) ==
		       -ENOMEM &&
	       time(NULL) < deadline)
		nanosleep(&pause, NULL);
	setup_must(ret, "sl_exceptions");
}

static void read_values(struct sixlane_exception *to)
{
	for (size_t i = 0; i < n_installed; i++)
		setup_must(bpf_map_lookup_elem(setup->map_fd[MAP_EXCEPTIONS], &installed[i].dst,
					       of_exception(to, i)),
			   "sl_exceptions");
}

static uint64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t *punted_word(const union sixlane_addr *dst, uint32_t number, uint64_t *mask)
{
	const uint32_t bit = sixlane_punted_bit(sixlane_exception_sum(dst), number);

	*mask = 1ull << bit % 64;
	return &harness_maps.punted[bit / 64];
}

static void add_punted(const union sixlane_addr *dst)
{
	for (uint32_t number = 0; number < SIXLANE_PUNTED_NUMBERS; number++) {
		uint64_t mask, *word = punted_word(dst, number, &mask);

		*word |= mask;
	}
}

/* Where a destination has its bytes in a half. */
static uint32_t fresh_byte(const union sixlane_addr *dst, uint32_t number, uint32_t half)
{
	return sixlane_fresh_byte(sixlane_exception_sum(dst), number) + half;
}

static void install_fresh(const struct world *world)
{
	memset(fresh, 0, sizeof(fresh));
	for (size_t i = 0; i < world->n_fresh; i++)
		for (uint32_t number = 0; number < SIXLANE_FRESH_NUMBERS; number++)
			fresh[fresh_byte(&world->fresh[i].dst, number,
					 world->fresh[i].halves[number])] = 1;
	memcpy(harness_maps.fresh, fresh, sizeof(fresh));
}

uint32_t harness_fresh_count(uint32_t half)
{
	return ((const uint32_t *)&harness_maps.fresh[SIXLANE_FRESH_BYTES])[half];
}

void figures_install(const struct world *world)
{
	struct sixlane_cpu *cpus = read_cpus();

	for (size_t i = 0; i < n_installed; i++)
		bpf_map_delete_elem(setup->map_fd[MAP_EXCEPTIONS], &installed[i].dst);
	memset(harness_maps.punted, 0, SIXLANE_PUNTED_WORDS * sizeof(*harness_maps.punted));
	for (size_t i = 0; i < world->n_punted; i++)
		add_punted(&world->punted[i]);
	install_fresh(world);
	n_installed = world->n_exceptions;
	memcpy(installed, world->exceptions, sizeof(installed));
	for (size_t i = 0; i < n_installed; i++) {
		for (int cpu = 0; cpu < setup->n_cpus; cpu++)
			of_exception(before, i)[cpu] = installed[i].value;
		add_punted(&installed[i].dst);
		put_values(&installed[i].dst, of_exception(before, i), BPF_NOEXIST);
	}
	memset(cpus, 0, (size_t)setup->n_cpus * sizeof(*cpus));
	write_cpus(cpus);
}

void harness_put_exception(const struct world_exception *exception)
{
	struct sixlane_exception *values = of_exception(after, 0);

	for (int cpu = 0; cpu < setup->n_cpus; cpu++)
		values[cpu] = exception->value;
	add_punted(&exception->dst);
	put_values(&exception->dst, values, BPF_ANY);
}

void harness_hide_punt(const union sixlane_addr *dst, uint32_t number)
{
	uint64_t mask, *word = punted_word(dst, number, &mask);

	*word &= ~mask;
	for (uint32_t half = 0; half < SIXLANE_FRESH_HALVES; half++)
		harness_maps.fresh[fresh_byte(dst, number, half)] = 0;
}

void harness_del_exception(const struct world_exception *exception)
{
	bpf_map_delete_elem(setup->map_fd[MAP_EXCEPTIONS], &exception->dst);
}

void figures_begin(void)
{
	if (!counters_hold)
		snapshot_counters(counters, SWEEP_ALL);
	read_values(before);
	ring_buffer__consume(icmp_events->buffer);
	icmp_events->n = 0;
	memcpy(fresh, harness_maps.fresh, sizeof(fresh));
	look = harness_maps.meta->flag_bytes[SIXLANE_META_CHECK_PUNTED_BYTE];
	before_ns = coarse_ns();
}

/* --- what changed ------------------------------------------------------------------------ */

/* The datapath's clock is at most two ticks late (exception_now_ns()), which are 10 ms at the most.
 */
#define LATE_NS 20000000u

/* The same but for one packet more, which was seen just now. */
static bool is_hit(const struct sixlane_exception *old, const struct sixlane_exception *new,
		   const struct frame *in, uint64_t now_ns)
{
	struct sixlane_exception want = *old;

	want.hits++;
	want.bytes += in->len;
	want.used_ns = new->used_ns;
	return !memcmp(new, &want, sizeof(want)) &&
	       new->used_ns + LATE_NS >= before_ns &&new->used_ns <= now_ns;
}

/* How many CPUs' values of an exception are those after a hit; -1: one changed otherwise. */
static int count_hits(size_t i, const struct frame *in, uint64_t now_ns)
{
	const struct sixlane_exception *old = of_exception(before, i),
				       *new = of_exception(after, i);
	int hits = 0;

	for (int cpu = 0; cpu < setup->n_cpus; cpu++) {
		if (!memcmp(&old[cpu], &new[cpu], sizeof(*old)))
			continue;
		if (!is_hit(&old[cpu], &new[cpu], in, now_ns))
			return -1;
		hits++;
	}
	return hits;
}

/* What was there comes back, so that the next program finds the same. */
static void note_fresh(void)
{
	uint8_t *check = &harness_maps.meta->flag_bytes[SIXLANE_META_CHECK_PUNTED_BYTE];

	memcpy(fresh_after, harness_maps.fresh, sizeof(fresh));
	memcpy(harness_maps.fresh, fresh, sizeof(fresh));
	look_after = *check;
	*check = look;
}

void figures_end(const struct frame *in, enum harness_sweep sweep)
{
	uint64_t now_ns = coarse_ns();

	find_risen(snapshot_counters(counters_after, sweep));
	counters_hold = true;
	ring_buffer__consume(icmp_events->buffer);
	read_values(after);
	note_fresh();
	n_hits = 0;
	for (size_t i = 0; i < n_installed; i++) {
		int hits = count_hits(i, in, now_ns);

		if (!hits)
			continue;
		n_hits += hits < 0 ? 1000 : hits; /* no number of hits that is expected */
		last_hit = installed[i].dst;
	}
}

/* The destination of a message that the kernel learns from is in sl_fresh now, and nothing else. */
static bool is_fresh_as(const struct sixlane_icmp_event *icmp_event)
{
	const bool punts = icmp_event && icmp_event->type != SIXLANE_ICMP6_ROUTER_ADVERT &&
			   !(harness_maps.meta->flags & SIXLANE_META_OBSERVE);
	const uint32_t half = harness_maps.meta->fresh;
	static uint8_t want[sizeof(fresh)];
	uint32_t n = 0;

	memcpy(want, fresh, sizeof(want));
	for (uint32_t number = 0; punts && number < SIXLANE_FRESH_NUMBERS; number++) {
		uint8_t *byte = &want[fresh_byte(&icmp_event->dst, number, half)];

		n += !*byte;
		*byte = 1;
	}
	if (n)
		((uint32_t *)&want[SIXLANE_FRESH_BYTES])[half]++;
	return !memcmp(want, fresh_after, sizeof(want)) && look_after == (punts ? 1 : look);
}

bool figures_are(const struct frame *in, const struct expected *expected)
{
	if (!is_counted(in, expected))
		return false;
	if (n_hits != (expected->hit != NULL) || icmp_events->n != (expected->icmp_event != NULL))
		return false;
	if (expected->hit && memcmp(expected->hit, &last_hit, sizeof(last_hit)))
		return false;
	if (!is_fresh_as(expected->icmp_event))
		return false;
	return !expected->icmp_event ||
	       !memcmp(expected->icmp_event, &last_icmp_event, sizeof(last_icmp_event));
}

void figures_explain(const struct expected *expected)
{
	fprintf(stderr, "%zu counters rose: %s in slot %u by %llu packets, %llu bytes\n", risen.n,
		harness_verdict_name(risen.verdict), risen.slot, (unsigned long long)risen.packets,
		(unsigned long long)risen.bytes);
	fprintf(stderr, "%d hits (1000: changed otherwise), expected %s; ", n_hits,
		expected->hit ? "one" : "none");
	fprintf(stderr, "%zu ICMP events, the last of type %u by %u; expected %s\n", icmp_events->n,
		last_icmp_event.type, last_icmp_event.ifindex,
		expected->icmp_event ? "another" : "none");
	fprintf(stderr, "sl_fresh %s, to look: %u, then %u\n",
		memcmp(fresh, fresh_after, sizeof(fresh)) ? "changed" : "is the same", look,
		look_after);
}
