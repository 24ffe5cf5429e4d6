// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes through all netlink parsers. With libFuzzer (clang -fsanitize=fuzzer,address,undefined
 * -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION) the entry below is all there is; otherwise
 * main() makes a bounded run: the captured messages, mutated, from a seed that it prints.
 *
 *   fuzz_parse [ITERATIONS [SEED]]    0 iterations: run until stopped
 *   fuzz_parse -w DIRECTORY           write the captured messages there, a corpus for libFuzzer
 */
#include "../unit/netlink/netlink_messages.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (parse_all(data, size) < 0)
		abort();
	return 0;
}

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#define DEFAULT_ITERATIONS 3000000

static int run(unsigned long iterations)
{
	static uint8_t bytes[MAX_BYTES];
	size_t seeds[ARRAY_SIZE(netlink_captures)];
	uint8_t *originals[ARRAY_SIZE(netlink_captures)];
	unsigned long taken = 0;

	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++)
		originals[i] = capture_bytes(&netlink_captures[i], &seeds[i]);
	for (unsigned long i = 0; iterations == 0 || i < iterations; i++) {
		size_t which = random_below(ARRAY_SIZE(netlink_captures)), size = seeds[which];
		int r;

		memcpy(bytes, originals[which], size);
		size = mutate_often(bytes, size);
		r = parse_all(bytes, size);
		if (r < 0) {
			fprintf(stderr, "fuzz_parse: contract broken in iteration %lu\n", i);
			return 1;
		}
		taken += r > 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++)
		free(originals[i]);
	printf("%lu of them parsed\n", taken);
	/* A mutator that spoils everything, or nothing, tests nothing. */
	return taken == 0 || taken == iterations;
}

static int corpus_write(const char *directory)
{
	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++) {
		_cleanup_fclose_ FILE *file = NULL;
		_cleanup_free_ uint8_t *bytes = NULL;
		char path[4096];
		size_t size;

		bytes = capture_bytes(&netlink_captures[i], &size);
		snprintf(path, sizeof(path), "%s/%s", directory, netlink_captures[i].name);
		file = fopen(path, "wb");
		if (!file || fwrite(bytes, 1, size, file) != size) {
			fprintf(stderr, "fuzz_parse: cannot write %s\n", path);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_ITERATIONS;

	if (argc == 3 && strcmp(argv[1], "-w") == 0)
		return corpus_write(argv[2]);
	random_start(argc > 2 ? argv[2] : NULL);
	printf("fuzz_parse: %lu mutated messages from seed %llu\n", iterations,
	       (unsigned long long)random_state);
	fflush(stdout);
	return run(iterations);
}

#endif
