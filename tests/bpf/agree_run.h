/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * agree.bpf.c loaded with maps of its own, and routes in both engines. Knows nothing of which
 * routes.
 */
#ifndef TESTS_BPF_AGREE_RUN_H
#define TESTS_BPF_AGREE_RUN_H

#include <bpf/libbpf.h>

#include "agree.h"
#include "tables.h"

enum agree_prog { AGREE_AGREE, AGREE_FOLLOW, AGREE_LINGER, N_AGREE_PROGS };

struct agree {
	struct bpf_object *object;
	int prog_fd[N_AGREE_PROGS];
	int routes_fd;
	struct agree_probe *probes; /* [AGREE_PROBES] */
	struct agree_state *state;
	struct tables tables;
};

/* The object that the next agree_open() loads. */
void agree_set_path(const char *path);

/* Without routes. What fails ends the run. */
void agree_open(struct agree *agree);
void agree_close(struct agree *agree);

/* The routes of agree->tables into sl_routes, which is empty, and compiled. */
void agree_install(struct agree *agree);

/* Write an entry of sl_routes; value 0 deletes it. */
void agree_put(struct agree *agree, uint32_t table, const struct prefix *prefix, uint32_t value);

/* All probes once. */
void agree_sweep(struct agree *agree, enum agree_prog prog);

/* Run a program so often on this CPU. */
void agree_run(struct agree *agree, enum agree_prog prog, uint32_t repeat);

/* SIXLANE_ROUTES, where the machine is a slow one; else otherwise. */
size_t agree_limit(size_t otherwise);

#endif
