/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What kinds.c and its programs agree on. */
#ifndef BENCH_KINDS_H
#define BENCH_KINDS_H

#define KINDS_ENTRIES 65536u /* there are, by default at most, where there is room for more */
#define KINDS_STEP 40503u

#endif
