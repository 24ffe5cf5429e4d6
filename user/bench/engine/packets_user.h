/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of bench-packets share. */
#ifndef BENCH_ENGINE_PACKETS_USER_H
#define BENCH_ENGINE_PACKETS_USER_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "packets.h"
#include "plan.h"

/* A program's descriptor, by "OBJECT.PROGRAM", or the name of what a device runs. */
int packets_program(const char *name);
/* A map of the object whose name has n bytes. */
struct bpf_map *packets_map(const char *name, size_t n, const char *map);
/* Map the values of an mmapable array. bytes: of all of them. */
void *packets_values(const struct bpf_map *map, size_t *bytes);
/* A device's index. */
unsigned int packets_ifindex(const char *device);
/* Steps of the plan. */
json_t *packets_load_step(json_t *arguments);
json_t *packets_attach_step(json_t *arguments);
json_t *packets_fill_step(json_t *arguments);
json_t *packets_sums_step(json_t *arguments);

#endif
