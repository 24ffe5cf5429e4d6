// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_bpf [OBJECT]: the XDP object through BPF_PROG_TEST_RUN. Needs root; touches
 * nothing outside a network namespace of its own. SIXLANE_FUZZ_SEED and SIXLANE_FUZZ_RUNS repeat
 * a run of the fuzzer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests.h"

#define MAX_TESTS 512

static struct CMUnitTest tests[MAX_TESTS];
static size_t n_tests;

static void add(const char *name, CMUnitTestFunction function, const struct row *row)
{
	if (n_tests == MAX_TESTS)
		abort();
	tests[n_tests++] = (struct CMUnitTest){
		.name = name,
		.test_func = function,
		.initial_state = (void *)(uintptr_t)row,
	};
}

static void add_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(rows[i].name, table_test_row, &rows[i]);
}

static void add_all(void)
{
	add_rows(rows_packet, rows_packet_n);
	add_rows(rows_port, rows_port_n);
	add_rows(rows_route, rows_route_n);
	add_rows(rows_next_hop, rows_next_hop_n);
	add("every verdict has a row", table_test_every_verdict_has_a_row, NULL);
	add("every length", sweep_test_every_length, NULL);
	add("every padding", sweep_test_every_padding, NULL);
	add("every hop limit", sweep_test_every_hop_limit, NULL);
	add("every next header", sweep_test_every_next_header, NULL);
	add("every bit of traffic class and flow label", sweep_test_every_class_and_flow_bit, NULL);
	add("every size around the MTU", sweep_test_every_size_around_the_mtu, NULL);
	add("every prefix length alone", sweep_test_every_prefix_length_alone, NULL);
	add("every prefix length over the shorter", sweep_test_every_prefix_length_over_the_shorter,
	    NULL);
	add("traffic marks its neighbour as used", mark_test_used_is_set_by_traffic, NULL);
	add("passed packets mark no neighbour", mark_test_used_is_not_set_by_passed_packets, NULL);
	add("a MAC is never seen in half", race_test_mac_is_never_seen_in_half, NULL);
	add("frames leave by their egress", live_test_frames_leave_by_their_egress, NULL);
	add("verified with strict alignment", live_test_strictly_aligned, NULL);
	add("random frames against the model", fuzz_test_against_model, NULL);
}

static const char *object = "build/sixlane.bpf.o";

static int open_harness(void **state)
{
	(void)state;
	return harness_open(object);
}

static int close_harness(void **state)
{
	(void)state;
	harness_close();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		object = argv[1];
	add_all();
	return _cmocka_run_group_tests("bpf", tests, n_tests, open_harness, close_harness);
}
