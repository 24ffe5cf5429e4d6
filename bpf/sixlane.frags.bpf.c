// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The same program for frames that lie in several buffers (jumbo MTUs; Linux 5.18 and newer).
 * A section name is all that tells the kernel, so it takes an object of its own.
 */
#define SIXLANE_SECTION "xdp.frags"
#define SIXLANE_PROGRAM sixlane_frags
#define SIXLANE_FRAGS 1
#include "sixlane.bpf.c"
