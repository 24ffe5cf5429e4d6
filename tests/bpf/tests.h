/* SPDX-License-Identifier: GPL-2.0-only */
/* The cmocka tests beside the table, for main.c. Each needs an open harness. */
#ifndef TESTS_BPF_TESTS_H
#define TESTS_BPF_TESTS_H

#include "rows.h"

/* table.c */
void table_test_row(void **state); /* *state: struct row */
void table_test_row_by_trie(void **state);
void table_test_every_verdict_has_a_row(void **state);

/* sweeps.c */
void sweep_test_every_length(void **state);
void sweep_test_every_padding(void **state);
void sweep_test_every_hop_limit(void **state);
void sweep_test_every_next_header(void **state);
void sweep_test_every_class_and_flow_bit(void **state);
void sweep_test_every_size_around_the_mtu(void **state);
void sweep_test_every_prefix_length_alone(void **state);
void sweep_test_every_prefix_length_over_the_shorter(void **state);

/* sweeps_vlan.c */
void sweep_test_every_length_with_tags(void **state);
void sweep_test_every_vid(void **state);
void sweep_test_every_priority(void **state);
void sweep_test_every_tag_type(void **state);
void sweep_test_every_padding_with_tags(void **state);

/* marks.c */
void mark_test_used_is_set_by_traffic(void **state);
void mark_test_used_is_set_of_silent_members(void **state);
void mark_test_used_is_set_of_silent_exceptions(void **state);
void mark_test_used_is_set_by_answers(void **state);
void mark_test_used_is_not_set_by_the_trace(void **state);
void mark_test_used_is_not_set_by_passed_packets(void **state);

/* samples.c */
void sample_test_what_it_says(void **state);
void sample_test_without_ports(void **state);
void sample_test_when_it_is_drawn(void **state);
void sample_test_none_of_what_is_not_forwarded(void **state);
void sample_test_none_of_exceptions(void **state);

/* scratch.c */
void scratch_test_taken(void **state);

/* hash_bits.c */
void hash_test_every_bit_of_the_packet(void **state);

/* groups.c */
void group_test_a_flow_stays(void **state);
void group_test_the_seed_moves_flows(void **state);
void group_test_ports_down(void **state);
void group_test_ports_down_of_objects(void **state);
void group_test_resilient_buckets(void **state);
void group_test_little_weight_stays(void **state);
void group_test_one_bucket_of_many(void **state);
void group_test_spread_by_weight(void **state);

/* answers.c */
void answer_test_known_bytes(void **state);
void answer_test_every_size(void **state);
void answer_test_every_checksum(void **state);
void answer_test_every_icmp_type(void **state);
void answer_test_every_next_header(void **state);
void answer_test_every_room(void **state);
void answer_test_flow_label(void **state);
void answer_test_rate(void **state);
void answer_test_rate_in_time(void **state);
void answer_test_rate_by_cpu(void **state);

/* exceptions.c */
void exception_test_full_ring_of_icmp_events(void **state);
void exception_test_every_bit_and_byte_counts(void **state);
void exception_test_more_than_sl_fresh_holds(void **state);

/* frags.c */
void frags_test_jumbo_frames(void **state);
void frags_test_padding_of_jumbo_frames(void **state);
void frags_test_truncated_jumbo_frames(void **state);
void frags_test_egress_without_fragments(void **state);
void frags_test_tags_of_jumbo_frames(void **state);
void frags_test_answers_to_jumbo_frames(void **state);
void frags_test_answers_need_the_first_buffer(void **state);

/* races.c */
void race_test_mac_is_never_seen_in_half(void **state);
void race_test_entry_changes_at_once(void **state);
void race_test_member_changes_at_once(void **state);
void race_test_bucket_changes_at_once(void **state);
void race_test_rules_change_at_once(void **state);
void race_test_exception_changes_at_once(void **state);
void race_test_exception_is_not_another_destinations(void **state);

/* agreement.c */
void agreement_test_full_view(void **state);
void agreement_test_million_routes(void **state);
void agreement_test_dense(void **state);
void agreement_test_hosts(void **state);
void agreement_test_paths(void **state);
void agreement_test_tables(void **state);
void agreement_test_default_route_alone(void **state);

/* churn.c */
void churn_test_lookups_beside_changes(void **state);
void churn_test_grace_waits_for_readers(void **state);

/* live.c */
void live_test_frames_leave_by_their_egress(void **state);
void live_test_tags_arrive(void **state);

/* fuzz.c */
void fuzz_test_against_model(void **state);

#endif
