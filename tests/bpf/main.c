// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_bpf [OBJECT [FRAGS_OBJECT]]: the XDP object through BPF_PROG_TEST_RUN, and its xdp.frags
 * flavour, by default the .frags.bpf.o beside the .bpf.o; with array maps also the .trace.bpf.o
 * there. Needs root; touches nothing outside a network namespace of its own. SIXLANE_FUZZ_SEED and
 * SIXLANE_FUZZ_RUNS repeat a run of the fuzzer; SIXLANE_BPF_TESTS names tests, by a pattern with *
 * and ?.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/loader/arena.h"
#include "agree_run.h"
#include "tests.h"

#define MAX_TESTS 4096
#define NAME_MAX_CHARS 160

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

/* For the life of the process. */
static const char *name_by_trie(const char *name)
{
	char *text = malloc(NAME_MAX_CHARS);

	if (!text)
		abort();
	snprintf(text, NAME_MAX_CHARS, "%s (trie)", name);
	return text;
}

/* By both engines. What else is to hold of the trie, the tests that both engines agree show. */
static void add_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add(rows[i].name, table_test_row, &rows[i]);
		add(name_by_trie(rows[i].name), table_test_row_by_trie, &rows[i]);
	}
}

static void add_all(void)
{
	add_rows(rows_packet, rows_packet_n);
	add_rows(rows_port, rows_port_n);
	add_rows(rows_route, rows_route_n);
	add_rows(rows_next_hop, rows_next_hop_n);
	add_rows(rows_vlan, rows_vlan_n);
	add_rows(rows_vlan_out, rows_vlan_out_n);
	add_rows(rows_bond, rows_bond_n);
	add_rows(rows_bond_out, rows_bond_out_n);
	add_rows(rows_rule, rows_rule_n);
	add_rows(rows_walk, rows_walk_n);
	add_rows(rows_source, rows_source_n);
	add_rows(rows_group, rows_group_n);
	add_rows(rows_hash, rows_hash_n);
	add_rows(rows_exception, rows_exception_n);
	add_rows(rows_answer, rows_answer_n);
	add_rows(rows_answer_way, rows_answer_way_n);
	add_rows(rows_icmp_event, rows_icmp_event_n);
	add_rows(rows_guard, rows_guard_n);
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
	add("every length with tags", sweep_test_every_length_with_tags, NULL);
	add("every VID", sweep_test_every_vid, NULL);
	add("every priority of a tag", sweep_test_every_priority, NULL);
	add("every type in the place of a tag's", sweep_test_every_tag_type, NULL);
	add("every padding with tags", sweep_test_every_padding_with_tags, NULL);
	add("traffic marks its neighbour as used", mark_test_used_is_set_by_traffic, NULL);
	add("traffic marks members that are silent", mark_test_used_is_set_of_silent_members, NULL);
	add("traffic marks gateways of exceptions that are silent",
	    mark_test_used_is_set_of_silent_exceptions, NULL);
	add("answers mark their neighbour", mark_test_used_is_set_by_answers, NULL);
	add("the trace marks no neighbour", mark_test_used_is_not_set_by_the_trace, NULL);
	add("passed packets mark no neighbour", mark_test_used_is_not_set_by_passed_packets, NULL);
	add("what a sample says", sample_test_what_it_says, NULL);
	add("a sample of a protocol without ports", sample_test_without_ports, NULL);
	add("when a sample is drawn", sample_test_when_it_is_drawn, NULL);
	add("no sample of what is not forwarded", sample_test_none_of_what_is_not_forwarded, NULL);
	add("no sample of exceptions", sample_test_none_of_exceptions, NULL);
	add("a packet that meets scratch memory taken is the kernel's", scratch_test_taken, NULL);
	add("every bit of the packet, under every hash policy", hash_test_every_bit_of_the_packet,
	    NULL);
	add("a flow stays with its member", group_test_a_flow_stays, NULL);
	add("the seed moves flows", group_test_the_seed_moves_flows, NULL);
	add("members whose ports are down", group_test_ports_down, NULL);
	add("members of objects whose ports are down", group_test_ports_down_of_objects, NULL);
	add("resilient buckets", group_test_resilient_buckets, NULL);
	add("little weight in use", group_test_little_weight_stays, NULL);
	add("one bucket in use of many", group_test_one_bucket_of_many, NULL);
	add("spread of 100k flows by weight", group_test_spread_by_weight, NULL);
	add("known bytes of an answer", answer_test_known_bytes, NULL);
	add("answers to every size", answer_test_every_size, NULL);
	add("answers with every checksum", answer_test_every_checksum, NULL);
	add("answers about every ICMPv6 type", answer_test_every_icmp_type, NULL);
	add("answers about every next header", answer_test_every_next_header, NULL);
	add("answers with every room in front", answer_test_every_room, NULL);
	add("flow label of answers", answer_test_flow_label, NULL);
	add("rate of answers", answer_test_rate, NULL);
	add("rate of answers in time", answer_test_rate_in_time, NULL);
	add("rate of answers, CPU by CPU", answer_test_rate_by_cpu, NULL);
	add("full ring of hints", exception_test_full_ring_of_icmp_events, NULL);
	add("every bit and byte of a punt destination", exception_test_every_bit_and_byte_counts,
	    NULL);
	add("more than sl_fresh holds", exception_test_more_than_sl_fresh_holds, NULL);
	add("jumbo frames", frags_test_jumbo_frames, NULL);
	add("padding of jumbo frames", frags_test_padding_of_jumbo_frames, NULL);
	add("truncated jumbo frames", frags_test_truncated_jumbo_frames, NULL);
	add("jumbo frames to an egress without fragments", frags_test_egress_without_fragments,
	    NULL);
	add("tags of jumbo frames", frags_test_tags_of_jumbo_frames, NULL);
	add("answers to jumbo frames", frags_test_answers_to_jumbo_frames, NULL);
	add("answers to frames whose first buffer is short",
	    frags_test_answers_need_the_first_buffer, NULL);
	add("a MAC is never seen in half", race_test_mac_is_never_seen_in_half, NULL);
	add("a next hop's fate changes at once", race_test_entry_changes_at_once, NULL);
	add("a member's fate changes at once", race_test_member_changes_at_once, NULL);
	add("a cell changes at once", race_test_bucket_changes_at_once, NULL);
	add("the list of rules changes at once", race_test_rules_change_at_once, NULL);
	add("an exception changes at once", race_test_exception_changes_at_once, NULL);
	add("an exception is not another destination's",
	    race_test_exception_is_not_another_destinations, NULL);
	add("both engines agree: full view", agreement_test_full_view, NULL);
	add("both engines agree: a million routes", agreement_test_million_routes, NULL);
	add("both engines agree: dense /48s", agreement_test_dense, NULL);
	add("both engines agree: hosts of one /108", agreement_test_hosts, NULL);
	add("both engines agree: all lengths on one path", agreement_test_paths, NULL);
	add("both engines agree: many tables", agreement_test_tables, NULL);
	add("both engines agree: one route", agreement_test_default_route_alone, NULL);
	add("a grace period waits for readers", churn_test_grace_waits_for_readers, NULL);
	add("lookups beside changes", churn_test_lookups_beside_changes, NULL);
	add("frames leave by their egress", live_test_frames_leave_by_their_egress, NULL);
	add("tags arrive on the wire", live_test_tags_arrive, NULL);
	add("random frames against the model", fuzz_test_against_model, NULL);
}

