// SPDX-License-Identifier: GPL-2.0-only
/*
 * What destinations have of their own. For now nothing is kept: this only lets the tools link.
 */
#include "fib_internal.h"

int fib_adopt_exception(struct fib *fib, const struct sixlane_exception_key *key,
			const struct sixlane_exception *value)
{
	(void)fib;
	(void)key;
	(void)value;
	return 0;
}

int fib_set_exception(struct fib *fib, enum fib_origin origin, uint32_t table,
		      const union sixlane_addr *dst, const struct fib_exception *exception)
{
	(void)fib;
	(void)origin;
	(void)table;
	(void)dst;
	(void)exception;
	return 0;
}

void fib_exceptions_begin(struct fib *fib, enum fib_origin origin)
{
	(void)fib;
	(void)origin;
}

void fib_exceptions_end(struct fib *fib, enum fib_origin origin, bool complete, fib_gone_fn gone,
			void *ctx)
{
	(void)fib;
	(void)origin;
	(void)complete;
	(void)gone;
	(void)ctx;
}

void fib_doubt_exceptions(struct fib *fib, uint32_t table, const struct prefix *dst)
{
	(void)fib;
	(void)table;
	(void)dst;
}

bool fib_exception_in_doubt(struct fib *fib, uint32_t *table, union sixlane_addr *dst)
{
	(void)fib;
	(void)table;
	(void)dst;
	return false;
}

void fib_exceptions_expire(struct fib *fib, uint64_t now_ns, size_t max, uint64_t *next_ns)
{
	(void)fib;
	(void)now_ns;
	(void)max;
	*next_ns = UINT64_MAX;
}

void fib_set_max_exceptions(struct fib *fib, uint32_t max)
{
	(void)fib;
	(void)max;
}
