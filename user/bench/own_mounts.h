/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sysfs and a bpffs of this process alone: sysfs shows the devices of the network namespace in
 * which it was mounted, and pins in the bpffs are nobody else's to find. Others see nothing of
 * either, and the kernel removes both when the process ends, however it does.
 */
#ifndef BENCH_OWN_MOUNTS_H
#define BENCH_OWN_MOUNTS_H

/* For the network namespace that the process is in. Without threads. 0 or -errno, said. */
int bench_mounts_open(void);
/* What was there before is seen again. Nothing, if they are not open. */
void bench_mounts_close(void);

#endif
