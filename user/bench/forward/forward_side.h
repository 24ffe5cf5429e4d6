/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The forwarders that sixlane is measured beside (forward.bpf.c), with the same routes, and the
 * program of a sixlane that runs.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_FORWARD_SIDE_H
#define BENCH_FORWARD_SIDE_H

#include <bpf/libbpf.h>

#include "../bench.h"
#include "forward_config.h"

/* routes_fd: sl_routes. Closed by bpf_object__close(). */
int forward_sides_open(const struct forward_config *config, int routes_fd, struct bpf_object **out);
/* "kernel", "fib" … The program's descriptor, the object's; -ENOENT with nothing said. */
int forward_sides_prog(const struct bpf_object *object, const char *name);
/* What bare and fib have passed to the stack so far. */
int forward_sides_passed(const struct bpf_object *object, uint64_t *out);

/* The program that runs on a device: not another copy of it. For the caller to close. */
int forward_open_attached(uint32_t ifindex);

#endif
