/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A list of IPv6 prefixes from a text file, and random addresses inside. Shared by the
 * generator and the measurement of route changes; knows neither.
 */
#ifndef BENCH_PREFIXES_H
#define BENCH_PREFIXES_H

#include <stddef.h>
#include <stdint.h>

struct prefix {
	uint8_t addr[16];
	uint8_t len;
};

struct prefixes {
	struct prefix *list;
	size_t n;
};

/* One "ADDRESS/LENGTH" a line. 0, -EINVAL for a line that is not, -ENODATA for none, -errno. */
int prefixes_read(const char *path, struct prefixes *out);
void prefixes_free(struct prefixes *prefixes);

/* The next number of a sequence that the seed determines (SplitMix64). */
uint64_t prefixes_random(uint64_t *seed);

/* Random bits under a random prefix. */
void prefixes_random_address(const struct prefixes *prefixes, uint64_t *seed, uint8_t addr[16]);

#endif
