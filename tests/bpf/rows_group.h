/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups in rows: FRAME_DST's route leads to NH_GROUP, all of whose members are NH_GATEWAY. */
#ifndef TESTS_BPF_ROWS_GROUP_H
#define TESTS_BPF_ROWS_GROUP_H

#include "rows.h"

#define GROUP TO(NH_GROUP)
#define TWO .routes = { GROUP }, .arrange = rows_group_two

void rows_group_one(struct world *w);
void rows_group_two(struct world *w);

#endif
