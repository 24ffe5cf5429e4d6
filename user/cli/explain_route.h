/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of an explained packet up to the member of the group that it takes. */
#ifndef USER_CLI_EXPLAIN_ROUTE_H
#define USER_CLI_EXPLAIN_ROUTE_H

#include "explain_steps.h"

/* Adds the steps packet, maps, port, mac and decided. */
void explain_add_ingress(struct explain *explain);
/* Adds the steps rules, table, prefix, source, route, group, bucket and member. */
void explain_add_route(struct explain *explain);

#endif
