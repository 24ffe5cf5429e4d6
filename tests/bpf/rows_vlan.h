/* SPDX-License-Identifier: GPL-2.0-only */
/* How rows write tags. */
#ifndef TESTS_BPF_ROWS_VLAN_H
#define TESTS_BPF_ROWS_VLAN_H

#include <stdbool.h>

#include "rows.h"

#define Q(vid) (0x81000000u | (vid))  /* 802.1Q */
#define AD(vid) (0x88a80000u | (vid)) /* 802.1ad */
#define OUT_OF(dev) TO(NH_VIA(NEIGH_##dev))

#endif
