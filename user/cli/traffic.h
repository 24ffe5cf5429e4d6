/* SPDX-License-Identifier: GPL-2.0-only */
/* Shares of the traffic by verdict, and what each verdict means for `sixlane doctor`. */
#ifndef USER_CLI_TRAFFIC_H
#define USER_CLI_TRAFFIC_H

#include "check.h"

struct traffic {
	uint64_t packets[SIXLANE_N_VERDICTS]; /* since the maps were made */
};

/* Counts the packets of the ports of the filter. 0 or -errno. */
int traffic_read(const struct checkup *checkup, struct traffic *traffic);
/* A verdict's share of the IPv6 packets in percent; 0 without packets. */
double traffic_share(const struct traffic *traffic, uint32_t verdict);
/* Whether the share is large enough to report. */
bool traffic_is_notable(const struct traffic *traffic, uint32_t verdict);

struct traffic_verdict {
	enum finding_severity severity; /* of a notable share */
	const char *advice;		/* NULL: none */
};
const struct traffic_verdict *traffic_verdict(uint32_t verdict);

#endif
