/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to the kernel's rtnetlink, in the network namespace in which they were begun. Functions
 * return 0 or -errno and say nothing.
 */
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

struct bench_request;

/* NULL: see errno. */
struct bench_request *bench_request_new(void);
/* NULL is nothing. */
void bench_request_free(struct bench_request *request);

/* The next message, and that it is complete; many are sent at once, and what is last at once. */
struct nlmsghdr *bench_request_begin(struct bench_request *request, uint16_t type, uint16_t flags);
int bench_request_end(struct bench_request *request, struct nlmsghdr *nlh, bool last);

/* Every device of the namespace up, the loopback among them. */
int bench_request_all_up(struct bench_request *request);

/* Of the machine's own, on a network of 64 bits, and ready at once. */
int bench_request_add_address(struct bench_request *request, uint32_t ifindex,
			      union sixlane_addr addr);
/* A permanent one, also instead of another. */
int bench_request_add_neighbour(struct bench_request *request, uint32_t ifindex,
				union sixlane_addr addr, const uint8_t mac[6]);
int bench_request_delete_neighbour(struct bench_request *request, uint32_t ifindex,
				   union sixlane_addr addr);

/* A file of /proc/sys; of /proc/sys/net that of the caller's network namespace. */
int bench_set_sysctl(const char *path, const char *value);

#endif
