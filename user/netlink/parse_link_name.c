// SPDX-License-Identifier: GPL-2.0-only
/*
 * All names of a device. struct link does not contain them: a device may have any number, and only
 * those in the operator's settings matter.
 */
#include "parse.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "parse_attr.h"

static const struct attr_spec name_attrs[] = {
	[IFLA_IFNAME] = ATTR_STRING(IFNAMSIZ),
	[IFLA_PROP_LIST] = ATTR_NEST,
};

static int alt_names_each(const struct nlattr *nest, link_name_fn fn, void *ctx)
{
	struct attr_iterator iterator = attr_iterate(nest);
	const struct nlattr *attr;
	size_t size;
	int r;

	while ((r = attr_next(&iterator, &attr)) > 0) {
		if (mnl_attr_get_type(attr) != IFLA_ALT_IFNAME)
			continue;
		size = mnl_attr_get_payload_len(attr);
		if (size > ALTIFNAMSIZ || !memchr(mnl_attr_get_payload(attr), '\0', size))
			return -EBADMSG;
		fn(ctx, mnl_attr_get_str(attr));
	}
	return r;
}

int parse_link_names(const struct nlmsghdr *nlh, link_name_fn fn, void *ctx)
{
	const struct nlattr *at[ARRAY_SIZE(name_attrs)];
	int r = attr_walk_message(nlh, sizeof(struct ifinfomsg), name_attrs, ARRAY_SIZE(name_attrs),
				  at, NULL);

	if (r < 0)
		return r;
	if (at[IFLA_IFNAME])
		fn(ctx, mnl_attr_get_str(at[IFLA_IFNAME]));
	return alt_names_each(at[IFLA_PROP_LIST], fn, ctx);
}
