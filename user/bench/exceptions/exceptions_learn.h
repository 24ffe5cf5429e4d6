/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Path MTUs that the kernel of a router learns as any does, from ICMPv6 messages about packets of
 * its own, and that it forgets; and the wait until sixlane has followed.
 *
 * Functions return 0 or -errno and say on stderr what failed; -EINTR with nothing said.
 */
#ifndef BENCH_EXCEPTIONS_LEARN_H
#define BENCH_EXCEPTIONS_LEARN_H

#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip6.h>

#include "../forward/forward.h"

/* A Packet Too Big about an echo request: the kernel asks no socket whether that was sent. */
struct learn_message {
	struct ethhdr eth;
	struct ip6_hdr ip6;
	struct icmp6_hdr icmp6;
	struct ip6_hdr quoted;
	struct icmp6_hdr echo;
} __attribute__((packed));

struct learner {
	const struct forward_router *router;
	int fd; /* of a packet socket in host b */
	struct learn_message message;
};

int learn_open(const struct forward_router *router, struct learner *out);
void learn_close(struct learner *learner);

/*
 * All of them, none of which there may be before, and how long it took until the last one was in
 * sl_exceptions. -ENOSPC: the kernel does not keep as many.
 */
int learn_all(struct learner *learner, const union sixlane_addr *destinations, size_t n,
	      double *ms);
/* All of them again: by the kernel, and by sixlane after it. */
int learn_forget(struct learner *learner, const union sixlane_addr *destinations, size_t n);

#endif
