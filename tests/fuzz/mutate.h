/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzzers share: random numbers that a seed repeats, the changes that break parsers, a
 * bounded run for main(), and libFuzzer's entry (clang -fsanitize=fuzzer,address,undefined
 * -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION), which needs no main().
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <string.h>

#include "../../user/lib/util.h"

#define DEFAULT_SEED 20250101
#ifndef MUTATE_ITERATIONS
#define MUTATE_ITERATIONS 1000000
#endif
#define MAX_BYTES 8192

/* The entry of libFuzzer. */
#define FUZZ_ENTRY(parse)                                             \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)  \
	{                                                             \
		(void)parse(data, size);                              \
		return 0;                                             \
	}

/*
 * A message in memory of exactly its size, for AddressSanitizer, to be freed. NULL: it is shorter
 * than a header.
 */
static inline struct nlmsghdr *message_copy(const uint8_t *data, size_t size)
{
	struct nlmsghdr *nlh = NULL;

	if (size < sizeof(*nlh))
		return NULL;
	nlh = malloc(size);
	if (!nlh)
		abort();
	memcpy(nlh, data, size);
	nlh->nlmsg_len = (uint32_t)size;
	return nlh;
}

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

/* Changes of 16 bits at even offsets hit lengths and types, and find more than single bits do. */
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

/* Change it one to four times. */
static inline size_t mutate_often(uint8_t *bytes, size_t size)
{
	for (size_t n = 1 + random_below(4); n > 0; n--)
		size = mutate(bytes, size);
	return size;
}

/*
 * main() of NAME [ITERATIONS [SEED]]; 0 iterations: until stopped. once() runs a mutated input
 * through the parsers, and returns whether one accepted it. Fails if all were accepted, or none:
 * such a mutator tests nothing.
 */
static inline int fuzz_main(const char *name, int argc, char **argv, bool (*once)(void))
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : MUTATE_ITERATIONS;
	unsigned long accepted = 0;

	random_start(argc > 2 ? argv[2] : NULL);
	printf("%s: %lu mutated inputs from seed %llu\n", name, iterations,
	       (unsigned long long)random_state);
	fflush(stdout);
	for (unsigned long i = 0; iterations == 0 || i < iterations; i++)
		accepted += once();
	printf("%lu of them parsed\n", accepted);
	return accepted == 0 || accepted == iterations;
}

/* Its once(): build() writes a message of up to MAX_BYTES, and parse() gets a mutated copy. */
#define FUZZ_ONCE(build, parse)                                  \
	static bool once(void)                                   \
	{                                                        \
		static uint8_t bytes[MAX_BYTES];                 \
		size_t size = mutate_often(bytes, build(bytes)); \
                                                                 \
		return parse(bytes, size) > 0;                   \
	}
/* Both entries of a fuzzer without options; libFuzzer's needs no build(). */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define FUZZ_MAIN(name, build, parse) \
	FUZZ_ENTRY(parse)             \
	size_t (*const fuzz_unused)(uint8_t * bytes) = build;
#else
#define FUZZ_MAIN(name, build, parse)                     \
	FUZZ_ENTRY(parse)                                 \
	FUZZ_ONCE(build, parse)                           \
	int main(int argc, char **argv)                   \
	{                                                 \
		return fuzz_main(name, argc, argv, once); \
	}
#endif

#endif
