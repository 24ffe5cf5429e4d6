/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RIB of one destination, step by step as a kernel announces or dumps its routes.
 *
 * A state reads "50 a1*2 b2; 60 -1 mtu 1300": metric, then hops, each a gateway (its last digit;
 * "-": none), a device and a weight other than 1, then what else there is; routes in the order of
 * fib6.
 */
#ifndef UNIT_RIB_STEPS_H
#define UNIT_RIB_STEPS_H

#include "rib_unit.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "../../../user/rib/rib.h"

/* What the kernel puts into nlmsg_flags of announcements. */
#define CREATE (NLM_F_CREATE | NLM_F_EXCL)
#define MORE NLM_F_CREATE
#define APPEND (NLM_F_CREATE | NLM_F_APPEND)
#define REPLACE NLM_F_REPLACE
#define DUMP 0
#define DEL 0x8000   /* RTM_DELROUTE */
#define MARK 0x8001  /* rib_mark(); a step without a route */
#define SWEEP 0x8002 /* rib_sweep() */
#define MARKED                                   \
	{                                        \
		.request = "mark", .flags = MARK \
	}
#define SWEPT(then)                                               \
	{                                                         \
		.request = "sweep", .flags = SWEEP, .after = then \
	}

#define VIA(gw, dev)                                                                   \
	{                                                                              \
		.gateway.bytes = { 0xfd, [15] = (gw) }, .ifindex = (dev), .weight = 1, \
		.has_gateway = true                                                    \
	}
#define DEV(dev)                              \
	{                                     \
		.ifindex = (dev), .weight = 1 \
	}

struct step {
	const char *request; /* for the reader */
	uint16_t flags;
	int rc;
	const char *after; /* the state; NULL: as before, and nothing was reported */
	uint32_t metric, nhid, mtu, ends_ms;
	uint8_t type, protocol, src_len, preference;
	bool expires, encap, unknown, mtu_locked, own_source, unlike, truncated;
	const char *hops; /* as in a state: "a1 -2" */
};

struct steps_world {
	struct rib *rib;
	struct prefix dst;
	unsigned int changes;
};

/* An empty RIB; rib_free() the rib. */
void steps_open(struct steps_world *world);
/* The destination has these routes. request: for the reader. */
void steps_state(const struct steps_world *world, const char *request, const char *expected);
/* The route that a step is about, with the step's hops. */
struct route steps_route(const struct steps_world *world, const struct step *step);
/* Returns what rib_add() or rib_del() does. */
int steps_apply(struct steps_world *world, const struct step *step);
/* Each step with what it returns and leads to. Outside of mark and sweep each message comes twice.
 */
void steps_play(struct steps_world *world, const struct step *steps, size_t n);

#define SCRIPT(name, ...)                                           \
	static void name(void **state)                              \
	{                                                           \
		static const struct step steps[] = { __VA_ARGS__ }; \
		struct steps_world world;                           \
                                                                    \
		(void)state;                                        \
		steps_open(&world);                                 \
		steps_play(&world, steps, ARRAY_SIZE(steps));       \
		rib_free(world.rib);                                \
	}

#endif
