// SPDX-License-Identifier: GPL-2.0-only
#include "report.h"

#include <errno.h>

#include "daemon.h"

void report_message(struct sync *sync, const char *object, int ret)
{
	uint64_t delay_ns = 0;

	if (!ret || ret == -ENOMSG)
		return;
	if (ret == -EBADMSG) {
		sync->statistics.malformed++;
		log_warning_limited(
			"the kernel sent a malformed %s message; sixlaned ignores it and reads all tables again",
			object);
	}
	/* Nothing may be swept: the object is not in a store, and yet not gone. */
	if (ret == -EBADMSG || ret == -ENOMEM)
		sync->schedule.dump_damaged = true;
	/* Under a busy feed some replayed message never fits; at once would mean without end. */
	if (sync->schedule.replaying || ret == -ENOMEM)
		delay_ns = SCHEDULE_LATER_NS;
	schedule_tables(&sync->schedule, delay_ns);
}

/* Attributes are few: those from 63 on share a bit. */
void report_unknown_attr(struct statistics *statistics, enum report_object object,
			 uint16_t unknown_attr)
{
	static const char *const names[] = {
		[REPORT_ROUTE] = "route",	  [REPORT_NEXT_HOP] = "next hop",
		[REPORT_RULE] = "rule",		  [REPORT_DEVICE] = "device's XDP program",
		[REPORT_NEIGHBOUR] = "neighbour", [REPORT_ADDRESS] = "address",
	};
	uint64_t *reported = &statistics->unknown_reported[object];
	unsigned int attr = unknown_attr - 1u;
	uint64_t bit = 1ull << (attr < 63 ? attr : 63);

	if (!unknown_attr || *reported & bit)
		return;
	*reported |= bit;
	log_warning(
		"a %s has an unsupported attribute (number %u, or one nested in it): packets that depend on it pass to the kernel",
		names[object], attr);
}
