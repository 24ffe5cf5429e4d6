/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel would do with a packet that XDP forwarded. The kernel is asked each time; neither
 * the stores nor the maps count here. Among several next hops any live one is right, since the hash
 * of XDP is not the kernel's.
 */
#ifndef USER_DAEMON_PARITY_KERNEL_H
#define USER_DAEMON_PARITY_KERNEL_H

#include "../netlink/socket.h"
#include "../rib/nexthops.h"

enum parity {
	PARITY_SAME,
	PARITY_DIFFERS,
	PARITY_UNKNOWN, /* they cannot be compared */
};

/* What the kernel would do with the packet. */
struct parity_answer {
	int error;	   /* -errno of a packet that it does not forward; 0: by type and hop */
	uint8_t type;	   /* RTN_* */
	bool by_exception; /* it learned an exception of the destination */
	bool has_hop;
	struct route_hop hop;
};

/*
 * Whether the kernel has answered a request by a route, without and with a protocol. -EINVAL means
 * a blackhole route, or that the request was not understood: it counts only after such an answer.
 */
struct parity_kernel {
	bool understood[2];
};

struct sync;
enum parity parity_ask(struct sync *sync, struct parity_kernel *kernel,
		       const struct sixlane_sample *sample, struct parity_answer *answer);

/* Whether the packet went to this hop. */
bool parity_is_hop(const struct sixlane_sample *sample, const struct route_hop *hop);
/* The kernel's hop for the flow, RTM_NEWROUTE without RTM_F_FIB_MATCH. */
enum parity parity_of_choice(const struct sixlane_sample *sample, const struct nlmsghdr *nlh,
			     struct parity_answer *answer);
/* Whether the packet went to any live hop of the whole route. PARITY_UNKNOWN: by an object. */
enum parity parity_of_route(const struct sixlane_sample *sample, const struct nlmsghdr *nlh);
/* error: the -errno that the kernel answered. */
enum parity parity_of_error(int error, bool understood);

#endif
