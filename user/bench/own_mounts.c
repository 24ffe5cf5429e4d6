// SPDX-License-Identifier: GPL-2.0-only
/* See own_mounts.h. */
#include "own_mounts.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

#include "bench.h"

#define SYSFS "/sys"
#define BPFFS SYSFS "/fs/bpf"

static bool are_open;

/* Once; the mounts that the process was in nobody needs again. */
static int leave_mounts(void)
{
	static bool left;

	if (left)
		return 0;
	/* in a chroot, the kernel does not tell the right one from another mount namespace */
	bench_own_dir();
	if (unshare(CLONE_NEWNS))
		return bench_fail(-errno, "mount namespace");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return bench_fail(-errno, "/ is not a mount point (in a chroot, 'mount --bind DIR "
					  "DIR' before it makes its folder one)");
	/* Where another bpffs was to be used, as by iproute2: it must not be. */
	unsetenv("TC_BPF_MNT");
	left = true;
	return 0;
}

int bench_mounts_open(void)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	int ret = leave_mounts();

	if (ret)
		return ret;
	if (mount("sysfs", SYSFS, "sysfs", flags, NULL))
		return bench_fail(-errno, "mounting sysfs on " SYSFS);
	are_open = true;
	if (!mount("bpf", BPFFS, "bpf", flags, "mode=0700"))
		return 0;
	ret = bench_fail(-errno, "mounting bpf on " BPFFS);
	bench_mounts_close();
	return ret;
}

void bench_mounts_close(void)
{
	/* with what is mounted below */
	if (are_open)
		umount2(SYSFS, MNT_DETACH);
	are_open = false;
}