static const char *object = "build/sixlane.bpf.o";
static const char *frags_object;

static bool is_arena(void)
{
	return strstr(object, ".arena.");
}

/* agree.bpf.o lies beside the object, or agree.arena.bpf.o if it is of that flavour. */
static void find_agree_object(void)
{
	static char beside[PATH_MAX];
	const char *slash = strrchr(object, '/');

	snprintf(beside, sizeof(beside), "%.*sagree%s.bpf.o", slash ? (int)(slash - object) + 1 : 0,
		 object, strstr(slash ?: object, ".arena.") ? ".arena" : "");
	agree_set_path(beside);
}

/* The object of another flavour beside this one. */
static const char *find_flavour(const char *flavour, char path[PATH_MAX])
{
	static const char ending[] = ".bpf.o";
	size_t stem = strlen(object);

	if (stem > strlen(ending) && !strcmp(object + stem - strlen(ending), ending))
		stem -= strlen(ending);
	snprintf(path, PATH_MAX, "%.*s.%s%s", (int)stem, object, flavour, ending);
	return path;
}

static int open_harness(void **state)
{
	static char frags[PATH_MAX], trace[PATH_MAX];

	find_agree_object();
	return harness_open(object, frags_object ?: find_flavour("frags", frags),
			    is_arena() ? NULL : find_flavour("trace", trace));
}

static int close_harness(void **state)
{
	harness_close();
	return 0;
}

static void skip_arena(void **state)
{
	print_message("this kernel has no arenas for %s\n", object);
	skip();
}

static int run_none(void)
{
	static const struct CMUnitTest none[] = { cmocka_unit_test(skip_arena) };

	return cmocka_run_group_tests(none, NULL, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		object = argv[1];
	if (argc > 2)
		frags_object = argv[2];
	if (is_arena() && loader_arena_usable() <= 0)
		return run_none();
	add_all();
	cmocka_set_test_filter(getenv("SIXLANE_BPF_TESTS"));
	return _cmocka_run_group_tests("bpf", tests, n_tests, open_harness, close_harness);
}
