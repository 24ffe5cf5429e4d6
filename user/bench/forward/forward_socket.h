/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames that are too large for a test run, which takes one page for each: sent by packet sockets
 * out of host a's device, past its queueing discipline. They arrive at the router's port as from a
 * wire, where the program under test must be attached.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_FORWARD_SOCKET_H
#define BENCH_FORWARD_SOCKET_H

#include "forward_net.h"
#include "gen.h"

/* One such socket, of a device of the caller's namespace; or -errno with nothing said. */
int forward_socket_open(uint32_t ifindex);

struct forward_sockets;

int forward_sockets_open(const struct forward_net *net, const struct frame *frame,
			 unsigned int threads, struct forward_sockets **out);
/* NULL is nothing. */
void forward_sockets_close(struct forward_sockets *sockets);

/* As gen_run(), to these addresses, GEN_TARGETS of each thread; ingress and limit_ms are of no use
 * here. */
int forward_sockets_run(struct forward_sockets *sockets, const union sixlane_addr *addresses,
			const struct gen_run *run, struct gen_result *results);

#endif
