// SPDX-License-Identifier: GPL-2.0-only
/* See driver.h. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../lib/ethtool.h"
#include "driver.h"
#include "error.h"
#include "run.h"

#define VLAN_HLEN 4
#define FRAME_EXTRA (ETH_HLEN + 2 * VLAN_HLEN + ETH_FCS_LEN)

/* Receive buffers of igb, in bytes: two of them share two pages. */
#define IGB_BUFFER_OF_SMALL_PAGES 3072
#define IGB_BUFFER 2048

uint32_t loader_driver_max_mtu(const char *driver, size_t page_bytes)
{
	size_t overhead = (size_t)sysconf(_SC_PAGESIZE) - loader_run_linear_bytes();

	if (!strcmp(driver, "igb"))
		return (page_bytes < 8192 ? IGB_BUFFER_OF_SMALL_PAGES : IGB_BUFFER) - FRAME_EXTRA;
	if (!strcmp(driver, "vmxnet3"))
		return (uint32_t)(page_bytes - overhead) - FRAME_EXTRA;
	return 0;
}

/* A smaller MTU may help. */
static bool mtu_matters(int rc, const struct loader_driver *driver, const char *message)
{
	uint32_t max = loader_driver_max_mtu(driver->name, driver->page_bytes);

	if (rc == -ENOMEM)
		return false;
	if (max)
		return driver->mtu > max;
	return driver->mtu > ETH_DATA_LEN &&
	       (!*message || strcasestr(message, "mtu") || strcasestr(message, "frame") ||
		strcasestr(message, "buffer"));
}

bool loader_driver_locks_queues(const char *driver, uint32_t n_pairs, uint32_t n_cpus)
{
	return !strcmp(driver, "virtio_net") && n_pairs && n_pairs <= n_cpus;
}

bool loader_driver_opens_checksums(const char *driver)
{
	static const char *const drivers[] = { "virtio_net", "vif", "hv_netvsc", "vmxnet3" };

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (!strcmp(driver, drivers[i]))
			return true;
	return false;
}

uint32_t loader_cpus(void)
{
	int n = libbpf_num_possible_cpus();

	return n > 0 ? (uint32_t)n : 1;
}

/* The kernel's message for a driver without native XDP, whatever its settings. */
static bool lacks_native(const char *message)
{
	return strstr(message, "does not support XDP in native mode");
}

int loader_driver_attach_error(int rc, const struct loader_driver *driver, const char *message)
{
	if (rc == -EOPNOTSUPP && *message && !lacks_native(message))
		rc = -EINVAL;
	return rc != -EOPNOTSUPP && mtu_matters(rc, driver, message) ? -EMSGSIZE : rc;
}

uint32_t loader_driver_mtu(const char *port)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };

	strncpy(request.ifr_name, port, IFNAMSIZ - 1);
	return fd < 0 || ioctl(fd, SIOCGIFMTU, &request) ? 0 : (uint32_t)request.ifr_mtu;
}

/* Advice about the MTU, to append to a reason; "" if the MTU does not matter. */
static void mtu_hint(int rc, const struct loader_driver *driver, const char *message, char *out,
		     size_t size)
{
	uint32_t max = loader_driver_max_mtu(driver->name, driver->page_bytes);

	*out = '\0';
	if (!mtu_matters(rc, driver, message))
		return;
	if (max)
		snprintf(out, size, "; its MTU is %u, and %s supports native XDP up to MTU %u",
			 driver->mtu, driver->name, max);
	else
		snprintf(out, size, "; its MTU is %u, and a smaller one may work", driver->mtu);
}

void loader_driver_refusal(int rc, const struct loader_driver *driver, const char *message,
			   char *out)
{
	const char *port = driver->port;
	char hint[128], why[256];

	snprintf(why, sizeof(why), "%s", *message ? message : strerror(-rc));
	mtu_hint(rc, driver, message, hint, sizeof(hint));
	if (lacks_native(message))
		snprintf(
			out, LOADER_ERR,
			"%s has no native XDP (%s): 'sixlane attach %s generic' uses the much slower generic mode",
			port, why, port);
	else if (rc == -EOPNOTSUPP)
		snprintf(
			out, LOADER_ERR,
			"%s accepts no native program in its present configuration%s (%s)%s; 'sixlane attach %s generic' uses the much slower generic mode",
			port, *message ? "" : ", or never", why, hint, port);
	else
		snprintf(out, LOADER_ERR, "cannot attach to %s: %s%s%s%s", port, strerror(-rc),
			 *message ? ": " : "", message, hint);
}

int loader_fail_native(int rc, const char *port, char *err)
{
	struct loader_driver driver = { .port = port,
					.mtu = loader_driver_mtu(port),
					.page_bytes = (size_t)sysconf(_SC_PAGESIZE) };

	/* missing rights, or another program: it does not depend on the driver */
	if (rc == -EPERM || rc == -EACCES || rc == -EEXIST)
		return loader_fail_errno(err, rc, "cannot attach to %s", port);
	ethtool_driver(port, driver.name);
	if (err)
		loader_driver_refusal(rc, &driver, libbpf_log_kernel_message(), err);
	return loader_driver_attach_error(rc, &driver, libbpf_log_kernel_message());
}
