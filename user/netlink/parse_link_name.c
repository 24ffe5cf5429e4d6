// SPDX-License-Identifier: GPL-2.0-only
/*
 * All names of a device. They stand in no structure: a device may have any number of them, and only
 * those that the operator has named matter to anybody.
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

/* attr_walk() keeps one attribute of a type, and here each name is one. */
static int alt_names_each(const struct nlattr *nest, link_name_fn fn, void *ctx)
{
	const struct nlattr *attr = mnl_attr_get_payload(nest);
	size_t left = mnl_attr_get_payload_len(nest), step, size;

	for (; left > 0; attr = mnl_attr_next(attr)) {
		if (!attr_fits(attr, left))
			return -EBADMSG;
		size = mnl_attr_get_payload_len(attr);
		if (mnl_attr_get_type(attr) == IFLA_ALT_IFNAME) {
			if (size > ALTIFNAMSIZ || !memchr(mnl_attr_get_payload(attr), '\0', size))
				return -EBADMSG;
			fn(ctx, mnl_attr_get_str(attr));
		}
		step = MNL_ALIGN(mnl_attr_get_len(attr));
		if (step >= left)
			break; /* the last one may lack its padding */
		left -= step;
	}
	return 0;
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
	return at[IFLA_PROP_LIST] ? alt_names_each(at[IFLA_PROP_LIST], fn, ctx) : 0;
}
