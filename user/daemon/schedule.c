// SPDX-License-Identifier: GPL-2.0-only
#include "schedule.h"

#include "../lib/util.h"

void schedule_tables(struct schedule *schedule, uint64_t delay_ns)
{
	uint64_t next_ns = util_now_ns() + delay_ns;

	if (!(schedule->wanted & SCHEDULE_TABLES) || next_ns < schedule->next_sync_ns)
		schedule->next_sync_ns = next_ns;
	schedule->wanted |= SCHEDULE_TABLES;
}
