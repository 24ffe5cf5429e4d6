// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes to the maps through the writer. Other files of fib/ call the writer directly only where a
 * write is more than a key and a value.
 */
#include <errno.h>

#include "desired.h"

/*
 * Linux 6.18 refills the allocators of tries and hashes in the background, so there may be memory
 * a moment later.
 */
#define ENOMEM_TRIES 4

int fib_write_set(struct fib *fib, enum fib_map map, const void *key, const void *value)
{
	int err = -ENOMEM;

	for (int i = 0; i < ENOMEM_TRIES && err == -ENOMEM; i++) {
		err = fib->writer.set(fib->writer.ctx, map, key, value);
		fib->writes += map == FIB_MAP_ROUTES;
		fib->write_errors += err != 0;
	}
	fib->unswept |= err && map != FIB_MAP_ROUTES;
	return err;
}

int fib_write_del(struct fib *fib, enum fib_map map, const void *key)
{
	int err = fib->writer.del(fib->writer.ctx, map, key);

	fib->writes += map == FIB_MAP_ROUTES;
	if (!err || err == -ENOENT)
		return 0;
	fib->write_errors++;
	fib->unswept |= map != FIB_MAP_ROUTES;
	return err;
}

void fib_write_store(struct fib *fib, enum fib_map map, uint32_t index, const void *value)
{
	fib->writer.store(fib->writer.ctx, map, index, value);
}

void fib_write_word(struct fib *fib, enum fib_map map, uint32_t index, uint64_t word)
{
	fib->writer.store_word(fib->writer.ctx, map, index, word);
}

void fib_write_bucket(struct fib *fib, uint32_t index, union sixlane_nh_bucket bucket)
{
	fib_write_word(fib, FIB_MAP_BUCKETS, index, bucket.word);
	fib->written_buckets[index] = bucket;
}
