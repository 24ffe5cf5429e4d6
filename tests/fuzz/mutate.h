/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzzers of netlink messages share: a source of random numbers that a seed repeats, and
 * the changes that break parsers.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../user/lib/util.h"

#define DEFAULT_SEED 20250101
#define MUTATE_ITERATIONS 1000000
#define MAX_BYTES 8192

static uint64_t random_state;

static inline void random_start(const char *seed)
{
	random_state = seed ? strtoul(seed, NULL, 10) : DEFAULT_SEED;
	if (random_state == 0)
		random_state = DEFAULT_SEED; /* xorshift never leaves 0 */
}

/* xorshift64*: the same run from the same seed everywhere. */
static inline uint64_t random_next(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 2685821657736338717u;
}

static inline size_t random_below(size_t bound)
{
	return bound ? random_next() % bound : 0;
}

/* Lengths and types are 16 bits at even offsets: what hits them finds more than single bits do. */
static inline size_t mutate(uint8_t *bytes, size_t size)
{
	static const uint16_t lengths[] = { 0, 1, 3, 4, 5, 8, 12, 16, 20, 255, 0x7fff, 0xffff };
	size_t at = random_below(size), n;
	uint16_t value;

	switch (random_below(6)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << random_below(8));
		break;
	case 1:
		bytes[at] = (uint8_t)random_next();
		break;
	case 2:
	case 3:
		at &= ~(size_t)3;
		if (at + sizeof(value) > size)
			break;
		memcpy(&value, bytes + at, sizeof(value));
		if (random_below(2))
			value = lengths[random_below(ARRAY_SIZE(lengths))];
		else
			value = (uint16_t)(value + random_below(9) - 4);
		memcpy(bytes + at, &value, sizeof(value));
		break;
	case 4:
		size = 1 + random_below(size);
		break;
	case 5: /* repeat a piece of it at its end */
		at &= ~(size_t)3;
		n = random_below(size - at);
		if (size + n <= MAX_BYTES) {
			memmove(bytes + size, bytes + at, n);
			size += n;
		}
		break;
	}
	return size;
}

/* Some changes at once. */
static inline size_t mutate_often(uint8_t *bytes, size_t size)
{
	for (size_t n = 1 + random_below(4); n > 0; n--)
		size = mutate(bytes, size);
	return size;
}

/*
 * A bounded run: what build() writes into MAX_BYTES, and returns the size of, is mutated and given
 * to parse(), which returns whether any parser took it. 0 iterations: until stopped. Returns the
 * exit status: a mutator that spoils everything, or nothing, tests nothing.
 */
static inline int mutate_run(unsigned long iterations, size_t (*build)(uint8_t *bytes),
			     int (*parse)(const uint8_t *bytes, size_t size))
{
	static uint8_t bytes[MAX_BYTES];
	unsigned long taken = 0;

	for (unsigned long i = 0; iterations == 0 || i < iterations; i++) {
		size_t size = mutate_often(bytes, build(bytes));

		taken += parse(bytes, size) > 0;
	}
	printf("%lu of them parsed\n", taken);
	return taken == 0 || taken == iterations;
}

/* The same for main(): NAME [ITERATIONS [SEED]]. */
static inline int mutate_main(const char *name, int argc, char **argv,
			      size_t (*build)(uint8_t *bytes),
			      int (*parse)(const uint8_t *bytes, size_t size))
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : MUTATE_ITERATIONS;

	random_start(argc > 2 ? argv[2] : NULL);
	printf("%s: %lu mutated messages from seed %llu\n", name, iterations,
	       (unsigned long long)random_state);
	fflush(stdout);
	return mutate_run(iterations, build, parse);
}

#endif
