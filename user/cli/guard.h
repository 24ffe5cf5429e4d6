/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the guard passes packets to the kernel: the maps have flags only, so the reasons are read
 * again, by the daemon's code.
 */
#ifndef USER_CLI_GUARD_H
#define USER_CLI_GUARD_H

#include "../guard/guard.h"
#include "cmd.h"

struct cmd_guard {
	struct guard *guard;
	struct links links;
};

/* Without maps nothing is bypassed. 0 or -errno. Close with cmd_guard_close(). */
int cmd_guard_open(const struct cmd_view *view, struct cmd_guard *out);
void cmd_guard_close(struct cmd_guard *guard);

/* Writes the reason for a verdict of the guard into GUARD_REASON_LEN bytes, always. For packets
 * that come in by a port and leave by a device (ifindex; 0: any). src, dst: NULL: any. */
void cmd_guard_reason(const struct cmd_guard *guard, enum sixlane_verdict verdict,
		      const struct sixlane_port *in, uint32_t out, const union sixlane_addr *src,
		      const union sixlane_addr *dst, char *reason);

#endif
