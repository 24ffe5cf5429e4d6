/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets and bytes by ingress port and verdict, sl_counters. */
#ifndef BPF_ABI_COUNTERS_H
#define BPF_ABI_COUNTERS_H

#include "verdicts.h"

/* --- sl_counters: PERCPU_ARRAY; index = slot in sl_ports of the ingress port ----------- */

struct sixlane_counter {
	__u64 packets;
	__u64 bytes; /* as they came in, from the Ethernet header on */
};

struct sixlane_counters {
	struct sixlane_counter verdicts[SIXLANE_MAX_VERDICTS];
};

#endif
