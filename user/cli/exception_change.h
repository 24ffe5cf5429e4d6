/* SPDX-License-Identifier: GPL-2.0-only */
/* sixlane exception add, replace, delete and flush. */
#ifndef USER_CLI_EXCEPTION_CHANGE_H
#define USER_CLI_EXCEPTION_CHANGE_H

#include "exception_state.h"

/* What follows EXCEPTION_DELETE sets a request. */
enum exception_change { EXCEPTION_FLUSH, EXCEPTION_DELETE, EXCEPTION_ADD, EXCEPTION_REPLACE };

/* Applies a list. For EXCEPTION_FLUSH the first one has the table, 0 for all, and the list becomes
 * what was removed. CMD_OK, or CMD_FAILED after logging. */
int exception_change(const struct cmd_options *options, enum exception_change kind,
		     struct exceptions *list);

#endif
