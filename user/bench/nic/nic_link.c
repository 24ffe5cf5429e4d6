// SPDX-License-Identifier: GPL-2.0-only
/* See nic_link.h. */
#include "nic_link.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../../netlink/parse_attr.h"
#include "../../netlink/socket.h"

#define REQUEST_BYTES 512
#define TIMEOUT_MS 30000 /* a driver may take its time to bring a link up or to set an MTU */

static int send_request(struct nlmsghdr *nlh)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;

	return nl_socket_new(NETLINK_ROUTE, 0, &socket)
		       ?: nl_socket_request(socket, nlh, NULL, NULL, TIMEOUT_MS);
}

static struct nlmsghdr *begin(char *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh;

	memset(buf, 0, REQUEST_BYTES);
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	return nlh;
}

static struct nlmsghdr *begin_link(char *buf, uint32_t ifindex)
{
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, 0);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	return nlh;
}

/* --- devices -------------------------------------------------------------------------------- */

int nic_link_set_up(uint32_t ifindex, bool up)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin_link(buf, ifindex);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_change = IFF_UP;
	ifi->ifi_flags = up ? IFF_UP : 0;
	return send_request(nlh);
}

int nic_link_set_mtu(uint32_t ifindex, uint32_t mtu)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin_link(buf, ifindex);

	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	return send_request(nlh);
}

int nic_link_set_mac(uint32_t ifindex, const uint8_t mac[6])
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin_link(buf, ifindex);

	mnl_attr_put(nlh, IFLA_ADDRESS, 6, mac);
	return send_request(nlh);
}

int nic_link_set_master(uint32_t ifindex, uint32_t master)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin_link(buf, ifindex);

	mnl_attr_put_u32(nlh, IFLA_MASTER, master);
	return send_request(nlh);
}

int nic_link_set_netns(uint32_t ifindex, int netns, uint32_t new_ifindex)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin_link(buf, ifindex);

	mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)netns);
	if (new_ifindex)
		mnl_attr_put_u32(nlh, IFLA_NEW_IFINDEX, new_ifindex);
	return send_request(nlh);
}

int nic_link_add_bond(const char *name, const struct nic_bond *bond)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info, *data;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "bond");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u8(nlh, IFLA_BOND_MODE, bond->mode);
	mnl_attr_put_u8(nlh, IFLA_BOND_XMIT_HASH_POLICY, bond->policy);
	mnl_attr_put_u32(nlh, IFLA_BOND_MIIMON, bond->miimon_ms);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return send_request(nlh);
}

int nic_link_delete(uint32_t ifindex)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin_link(buf, ifindex);

	nlh->nlmsg_type = RTM_DELLINK;
	return send_request(nlh);
}

/* --- addresses ------------------------------------------------------------------------------ */

static const struct attr_spec address_attrs[] = {
	[IFA_ADDRESS] = ATTR_ANY,
	[IFA_LOCAL] = ATTR_ANY,
	[IFA_FLAGS] = ATTR_U32,
	[IFA_CACHEINFO] = ATTR_MIN(sizeof(struct ifa_cacheinfo)),
};

struct address_list {
	uint32_t ifindex;
	struct nic_address *at;
	size_t n;
};

static size_t family_bytes(uint8_t family)
{
	return family == AF_INET6 ? 16 : 4;
}

static int read_address(const struct ifaddrmsg *ifa, const struct nlattr **at,
			struct nic_address *out)
{
	const struct nlattr *peer = at[IFA_ADDRESS], *own = at[IFA_LOCAL] ?: at[IFA_ADDRESS];
	size_t size = family_bytes(ifa->ifa_family);
	struct ifa_cacheinfo lifetime = { .ifa_valid = UINT32_MAX, .ifa_prefered = UINT32_MAX };

	peer = peer ?: own;
	if (!own || mnl_attr_get_payload_len(own) != size || mnl_attr_get_payload_len(peer) != size)
		return -EBADMSG;
	if (at[IFA_CACHEINFO])
		attr_copy(&lifetime, at[IFA_CACHEINFO], sizeof(lifetime));
	*out = (struct nic_address){
		.family = ifa->ifa_family,
		.len = ifa->ifa_prefixlen,
		.scope = ifa->ifa_scope,
		.flags = attr_u32(at[IFA_FLAGS], ifa->ifa_flags),
		.valid_s = lifetime.ifa_valid,
		.preferred_s = lifetime.ifa_prefered,
	};
	attr_copy(out->addr, own, size);
	attr_copy(out->peer, peer, size);
	return 0;
}

static int take_address(const struct nlmsghdr *nlh, void *ctx)
{
	const struct ifaddrmsg *ifa = attr_header(nlh, sizeof(*ifa));
	const struct nlattr *at[ARRAY_SIZE(address_attrs)];
	struct address_list *list = ctx;
	struct nic_address *grown, address;
	int ret;

	if (!ifa)
		return -EBADMSG;
	if (ifa->ifa_index != list->ifindex ||
	    (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6))
		return 0;
	ret = attr_walk_message(nlh, sizeof(*ifa), address_attrs, ARRAY_SIZE(address_attrs), at,
				NULL)
		      ?: read_address(ifa, at, &address);
	if (ret)
		return ret;
	grown = reallocarray(list->at, list->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->at = grown;
	list->at[list->n++] = address;
	return 0;
}

int nic_link_addresses(uint32_t ifindex, struct nic_address **out, size_t *n)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct address_list list = { .ifindex = ifindex };
	struct nlmsghdr *nlh = begin(buf, RTM_GETADDR, 0);
	int ret;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifaddrmsg));
	ret = nl_socket_new(NETLINK_ROUTE, 0, &socket)
		      ?: nl_socket_dump(socket, nlh, take_address, &list, NULL, NULL, TIMEOUT_MS,
					NULL);
	if (ret) {
		free(list.at);
		return ret;
	}
	*out = list.at;
	*n = list.n;
	return 0;
}

/* What the kernel made of it, such as tentative, it makes of it again. */
#define SETTABLE_FLAGS \
	(IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE | IFA_F_HOMEADDRESS | IFA_F_MCAUTOJOIN)

int nic_link_set_address(uint32_t ifindex, const struct nic_address *address, bool present)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin(buf, present ? RTM_NEWADDR : RTM_DELADDR,
				     present ? NLM_F_CREATE | NLM_F_REPLACE : 0);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));
	const struct ifa_cacheinfo lifetime = { .ifa_valid = address->valid_s,
						.ifa_prefered = address->preferred_s };
	/* it was looked for others that have it before */
	uint32_t flags = address->flags & SETTABLE_FLAGS;

	if (address->family == AF_INET6)
		flags |= IFA_F_NODAD;
	*ifa = (struct ifaddrmsg){
		.ifa_family = address->family,
		.ifa_prefixlen = address->len,
		.ifa_scope = address->scope,
		.ifa_index = ifindex,
	};
	mnl_attr_put(nlh, IFA_LOCAL, family_bytes(address->family), address->addr);
	mnl_attr_put(nlh, IFA_ADDRESS, family_bytes(address->family), address->peer);
	if (present) {
		mnl_attr_put_u32(nlh, IFA_FLAGS, flags);
		mnl_attr_put(nlh, IFA_CACHEINFO, sizeof(lifetime), &lifetime);
	}
	return send_request(nlh);
}
