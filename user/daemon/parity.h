/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps are compared with the kernel's answers, for a few forwarded packets a second. A prefix
 * on which they disagree is quarantined: it passes to the kernel.
 */
#ifndef USER_DAEMON_PARITY_H
#define USER_DAEMON_PARITY_H

#include "../netlink/socket.h"
#include "../rib/route.h"

struct parity_state;
struct sixlane_meta;
struct sixlane_sample;
struct sync;

/* Into sync->parity. 0 or -errno. */
int parity_new(struct sync *sync);
void parity_free(struct parity_state *state);
/* Call when parity_due_ns() has come or parity_fd() has input. */
void parity_run(struct sync *sync);
int parity_fd(const struct parity_state *state);
uint64_t parity_due_ns(const struct sync *sync);
void parity_write_meta(const struct sync *sync, struct sixlane_meta *meta);

/* Neighbours that had traffic in the last second: packets of some of them are drawn. */
void parity_reset_neighbours(struct parity_state *state);
void parity_add_neighbour(struct parity_state *state, uint32_t slot);

/*
 * --- parity_kernel.c
 *
 * What the kernel would do with a packet that XDP forwarded. The kernel is asked each time; neither
 * the stores nor the maps count here. Among several next hops any live one is right, since the hash
 * of XDP is not the kernel's.
 */

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
 * understood: whether the kernel has answered a request by a route, without and with a protocol.
 * -EINVAL means a blackhole route, or that the request was not understood: it counts only after
 * such an answer.
 */
enum parity parity_ask(struct sync *sync, bool understood[2], const struct sixlane_sample *sample,
		       struct parity_answer *answer);

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
