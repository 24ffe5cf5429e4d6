// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes through all netlink parsers: the captured messages, mutated.
 *
 *   fuzz_parse [ITERATIONS [SEED]]    0 iterations: run until stopped
 *   fuzz_parse -w DIRECTORY           write the captured messages there, a corpus for libFuzzer
 */
#include "../unit/netlink/messages.h"
#define MUTATE_ITERATIONS 3000000
#include "mutate.h"

/* The number of parsers that accepted it. */
static int parse(const uint8_t *data, size_t size)
{
	static struct parsed parsed;
	int accepted = parse_all(data, size, &parsed);

	if (accepted < 0)
		abort();
	return accepted;
}

FUZZ_ENTRY(parse)

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

static size_t build(uint8_t *bytes)
{
	size_t n;
	const struct capture *all = captures(&n), *one = &all[random_below(n)];

	memcpy(bytes, one->bytes, one->size);
	return one->size;
}

static int corpus_write(const char *directory)
{
	size_t n;
	const struct capture *all = captures(&n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_fclose_ FILE *file = NULL;
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", directory, all[i].name);
		file = fopen(path, "wb");
		if (!file || fwrite(all[i].bytes, 1, all[i].size, file) != all[i].size) {
			fprintf(stderr, "fuzz_parse: cannot write %s\n", path);
			return 1;
		}
	}
	return 0;
}

FUZZ_ONCE(build, parse)

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "-w") == 0)
		return corpus_write(argv[2]);
	return fuzz_main("fuzz_parse", argc, argv, once);
}

#endif
