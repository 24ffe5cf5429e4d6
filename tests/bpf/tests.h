/* SPDX-License-Identifier: GPL-2.0-only */
/* The cmocka tests, which each need an open harness, and what test files include. */
#ifndef TESTS_BPF_TESTS_H
#define TESTS_BPF_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"

/* For each row, in *state: with the routes in the compiled FIB, and in the trie. */
void table_test_row(void **state);
void table_test_row_by_trie(void **state);

/* The others, in the order in which they run: function, name. */
#define TESTS(X)                                                                                 \
	X(table_test_every_verdict_has_a_row, "every verdict has a row")                         \
	X(sweep_test_every_length, "every length")                                               \
	X(sweep_test_every_padding, "every padding")                                             \
	X(sweep_test_every_field, "every hop limit, next header, class and flow bit")            \
	X(sweep_test_every_size_around_the_mtu, "every size around the MTU")                     \
	X(sweep_test_every_prefix_length_alone, "every prefix length alone")                     \
	X(sweep_test_every_length_with_tags, "every length with tags")                           \
	X(sweep_test_every_vid, "every VID")                                                     \
	X(sweep_test_every_priority, "every priority of a tag")                                  \
	X(sweep_test_every_tag_type, "every type in the place of a tag's")                       \
	X(mark_test_used, "which neighbour a packet marks as used")                              \
	X(sample_test_what_it_says, "what a sample says")                                        \
	X(sample_test_when_it_is_drawn, "when a sample is drawn")                                \
	X(scratch_test_taken, "a packet that meets scratch memory taken is the kernel's")        \
	X(hash_test_every_bit_of_the_packet, "every bit of the packet, under every hash policy") \
	X(group_test_a_flow_stays, "a flow stays with its member")                               \
	X(group_test_the_seed_moves_flows, "the seed moves flows")                               \
	X(group_test_ports_down, "members whose ports are down")                                 \
	X(group_test_ports_down_of_objects, "members of objects whose ports are down")           \
	X(group_test_resilient_buckets, "resilient buckets")                                     \
	X(group_test_little_weight_stays, "little weight in use")                                \
	X(group_test_one_bucket_of_many, "one bucket in use of many")                            \
	X(group_test_spread_by_weight, "spread of 100k flows by weight")                         \
	X(answer_test_known_bytes, "known bytes of an answer")                                   \
	X(answer_test_every_size, "answers to every size")                                       \
	X(answer_test_every_checksum, "answers with every checksum")                             \
	X(answer_test_every_type, "answers about every ICMPv6 type and next header")             \
	X(answer_test_every_room, "answers with every room in front")                            \
	X(answer_test_flow_label, "flow label of answers")                                       \
	X(answer_test_rate, "rate of answers")                                                   \
	X(answer_test_rate_in_time, "rate of answers in time")                                   \
	X(answer_test_rate_by_cpu, "rate of answers, CPU by CPU")                                \
	X(exception_test_full_ring_of_icmp_events, "full ring of ICMP events")                   \
	X(exception_test_every_bit_and_byte_counts, "every bit and byte of a punt destination")  \
	X(exception_test_more_than_sl_fresh_holds, "more than sl_fresh holds")                   \
	X(frags_test_jumbo_frames, "jumbo frames")                                               \
	X(frags_test_padding_of_jumbo_frames, "padding of jumbo frames")                         \
	X(frags_test_truncated_jumbo_frames, "truncated jumbo frames")                           \
	X(frags_test_egress_without_fragments, "jumbo frames to an egress without fragments")    \
	X(frags_test_tags_of_jumbo_frames, "tags of jumbo frames")                               \
	X(frags_test_answers_to_jumbo_frames, "answers to jumbo frames")                         \
	X(frags_test_answers_need_the_first_buffer,                                              \
	  "answers to frames whose first buffer is short")                                       \
	X(race_test_mac_is_never_seen_in_half, "a MAC is never seen in half")                    \
	X(race_test_entry_changes_at_once, "a next-hop entry changes at once")                   \
	X(race_test_member_changes_at_once, "a member's entry changes at once")                  \
	X(race_test_bucket_changes_at_once, "a bucket changes at once")                          \
	X(race_test_rules_change_at_once, "the list of rules changes at once")                   \
	X(race_test_exception_changes_at_once, "an exception changes at once")                   \
	X(race_test_exception_is_not_another_destinations,                                       \
	  "an exception is not another destination's")                                           \
	X(agreement_test_full_view, "both engines agree: full view")                             \
	X(agreement_test_million_routes, "both engines agree: a million routes")                 \
	X(agreement_test_shapes, "both engines agree: shapes, many tables")                      \
	X(agreement_test_default_route_alone, "both engines agree: one route")                   \
	X(churn_test_grace_waits_for_readers, "a grace period waits for readers")                \
	X(churn_test_lookups_beside_changes, "lookups beside changes")                           \
	X(live_test_frames_leave_by_their_egress, "frames leave by their egress")                \
	X(live_test_tags_arrive, "tags arrive on the wire")                                      \
	X(fuzz_test_against_model, "random frames against the model")

#define TEST_DECLARE(function, name) void function(void **state);
TESTS(TEST_DECLARE)

#endif
