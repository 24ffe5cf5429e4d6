/* SPDX-License-Identifier: GPL-2.0-only */
/* A world with a group of many members, and who of them gets a packet. */
#ifndef TESTS_BPF_GROUPS_H
#define TESTS_BPF_GROUPS_H

#include "harness.h"

#define GROUP_NOBODY (-1)

/* A default route to NH_GROUP, of all members with one bucket each. */
void group_make_world(struct world *world);

/* The member whom a frame by DEV_IN is sent to, GROUP_NOBODY if it is passed. */
int group_member_of(enum harness_prog prog, const struct frame *in);

#endif
