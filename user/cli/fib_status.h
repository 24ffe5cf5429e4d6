/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of the compiled FIB, and which engine answers lookups: it or the trie. */
#ifndef USER_CLI_FIB_STATUS_H
#define USER_CLI_FIB_STATUS_H

#include "print.h"

/* Why there is no compiled FIB; NULL: there is one. daemon: it runs. */
const char *fib_why_absent(const struct maps *maps, bool daemon);
/* Why the compiled FIB is configured and does not answer; NULL otherwise. */
const char *fib_why_inactive(const struct maps *maps, bool daemon);

/* As `sixlane fib show` prints it. fib_text(): CMD_OK, or CMD_FAILED after logging. */
json_t *fib_json(const struct maps *maps, bool daemon);
int fib_text(const struct maps *maps, bool daemon);
/* The line of `sixlane status`, and with -s a second one. */
void fib_status_text(const struct cmd_options *options, const struct maps *maps, bool daemon);

#endif
