// SPDX-License-Identifier: GPL-2.0-only
/* See access.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "access.h"

int maps_update(const struct maps *maps, enum loader_map map, const void *key, const void *value)
{
	return bpf_map_update_elem(maps->fd[map], key, value, BPF_ANY) ? -errno : 0;
}

int maps_erase(const struct maps *maps, enum loader_map map, const void *key)
{
	return bpf_map_delete_elem(maps->fd[map], key) ? -errno : 0;
}

/*
 * The global barrier is synchronize_rcu(). XDP programs run in RCU read-side sections (with
 * softirqs off, which counts as one since Linux 5.0), so afterwards every packet that could have
 * seen an old id has left its program. On one CPU the kernel does nothing, and need not: this
 * process does not run while a program does. -EINVAL with nohz_full: ids are then never used again.
 */
int maps_write_grace(void *ctx)
{
	(void)ctx;
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0;
}
