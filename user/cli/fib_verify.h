/* SPDX-License-Identifier: GPL-2.0-only */
/* The comparison of the trie with the compiled FIB. */
#ifndef USER_CLI_FIB_VERIFY_H
#define USER_CLI_FIB_VERIFY_H

#include "cmd.h"

/*
 * Compares the two at the edges of every prefix of the trie and at n_random random addresses, and
 * lets a running daemon compare the compiled FIB with its own table. Prints the result. CMD_OK; or
 * CMD_FAILED after logging, and for any difference.
 */
int fib_verify(const struct cmd_options *options, uint32_t n_random, uint32_t seed);

#endif
