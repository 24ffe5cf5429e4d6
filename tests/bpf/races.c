// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores to the maps while packets are under way. A thread writes as fast as it can, as the daemon
 * never does; the datapath must not let a packet out that mixes two states. A broken program
 * fails with high probability, not surely.
 */
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests.h"

#define RUNS 100000

struct writer {
	struct sixlane_neigh *neigh;
	uint64_t words[3]; /* states of the MAC, stored in turn */
	atomic_bool stop;
};

/* The two sides on CPUs of their own, as far as there are two. */
static void pin_to(size_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void *write_macs(void *arg)
{
	struct writer *writer = arg;
	volatile __u64 *word = &writer->neigh->mac.word;

	pin_to(1);
	for (size_t i = 0; !atomic_load_explicit(&writer->stop, memory_order_relaxed); i++)
		*word = writer->words[i % 3];
	return NULL;
}

static uint64_t mac_word(uint8_t byte, uint16_t flags)
{
	union sixlane_mac mac = { .flags = flags };

	memset(mac.bytes, byte, sizeof(mac.bytes));
	return mac.word;
}

static bool is_one_of(const uint8_t *mac, uint8_t a, uint8_t b)
{
	for (int i = 1; i < 6; i++)
		if (mac[i] != mac[0])
			return false;
	return mac[0] == a || mac[0] == b;
}

/* Two good MACs and one that must not be used, by turns. */
void race_test_mac_is_never_seen_in_half(void **state)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN], .padding = 9 };
	struct writer writer = {
		.words = { mac_word(0x22, SIXLANE_MAC_VALID), mac_word(0x66, 0),
			   mac_word(0xaa, SIXLANE_MAC_VALID) },
	};
	struct world world;
	struct frame in, out = { 0 };
	pthread_t thread;
	cpu_set_t before;
	uint32_t action;
	size_t wrong = 0, forwarded = 0;

	(void)state;
	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, NH_GATEWAY);
	world_neigh(&world, NEIGH_GATEWAY)->mac.word = writer.words[0];
	harness_install(&world);
	frame_build(&in, &spec);
	writer.neigh = harness_neigh(world_neigh_slot(NEIGH_GATEWAY));
	sched_getaffinity(0, sizeof(before), &before);
	pin_to(0);
	assert_int_equal(pthread_create(&thread, NULL, write_macs, &writer), 0);
	for (int i = 0; i < RUNS; i++) {
		if (harness_run(PROG_AS_IS, harness_ifindex()[DEV_IN], &in, &out, &action))
			wrong++;
		else if (action == XDP_REDIRECT && ++forwarded)
			wrong += !is_one_of(out.bytes + AT_DST_MAC, 0x22, 0xaa);
		else
			wrong += memcmp(out.bytes, in.bytes, in.len) != 0;
	}
	atomic_store(&writer.stop, true);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	assert_int_equal(wrong, 0);
	assert_true(forwarded && forwarded < RUNS);
}
