/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a packet leaves behind: one counter that rose, the figures of the exception that it hit, on
 * one CPU, and an ICMP event. Only harness.c includes this; what tests ask for is in harness.h.
 */
#ifndef TESTS_BPF_FIGURES_H
#define TESTS_BPF_FIGURES_H

#include <stdbool.h>

#include "setup.h"

/* 0 or -errno. The setup must outlive it. */
int figures_open(const struct setup *setup);
void figures_close(void);

/* Put the world's exceptions in the place of the last one's, and empty the CPUs' buckets. */
void figures_install(const struct world *world);

/* Take note of what is there before a frame, and of what it has changed. */
void figures_begin(void);
void figures_end(const struct frame *in, enum harness_sweep sweep);
/* A packet runs between these calls and the next. */
void figures_miss(void);

/* Whether that is just what is expected; if not, what it is, on stderr. */
bool figures_are(const struct frame *in, const struct expected *expected);
void figures_explain(const struct expected *expected);

#endif
