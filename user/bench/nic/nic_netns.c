// SPDX-License-Identifier: GPL-2.0-only
/* See nic_netns.h. */
#include "nic_netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../bench.h"
#include "../kernel_net.h"
#include "../own_mounts.h"
#include "nic_link.h"

#define NAMED "/run/netns" /* where `ip netns` has them */

static struct {
	int outside, inside; /* -1, -1: there is none inside, and the process is outside */
} netns = { -1, -1 };

/* --- where the process is ------------------------------------------------------------------- */

/* What it may have opened by then. */
static void close_both(void)
{
	util_close(&netns.outside);
	util_close(&netns.inside);
	netns.outside = netns.inside = -1;
}

int nic_netns_make(void)
{
	int ret = bench_net_enter(-1, &netns.outside) ?: bench_mounts_open();

	if (ret)
		return ret;
	netns.inside = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return netns.inside < 0 ? bench_fail(-errno, "network namespace") : 0;
}

static int join(pid_t parent)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)parent);
	netns.inside = open(path, O_RDONLY | O_CLOEXEC);
	if (netns.inside < 0)
		return bench_fail(-errno, "network namespace");
	/* had it ended before, that might have been anybody's */
	if (getppid() != parent)
		return -ESRCH;
	return bench_net_enter(netns.inside, &netns.outside) ?: bench_mounts_open();
}

int nic_netns_join(pid_t parent)
{
	int ret = join(parent);

	if (ret)
		nic_netns_leave();
	return ret;
}

int nic_netns_leave(void)
{
	int ret = netns.outside >= 0 && setns(netns.outside, CLONE_NEWNET) ? -errno : 0;

	if (ret)
		return ret;
	bench_mounts_close();
	close_both();
	return 0;
}

bool nic_netns_is_inside(void)
{
	return netns.outside >= 0;
}

/* --- where devices are ---------------------------------------------------------------------- */

/* For a moment; the process, which is inside, is to be there again. */
static int visit(bool inside)
{
	return setns(inside ? netns.inside : netns.outside, CLONE_NEWNET) ? -errno : 0;
}

int nic_netns_find(const char *dev, bool *inside, uint32_t *ifindex)
{
	int ret;

	*inside = nic_netns_is_inside();
	*ifindex = if_nametoindex(dev);
	if (*ifindex || !nic_netns_is_inside())
		return *ifindex ? 0 : -ENODEV;
	ret = visit(false);
	if (ret)
		return ret;
	*inside = false;
	*ifindex = if_nametoindex(dev);
	ret = visit(true);
	return ret ?: (*ifindex ? 0 : -ENODEV);
}

static int move(const char *dev, int to, uint32_t ifindex)
{
	uint32_t now = if_nametoindex(dev);
	int ret = now ? nic_link_set_netns(now, to, ifindex) : -ENODEV;

	/* somebody else has that number */
	return ret == -EBUSY && ifindex ? nic_link_set_netns(now, to, 0) : ret;
}

int nic_netns_move(const char *dev, bool inside, uint32_t ifindex)
{
	int ret = visit(!inside), back;

	ret = ret ?: move(dev, inside ? netns.inside : netns.outside, ifindex);
	back = visit(true);
	return ret ?: back;
}

/* --- for people ----------------------------------------------------------------------------- */

static bool is_outside(const char *path)
{
	struct stat a, b;

	return !fstat(netns.outside, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static bool find_named(char *out, size_t size)
{
	DIR *dir = opendir(NAMED);
	const struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = (size_t)snprintf(out, size, NAMED "/%s", entry->d_name) < size &&
			is_outside(out);
	if (dir)
		closedir(dir);
	return found;
}

void nic_netns_path(bool inside, char *out, size_t size)
{
	static const char init[] = "/proc/1/ns/net";

	if (inside && nic_netns_is_inside())
		snprintf(out, size, "/proc/%d/ns/net", (int)getpid());
	else if (!inside && is_outside(init))
		snprintf(out, size, "%s", init);
	else if (inside || !find_named(out, size))
		snprintf(out, size, "NETNS");
}
