// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The same program, which records what each step saw and decided (trace.h), for `sixlane explain`.
 * Never attached. trace_frags: run it on frames in several buffers (Linux 5.18 and newer).
 */
const volatile unsigned int trace_frags __attribute__((section(".rodata.frags")));
#define SIXLANE_FRAGS trace_frags
#define SIXLANE_TRACE 1
#define SIXLANE_PROGRAM sixlane_trace
#define SIXLANE_SECTION "xdp"
#include "sixlane.bpf.c"
