/* SPDX-License-Identifier: GPL-2.0-only */
/* sixlane exception show. */
#ifndef USER_CLI_EXCEPTION_SHOW_H
#define USER_CLI_EXCEPTION_SHOW_H

#include "exception_state.h"

/* Shows all exceptions, or those of a destination or table. CMD_OK, or CMD_FAILED after logging. */
int exception_show(const struct cmd_options *options, const struct exception *filter);

#endif
