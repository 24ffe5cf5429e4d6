/* SPDX-License-Identifier: GPL-2.0-only */
/* A copy of sl_routes by table, in which a lookup takes no system call. */
#ifndef USER_CLI_FIB_ROUTES_H
#define USER_CLI_FIB_ROUTES_H

#include "../maps/maps.h"
#include "../rib/radix.h"

struct fib_route {
	struct radix_node node;
	uint32_t table, value;
};

struct fib_table {
	uint32_t id;
	struct radix routes;
};

struct fib_routes {
	struct fib_route **at;
	struct fib_table *tables;
	size_t n, n_tables;
};

/* 0 or -errno. Free with fib_routes_free() in either case. */
int fib_routes_read(struct fib_routes *routes, const struct maps *maps);
void fib_routes_free(struct fib_routes *routes);
/* The value of the longest match; 0: no route. */
uint32_t fib_routes_match(const struct fib_routes *routes, uint32_t table,
			  const union sixlane_addr *addr);

#endif
