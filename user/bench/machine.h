/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where something was measured, for every result: figures of one machine say nothing of another.
 */
#ifndef USER_BENCH_MACHINE_H
#define USER_BENCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* What is true of figures from an emulated CPU. */
#define BENCH_EMULATED "emulated: functional only"

struct bench_machine {
	char machine[160]; /* architecture, and vendor and product if the firmware says them */
	char kernel[128];  /* as `uname -r` */
	char cpu[128];	   /* model */
	unsigned int cpus; /* that this process may run on */
	/* What calls and returns of the kernel are made slower by, as it says itself: "Retpolines,
	 * Safe RET". What calls many functions pays for it many times. */
	char mitigations[128];
	bool is_emulated; /* the CPU is a program: its times mean nothing */
};

/* What cannot be found out is empty. */
void bench_machine_read(struct bench_machine *out);
/* In one line of at most BENCH_MACHINE_LEN. */
void bench_machine_text(const struct bench_machine *machine, char *buf, size_t size);
#define BENCH_MACHINE_LEN 768

#endif
