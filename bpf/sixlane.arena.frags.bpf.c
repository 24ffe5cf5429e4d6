// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same program for frames in several buffers, with the compiled FIB in an arena (Linux 6.9 and
 * newer). */
#define SIXLANE_ARENA 1
#include "sixlane.frags.bpf.c"
