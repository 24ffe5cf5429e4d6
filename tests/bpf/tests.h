/* SPDX-License-Identifier: GPL-2.0-only */
/* The cmocka tests beside the table, for main.c. Each needs an open harness. */
#ifndef TESTS_BPF_TESTS_H
#define TESTS_BPF_TESTS_H

#include "rows.h"

/* table.c */
void table_test_row(void **state); /* *state: struct row */
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

/* marks.c */
void mark_test_used_is_set_by_traffic(void **state);
void mark_test_used_is_not_set_by_passed_packets(void **state);

/* races.c */
void race_test_mac_is_never_seen_in_half(void **state);

/* live.c */
void live_test_frames_leave_by_their_egress(void **state);
void live_test_strictly_aligned(void **state);

/* fuzz.c */
void fuzz_test_against_model(void **state);

#endif
