/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices of the maps in cmd_world.h. In the place of cmd.c, which would bring the kernel's
 * maps along: verdicts by their names, slots by their numbers.
 */
#ifndef UNIT_CLI_CMD_STUBS_H
#define UNIT_CLI_CMD_STUBS_H

#include <stdio.h>

#include "../../../user/cli/cmd.h"
#include "cmd_world.h"

static struct link links[] = { { .ifindex = IN, .name = "in0" },
			       { .ifindex = OUT, .name = "out0" },
			       { .ifindex = OTHER, .name = "other0" } };

const char *cmd_verdict_name(uint32_t verdict)
{
	static const char *const names[] = {
#define X(name, action, string, text) string,
		SIXLANE_VERDICTS(X)
#undef X
	};

	return verdict < SIXLANE_N_VERDICTS ? names[verdict] : "unknown";
}

const char *cmd_verdict_text(uint32_t verdict)
{
	return cmd_verdict_name(verdict);
}

const char *cmd_slot_name(const struct cmd_view *view, uint32_t slot, char buf[IFNAMSIZ])
{
	snprintf(buf, IFNAMSIZ, "#%u", slot % 10000);
	return buf;
}

#endif
