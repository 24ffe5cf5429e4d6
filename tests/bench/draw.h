/* SPDX-License-Identifier: GPL-2.0-only */
/* Destinations for the generator of the programs of this directory. */
#ifndef TESTS_BENCH_DRAW_H
#define TESTS_BENCH_DRAW_H

#include "../../user/bench/forward/gen.h"

/* n of them at random under the prefixes of a file, one a line. 0, or -errno after it was said. */
int draw_targets(struct gen *gen, const char *file, uint64_t seed, uint32_t n);

#endif
