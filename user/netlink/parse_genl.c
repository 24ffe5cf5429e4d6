// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: the controller's reply about a family, and the family "netdev", which reports
 * the XDP features of a driver. linux/netdev.h is as new as Linux 6.3, so its numbers are repeated
 * here.
 */
#include "parse.h"

#include <linux/genetlink.h>

#include "parse_attr.h"

enum netdev_cmd { NETDEV_DEV_GET = 1, NETDEV_DEV_ADDED = 2, NETDEV_DEV_CHANGED = 4 };
enum netdev_attr { NETDEV_DEV_IFINDEX = 1, NETDEV_DEV_XDP_FEATURES = 3 };

static const struct attr_spec netdev_attrs[] = {
	[NETDEV_DEV_IFINDEX] = ATTR_U32,
	[NETDEV_DEV_XDP_FEATURES] = ATTR_U64,
};

static const struct attr_spec family_attrs[] = {
	[CTRL_ATTR_FAMILY_ID] = ATTR_U16,
	[CTRL_ATTR_MCAST_GROUPS] = ATTR_NEST,
};

static const struct attr_spec group_attrs[] = {
	[CTRL_ATTR_MCAST_GRP_NAME] = ATTR_STRING(GENL_NAMSIZ),
	[CTRL_ATTR_MCAST_GRP_ID] = ATTR_U32,
};

int parse_netdev(const struct nlmsghdr *nlh, uint32_t *ifindex, uint64_t *features)
{
	const struct genlmsghdr *genl = attr_header(nlh, sizeof(*genl));
	const struct nlattr *at[ARRAY_SIZE(netdev_attrs)];
	int r;

	if (nlh->nlmsg_type < NLMSG_MIN_TYPE || nlh->nlmsg_type == GENL_ID_CTRL)
		return -ENOMSG;
	if (!genl)
		return -EBADMSG;
	if (genl->cmd != NETDEV_DEV_GET && genl->cmd != NETDEV_DEV_ADDED &&
	    genl->cmd != NETDEV_DEV_CHANGED)
		return -ENOMSG;
	r = attr_walk_message(nlh, sizeof(*genl), SPECS(netdev_attrs), at, NULL);
	if (r < 0)
		return r;
	if (attr_u32(at[NETDEV_DEV_IFINDEX], 0) == 0 || !at[NETDEV_DEV_XDP_FEATURES])
		return -EBADMSG;
	*ifindex = attr_u32(at[NETDEV_DEV_IFINDEX], 0);
	*features = attr_u64(at[NETDEV_DEV_XDP_FEATURES], 0);
	return 0;
}

/* 0 and *id, -ENOMSG if there is no group of that name, or -EBADMSG. */
static int group_find(const struct nlattr *groups, const char *name, uint32_t *id)
{
	const struct nlattr *at[ARRAY_SIZE(group_attrs)], *group;
	struct attr_iterator iterator = attr_iterate(groups);
	int found = -ENOMSG, r;

	while ((r = attr_next(&iterator, &group)) > 0) {
		r = attr_walk_nest(group, SPECS(group_attrs), at);
		if (r < 0)
			return r;
		if (at[CTRL_ATTR_MCAST_GRP_NAME] && at[CTRL_ATTR_MCAST_GRP_ID] &&
		    strcmp(mnl_attr_get_payload(at[CTRL_ATTR_MCAST_GRP_NAME]), name) == 0) {
			*id = attr_u32(at[CTRL_ATTR_MCAST_GRP_ID], 0);
			found = 0;
		}
	}
	return r < 0 ? r : found;
}

int parse_genl_family(const struct nlmsghdr *nlh, const char *group, uint16_t *family_id,
		      uint32_t *group_id)
{
	const struct genlmsghdr *genl = attr_header(nlh, sizeof(*genl));
	const struct nlattr *at[ARRAY_SIZE(family_attrs)];
	uint32_t id;
	int r;

	if (nlh->nlmsg_type != GENL_ID_CTRL)
		return -ENOMSG;
	if (!genl)
		return -EBADMSG;
	if (genl->cmd != CTRL_CMD_NEWFAMILY)
		return -ENOMSG;
	r = attr_walk_message(nlh, sizeof(*genl), SPECS(family_attrs), at, NULL);
	if (r < 0)
		return r;
	if (!at[CTRL_ATTR_FAMILY_ID])
		return -EBADMSG;
	r = group_find(at[CTRL_ATTR_MCAST_GROUPS], group, &id);
	if (r < 0)
		return r;
	*family_id = attr_u16(at[CTRL_ATTR_FAMILY_ID], 0);
	*group_id = id;
	return 0;
}
