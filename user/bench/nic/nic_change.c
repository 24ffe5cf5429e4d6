// SPDX-License-Identifier: GPL-2.0-only
/* See nic_change.h. */
#include "nic_change.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../../cli/ports.h"
#include "../../lib/util.h"
#include "nic_netns.h"

/* --- asking --------------------------------------------------------------------------------- */

struct device {
	uint32_t ifindex;
	char name[IFNAMSIZ];
};

static bool is_of_device(const struct nic_change *change)
{
	switch (change->what) {
	case NIC_BOND:
	case NIC_FILE:
	case NIC_NETNS:
	case NIC_INSIDE:
		return false;
	default:
		return true;
	}
}

/* By its number, whatever it is called by now; without one, by its name. */
static int find_device(const struct nic_change *change, struct device *out)
{
	memcpy(out->name, change->dev, IFNAMSIZ);
	out->ifindex = change->ifindex;
	if (!is_of_device(change))
		return 0;
	if (change->ifindex)
		return if_indextoname(change->ifindex, out->name) ? 0 : -ENODEV;
	out->ifindex = if_nametoindex(out->name);
	return out->ifindex ? 0 : -ENODEV;
}

static int read_link(uint32_t ifindex, struct nic_change *now)
{
	struct ports ports;
	const struct link *link;
	int ret = ports_read(&ports);

	if (ret)
		return ret;
	link = ports_find(&ports, ifindex);
	if (!link)
		ret = -ENODEV;
	else if (now->what == NIC_UP)
		now->up = link->flags & IFF_UP;
	else if (now->what == NIC_MTU)
		now->mtu = link->mtu;
	else if (now->what == NIC_MASTER)
		now->master = link->master;
	else if (now->what == NIC_XDP)
		now->present = link->xdp_prog_id;
	else
		memcpy(now->mac, link->mac, sizeof(now->mac));
	ports_free(&ports);
	return ret;
}

/* A bond's settings are not asked for: it is only made where there is none. */
static int read_bond(struct nic_change *now)
{
	now->present = if_nametoindex(now->dev);
	return 0;
}

static bool same_address(const struct nic_address *a, const struct nic_address *b)
{
	return a->family == b->family && a->len == b->len &&
	       !memcmp(a->addr, b->addr, sizeof(a->addr));
}

static int read_address(uint32_t ifindex, struct nic_change *now)
{
	_cleanup_free_ struct nic_address *list = NULL;
	size_t n = 0;
	int ret = nic_link_addresses(ifindex, &list, &n);

	now->present = false;
	for (size_t i = 0; i < n; i++)
		now->present |= same_address(&list[i], &now->address);
	return ret;
}

static int read_file(struct nic_change *now)
{
	size_t size = sizeof(now->file.text);
	FILE *file = fopen(now->file.path, "re");
	bool failed;

	if (!file)
		return -errno;
	memset(now->file.text, 0, size);
	failed = !fgets(now->file.text, (int)size, file) && ferror(file);
	fclose(file);
	if (failed)
		return -EIO;
	/* a line that does not fit could not be written back */
	if (strlen(now->file.text) == size - 1)
		return -E2BIG;
	now->file.text[strcspn(now->file.text, "\n")] = '\0';
	return 0;
}

static int read_feature(const char *dev, struct nic_change *now)
{
	struct nic_feature feature;
	int ret = ethtool_get_feature(dev, now->feature.name, &feature);

	if (!ret)
		now->feature.on = feature.on;
	return ret == -ENOENT ? -EOPNOTSUPP : ret;
}

/* With the number that it had outside, it is not one that got its name since. */
static int read_netns(struct nic_change *now)
{
	uint32_t had = now->netns.ifindex;
	int ret = nic_netns_find(now->dev, &now->netns.inside, &now->netns.ifindex);

	return !ret && had && !now->netns.inside && now->netns.ifindex != had ? -ENODEV : ret;
}

static int read_inside(struct nic_change *now)
{
	now->netns.inside = nic_netns_is_inside();
	return 0;
}

