/* SPDX-License-Identifier: GPL-2.0-only */
/* The routes that change in churn.c, which changes there are, and the addresses that are asked. */
#ifndef TESTS_BPF_CHURN_H
#define TESTS_BPF_CHURN_H

#include "agree_run.h"

struct churn_change {
	uint32_t table;
	struct prefix prefix;
	uint32_t value; /* 0: goes */
};

/* What there is at first. */
void churn_routes(struct tables *tables);
/* Addresses under what is stable and under what changes, in order. */
void churn_probes(struct agree_probe probes[AGREE_PROBES]);
int churn_compare_probes(const void *a, const void *b);
/* The next change of these routes, which is not made yet. */
void churn_choose(struct tables *tables, struct churn_change *change);

#endif
