/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a device may be measured. Measuring takes a device over: its queues are set anew, the
 * line is flooded, and what else it is there for does not work meanwhile. So one that does
 * something for this machine is refused, with what to do about it. Facts are gathered, then judged
 * (pure), then said; nothing is changed but, at the very end, an XDP program that is put on each
 * device and taken off again, which the kernel does by itself should this process be killed.
 */
#ifndef USER_BENCH_NIC_CHECK_H
#define USER_BENCH_NIC_CHECK_H

#include "../../loader/loader.h"
#include "nic_login.h"
#include "nic_plan.h"

struct nic_check_want {
	unsigned int queues; /* that each device is to have; 0: any number */
	bool enslave;	     /* they become slaves of a bond, and lose their routes by that */
	bool isolate;	     /* they are moved into a network namespace, and lose qdiscs as well */
	bool force;	     /* measure although the device has addresses or routes */
	bool force_login;    /* and although this login comes by it */
};

struct nic_facts {
	struct nic_state state;
	bool is_ethernet, has_carrier;
	char master[IFNAMSIZ]; /* what it is a slave of, */
	char upper[IFNAMSIZ];  /* and a device that is on it; "": none */
	struct loader_prog prog;
	char address[64], route[64]; /* one of them, for people; "": none. No link-local addresses,
				      * no routes of the kernel's own */
	size_t n_addresses, n_routes;
	bool has_default_route;
	size_t n_neighbours; /* that somebody gave (NUD_PERMANENT) */
	char filter[16];     /* "clsact" or "ingress": tc programs or filters see what comes in */
	char queueing[16];   /* a root qdisc that somebody chose; "": none */
	char login[64];	     /* the peer of a login that comes by it; "": none */
};

/* 0 or -errno; -ENODEV. logins: nic_login_find(). */
int nic_facts_read(const struct ports *ports, const char *dev, const struct nic_login *logins,
		   size_t n_logins, struct nic_facts *out);

#define NIC_MAX_PROBLEMS 16
struct nic_problem {
	int error; /* 0: a warning */
	char text[384];
};
/* Pure. How many there are. */
size_t nic_judge(const struct nic_facts *facts, const struct nic_check_want *want,
		 struct nic_problem out[NIC_MAX_PROBLEMS]);

/*
 * Put an XDP program on a device in native mode and take it off. is_ready: it has the queues and
 * the MTU with which it is to be measured; until then only what these do not change is an error. 0
 * or -errno, said.
 */
int nic_try_xdp(const char *dev, bool is_ready);

/* All of the above for each device. 0, or -errno when all that is wrong has been said. */
int nic_check(const char *const *devs, size_t n, const struct nic_check_want *want);

#endif
