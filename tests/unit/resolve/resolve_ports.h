/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of ports: the port of a device among others, which are written as text (devices.h). */
#ifndef UNIT_RESOLVE_RESOLVE_PORTS_H
#define UNIT_RESOLVE_RESOLVE_PORTS_H

#include "../../../user/resolve/port.h"
#include "../rib/devices.h"

#define P(name) SIXLANE_PORT_##name

/* A plain NIC that is served, up, and of a router. */
#define SERVED (P(INGRESS) | P(IPV6) | P(FORWARDING) | P(UP) | P(XMIT))

/* The rules that ports_set_rules() compiled. */
extern struct rules_program ports_program;
/* The addresses of all devices; none at first. */
extern struct addrs ports_addrs;

/* The kernel's own rules, or one more in between. */
void ports_set_rules(bool default_ones);

/* Before Linux 6.3 no features are announced; before 5.18 bonds hash differently. */
enum ports_kernel { KERNEL_NEW, KERNEL_WITHOUT_FEATURES, KERNEL_OLD_BONDS };

/* resolve_port() of a router. */
struct sixlane_port ports_port(const struct links *links, uint32_t ifindex,
			       enum ports_kernel kernel);

struct port_row {
	const char *what, *devices;
	uint32_t ifindex, lost, gained; /* flags that differ from SERVED */
	/*
	 * What else is not as of a plain NIC, NULL: nothing. "mtu N lower N tx N iif N table N tags
	 * TAG … slaves HASH TYPE IFINDEX …".
	 */
	const char *rest;
	enum ports_kernel kernel;
};

/* Fails at the first row whose port is another. */
void ports_check(const struct port_row *rows, size_t n);

#endif
