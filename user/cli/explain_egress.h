/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of an explained packet from its next hop to the verdict. */
#ifndef USER_CLI_EXPLAIN_EGRESS_H
#define USER_CLI_EXPLAIN_EGRESS_H

#include "explain_steps.h"

/* Adds the steps exception, egress, guard, neighbour, mtu and slave. */
void explain_add_egress(struct explain *explain);
/* Sets guard_reason and adds the steps guard reason, program, trace, answer, output and verdict. */
void explain_add_verdict(struct explain *explain);

#endif
