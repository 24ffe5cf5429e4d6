/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A rival of the compiled FIB's layout, for the bench only: a trie of 8 bits a level behind a root
 * of 16, whose arrays are cut to the range that differs from what holds for all of the node. The
 * levels as far as 48 bits are always gone through, without a branch: a leaf leads to itself.
 *
 * A cell (__u64) is a leaf (TRIMMED_LEAF and the value) or says where the next array is: its first
 * cell, by how much the next 8 bits are to be shifted, what index that is to begin with, and the
 * number of cells; the one behind them is for all other indices.
 */
#ifndef BENCH_TRIMMED_H
#define BENCH_TRIMMED_H

#include "lookup.h"

#define TRIMMED_CELLS (1u << 25)
#define TRIMMED_ROOT 65536u

#define TRIMMED_LEAF (1ull << 63)
#define TRIMMED_BASE_MASK 0xfffffffu
#define TRIMMED_LOW_SHIFT 28
#define TRIMMED_COUNT_SHIFT 37
#define TRIMMED_NINE_BITS 511u
#define TRIMMED_GRAIN_SHIFT 46
#define TRIMMED_GRAIN_MASK 15u

struct trimmed {
	__u64 cells[TRIMMED_CELLS];
};

#endif