static int read_kernel(const struct nic_change *change, struct nic_change *now)
{
	struct device device;
	const char *dev = device.name;
	int ret = find_device(change, &device);

	if (ret)
		return ret;
	*now = *change;
	switch (change->what) {
	case NIC_UP:
	case NIC_MTU:
	case NIC_MAC:
	case NIC_MASTER:
	case NIC_XDP:
		return read_link(device.ifindex, now);
	case NIC_BOND:
		return read_bond(now);
	case NIC_ADDRESS:
		return read_address(device.ifindex, now);
	case NIC_CHANNELS:
		return ethtool_get_channels(dev, &now->channels);
	case NIC_RINGS:
		return ethtool_get_rings(dev, &now->rings);
	case NIC_COALESCE:
		return ethtool_get_coalesce(dev, &now->coalesce);
	case NIC_FEATURE:
		return read_feature(dev, now);
	case NIC_FILE:
		return read_file(now);
	case NIC_NETNS:
		return read_netns(now);
	case NIC_INSIDE:
		return read_inside(now);
	}
	return -EINVAL;
}

/* --- making --------------------------------------------------------------------------------- */

static int make_bond(const struct nic_change *change)
{
	if (change->present)
		return nic_link_add_bond(change->dev, &change->bond);
	return nic_link_delete(if_nametoindex(change->dev));
}

/* In one write(), which is what files of /proc and /sys take. */
static int make_file(const struct nic_change *change)
{
	_cleanup_close_ int fd = open(change->file.path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, change->file.text, strlen(change->file.text)) < 0)
		return -errno;
	return 0;
}

static int make_inside(const struct nic_change *change)
{
	return change->netns.inside ? nic_netns_join(change->netns.pid) : nic_netns_leave();
}

static int make_kernel(const struct nic_change *change)
{
	struct device device;
	const char *dev = device.name;
	int ret = find_device(change, &device);

	if (ret)
		return ret;
	switch (change->what) {
	case NIC_UP:
		return nic_link_set_up(device.ifindex, change->up);
	case NIC_MTU:
		return nic_link_set_mtu(device.ifindex, change->mtu);
	case NIC_MAC:
		return nic_link_set_mac(device.ifindex, change->mac);
	case NIC_MASTER:
		return nic_link_set_master(device.ifindex, change->master);
	case NIC_XDP:
		return change->present ? -EINVAL : bpf_xdp_detach((int)device.ifindex, 0, NULL);
	case NIC_BOND:
		return make_bond(change);
	case NIC_ADDRESS:
		return nic_link_set_address(device.ifindex, &change->address, change->present);
	case NIC_CHANNELS:
		return ethtool_set_channels(dev, &change->channels);
	case NIC_RINGS:
		return ethtool_set_rings(dev, &change->rings);
	case NIC_COALESCE:
		return ethtool_set_coalesce(dev, &change->coalesce);
	case NIC_FEATURE:
		return ethtool_set_feature(dev, change->feature.name, change->feature.on);
	case NIC_FILE:
		return make_file(change);
	case NIC_NETNS:
		return nic_netns_move(dev, change->netns.inside, change->netns.ifindex);
	case NIC_INSIDE:
		return make_inside(change);
	}
	return -EINVAL;
}

const struct nic_backend nic_backend_kernel = { .read = read_kernel, .make = make_kernel };

/* --- comparing ------------------------------------------------------------------------------ */

bool nic_change_same(const struct nic_change *a, const struct nic_change *b)
{
	if (a->what != b->what || a->ifindex != b->ifindex || strcmp(a->dev, b->dev) != 0)
		return false;
	switch (a->what) {
	case NIC_UP:
		return a->up == b->up;
	case NIC_MTU:
		return a->mtu == b->mtu;
	case NIC_MAC:
		return !memcmp(a->mac, b->mac, sizeof(a->mac));
	case NIC_MASTER:
		return a->master == b->master;
	case NIC_BOND:
	case NIC_XDP:
		return a->present == b->present;
	case NIC_ADDRESS:
		return a->present == b->present && same_address(&a->address, &b->address);
	case NIC_CHANNELS:
		return !memcmp(&a->channels, &b->channels, sizeof(a->channels));
	case NIC_RINGS:
		return !memcmp(&a->rings, &b->rings, sizeof(a->rings));
	case NIC_COALESCE:
		return !memcmp(&a->coalesce, &b->coalesce, sizeof(a->coalesce));
	case NIC_FEATURE:
		return !strcmp(a->feature.name, b->feature.name) && a->feature.on == b->feature.on;
	case NIC_FILE:
		return !strcmp(a->file.path, b->file.path) && !strcmp(a->file.text, b->file.text);
	case NIC_NETNS:
	case NIC_INSIDE:
		return a->netns.inside == b->netns.inside;
	}
	return false;
}
