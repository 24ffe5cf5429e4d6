/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How rows write what becomes of a packet over an MTU: of a locked exception of 1400, which is the
 * kernel's or the operator's.
 */
#ifndef TESTS_BPF_ROWS_ANSWER_H
#define TESTS_BPF_ROWS_ANSWER_H

#include "rows_exception.h"

#define OVER SIZE(1401)
#define KERNELS(name_) .name = name_ ", the kernel's", HIT(LOCKED(1400))
#define OPERATORS(name_) .name = name_ ", the operator's", HIT(OPERATOR(1400))

/* Two rows. The kernel would answer it just so … */
#define FINE_BY(name_, neighbour, ...)                                      \
	{ KERNELS(name_), __VA_ARGS__, ANSWERED_BY(neighbour, 1400) },      \
	{                                                                   \
		OPERATORS(name_), __VA_ARGS__, ANSWERED_BY(neighbour, 1400) \
	}
#define FINE(name_, ...) FINE_BY(name_, NEIGH_IN, .routes = { TO(NH_GATEWAY), BACK }, __VA_ARGS__)
/* … or perhaps otherwise, … */
#define UNSURE(name_, ...)                                             \
	{ KERNELS(name_), OVER, __VA_ARGS__, PASSED },                 \
	{                                                              \
		OPERATORS(name_), OVER, __VA_ARGS__, TURNED_BACK(1400) \
	}
/* … or perhaps not at all. */
#define NEVER(name_, ...)                                    \
	{ KERNELS(name_), OVER, __VA_ARGS__, PASSED },       \
	{                                                    \
		OPERATORS(name_), OVER, __VA_ARGS__, DROPPED \
	}
#define NOT_ABOUT(name_, ...) NEVER(name_, .routes = { TO(NH_GATEWAY), BACK }, __VA_ARGS__)

/* The way back, which is the second route, has exceptions of its own. */
void rows_back_marked(struct world *w);

#endif
