/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One store at a time: while a region of memory is watched, every instruction that writes to it is
 * followed by a call, at which the memory is as a reader on another CPU may find it.
 */
#ifndef UNIT_COMPILED_COMPILED_STEP_H
#define UNIT_COMPILED_COMPILED_STEP_H

#include <stddef.h>

/*
 * The region, of whole pages, is read-only from now on. written() is called within a signal
 * handler, and so must neither fail an assertion nor write to the region.
 */
void compiled_step_begin(void *region, size_t bytes, void (*written)(void *ctx), void *ctx);
/* Returns how many stores there were. */
unsigned long compiled_step_end(void);

#endif
