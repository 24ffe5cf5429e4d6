/* SPDX-License-Identifier: GPL-2.0-only */
/* Input files of commands. The name "-" is standard input, in every command. */
#ifndef USER_LIB_INPUT_H
#define USER_LIB_INPUT_H

#include <stdbool.h>
#include <stdio.h>

bool input_is_stdin(const char *path);

/* For messages: the path, or "standard input". */
const char *input_name(const char *path);

/* For reading; close with fclose(). NULL with errno, which is EISDIR for a directory. */
FILE *input_open(const char *path);

#endif
