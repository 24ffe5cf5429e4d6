/* SPDX-License-Identifier: GPL-2.0-only */
/* Chance for the fuzzer, and what it makes: worlds and frames. The same seed gives the same run. */
#ifndef TESTS_BPF_FUZZ_H
#define TESTS_BPF_FUZZ_H

#include <stdbool.h>

#include "frame.h"
#include "world.h"

void fuzz_seed(uint64_t seed);
uint32_t fuzz_below(uint32_t n);
bool fuzz_one_in(uint32_t n);
#define FUZZ_PICK(array) ((array)[fuzz_below(sizeof(array) / sizeof((array)[0]))])
void fuzz_bytes(uint8_t *to, size_t n);

/* An address that shares prefixes of many lengths with others. */
void fuzz_addr(uint8_t addr[16]);

/* To be installed. */
void fuzz_world(struct world *world);

/* A frame that comes in by a device of a world. */
void fuzz_frame(const struct world *world, enum device dev, struct frame *frame);

#endif
