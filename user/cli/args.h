/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines as iproute2 has them: abbreviated commands, and options with one dash or two before
 * or after the command. Pure.
 */
#ifndef USER_CLI_ARGS_H
#define USER_CLI_ARGS_H

#include "cmd.h"

/* Finds the commands whose names begin with word; an exact name is the only match. Returns how many
 * there are and sets found[], which has room for n. */
size_t args_match(const struct cmd *const *cmds, size_t n, const char *word,
		  const struct cmd **found);

/* Removes the common options from argv, wherever they stand before "--"; the other words keep their
 * order. Returns how many are left. Sets help and version if they are among the options. */
int args_parse_options(int argc, char **argv, struct cmd_options *options, bool *help,
		       bool *version);

/* A routing table as `ip` takes it: "main", "local", "default" or its number. True on success. */
bool args_parse_table(const char *word, uint32_t *table);
/* A decimal number from 0 to max. True on success. */
bool args_parse_number(const char *word, uint32_t max, uint32_t *number);

#endif
