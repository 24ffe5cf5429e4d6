/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF links. A program that a link holds can neither be replaced nor detached by netlink, so `ip
 * link set … xdp off` fails.
 */
#ifndef USER_LOADER_LINK_H
#define USER_LOADER_LINK_H

#include <stdint.h>

struct loader_prog;

#define LOADER_LINK_UNKNOWN UINT32_MAX /* a link holds it, but which one cannot be seen */

/* The id of the link that holds a port's program. 0: none does. */
uint32_t loader_query_link(uint32_t ifindex, const struct loader_prog *prog);

/* What to do about such a link. Returns buf. */
#define LOADER_LINK_ADVICE 128
const char *loader_link_advice(uint32_t link_id, char buf[LOADER_LINK_ADVICE]);

#endif
