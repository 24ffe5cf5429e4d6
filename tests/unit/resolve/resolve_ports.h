/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of ports: devices that are up, with all that is known of
 * them, and the port of one.
 */
#ifndef UNIT_RESOLVE_RESOLVE_PORTS_H
#define UNIT_RESOLVE_RESOLVE_PORTS_H

#include "../unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/lib/util.h"
#include "../../../user/resolve/port.h"

#define NDO_XMIT 4u	/* NETDEV_XDP_ACT_NDO_XMIT */
#define NDO_XMIT_SG 64u /* NETDEV_XDP_ACT_NDO_XMIT_SG */

#define P(name) SIXLANE_PORT_##name

/* A plain NIC that is served, up, and of a router. */
#define SERVED (P(INGRESS) | P(IPV6) | P(FORWARDING) | P(UP) | P(XMIT))
#define TO_VLAN (SERVED | P(TAGGED))

/* As compiled by ports_set_rules(). */
extern struct rules_program ports_program;
/* Of all devices; none at first. */
extern struct addrs ports_addrs;

/* The kernel's own rules, or one more in between. */
void ports_set_rules(bool default_ones);

/* A device that takes redirected frames; change what is returned, until the next one is added. */
struct device *ports_add(struct links *links, uint32_t ifindex, const char *kind);
/* With an 802.1Q tag. */
struct device *ports_add_vlan(struct links *links, uint32_t ifindex, uint32_t lower, uint16_t id);
/* An active one, of MAC aa:aa:aa:aa:aa:aa. */
struct device *ports_add_slave(struct links *links, uint32_t ifindex, uint32_t bond);

/* resolve_port() where the kernel announces features. */
struct sixlane_port ports_port(const struct links *links, uint32_t ifindex);

#endif
