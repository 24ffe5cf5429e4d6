/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that a person names for a command to read. "-" is standard input, in every command. */
#ifndef USER_LIB_INPUT_H
#define USER_LIB_INPUT_H

#include <stdbool.h>
#include <stdio.h>

bool input_is_stdin(const char *path);

/* The path, or "standard input": for messages. */
const char *input_name(const char *path);

/* Opens it for reading; close with fclose(). NULL with errno: EISDIR for a directory too. */
FILE *input_open(const char *path);

#endif
