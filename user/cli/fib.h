/* SPDX-License-Identifier: GPL-2.0-only */
/* The compiled FIB: its state, which engine answers lookups, and its comparison with the trie. */
#ifndef USER_CLI_FIB_H
#define USER_CLI_FIB_H

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

/* Compares trie and compiled FIB at the edges of every prefix of the trie and at n_random random
 * addresses, and lets a running daemon compare the compiled FIB with its own table. Prints the
 * result. CMD_OK; or CMD_FAILED after logging, and for any difference. */
int fib_verify(const struct cmd_options *options, uint32_t n_random, uint32_t seed);

#endif
