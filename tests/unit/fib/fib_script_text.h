/* SPDX-License-Identifier: GPL-2.0-only */
/* The words and targets of scripts: see fib_script.h for their syntax. */
#ifndef TEST_FIB_SCRIPT_TEXT_H
#define TEST_FIB_SCRIPT_TEXT_H

#include "fib_world.h"

/* Of the name of a verdict; NULL: text is none. */
const uint32_t *script_verdict(const char *text);
/* Take the next word, or number, from a text. NULL: there is no word. */
char *script_word(char **text);
uint32_t script_number(char **text);
/* These change text. Their results are valid until script_reset(). */
struct fib_target script_target(char *text);
/* The object that has these hops and buckets; NULL: text is "none". */
const struct fib_object *script_object(char *text, struct fib_object *object);
void script_reset(void);

#endif
