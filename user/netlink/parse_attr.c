// SPDX-License-Identifier: GPL-2.0-only
/*
 * See parse_attr.h. Every length is checked before a byte behind it is read. Bytes behind the last
 * attribute make a message malformed.
 */
#include "parse_attr.h"

#include <sys/socket.h>

static bool size_ok(const struct nlattr *attr, const struct attr_spec *spec)
{
	size_t size = mnl_attr_get_payload_len(attr);

	switch (spec->kind) {
	case ATTR_KIND_EXACT:
		return size == spec->size;
	case ATTR_KIND_MIN:
		return size >= spec->size;
	case ATTR_KIND_STRING:
		return size <= spec->size && memchr(mnl_attr_get_payload(attr), '\0', size);
	default:
		return true;
	}
}

struct attr_iterator attr_iterate(const struct nlattr *nest)
{
	return nest ? (struct attr_iterator){ mnl_attr_get_payload(nest),
					      mnl_attr_get_payload_len(nest) }
		    : (struct attr_iterator){ 0 };
}

int attr_next(struct attr_iterator *iterator, const struct nlattr **attr)
{
	size_t step;

	if (iterator->left == 0)
		return 0;
	if (!attr_fits(iterator->next, iterator->left))
		return -EBADMSG;
	*attr = iterator->next;
	step = MNL_ALIGN(mnl_attr_get_len(*attr));
	iterator->next = mnl_attr_next(*attr);
	iterator->left =
		step < iterator->left ? iterator->left - step : 0; /* padding is optional */
	return 1;
}

int attr_walk(const void *data, size_t size, const struct attr_spec *specs, size_t n_specs,
	      const struct nlattr **at, uint16_t *unknown)
{
	struct attr_iterator iterator = { data, size };
	const struct nlattr *attr;
	uint16_t type;
	int r;

	for (size_t i = 0; i < n_specs; i++)
		at[i] = NULL;
	while ((r = attr_next(&iterator, &attr)) > 0) {
		type = mnl_attr_get_type(attr);
		if (type < n_specs && specs[type].kind != ATTR_KIND_UNKNOWN) {
			if (!size_ok(attr, &specs[type]))
				return -EBADMSG;
			at[type] = attr;
		} else if (unknown && !*unknown) {
			*unknown = attr_unknown(type);
		}
	}
	return r;
}

const void *attr_header(const struct nlmsghdr *nlh, size_t header_size)
{
	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN + header_size)
		return NULL;
	return mnl_nlmsg_get_payload(nlh);
}

int attr_walk_message(const struct nlmsghdr *nlh, size_t header_size, const struct attr_spec *specs,
		      size_t n_specs, const struct nlattr **at, uint16_t *unknown)
{
	size_t offset = MNL_NLMSG_HDRLEN + MNL_ALIGN(header_size);
	size_t size = nlh->nlmsg_len > offset ? nlh->nlmsg_len - offset : 0;

	return attr_walk((const char *)nlh + offset, size, specs, n_specs, at, unknown);
}

int attr_walk_inet6(const struct nlmsghdr *nlh, uint16_t new_type, size_t header_size,
		    const struct attr_spec *specs, size_t n_specs, const struct nlattr **at,
		    uint16_t *unknown)
{
	const uint8_t *family = attr_header(nlh, header_size);

	if (nlh->nlmsg_type != new_type && nlh->nlmsg_type != new_type + 1)
		return -ENOMSG;
	if (!family)
		return -EBADMSG;
	if (*family != AF_INET6)
		return -ENOMSG;
	return attr_walk_message(nlh, header_size, specs, n_specs, at, unknown);
}

int attr_walk_nest(const struct nlattr *nest, const struct attr_spec *specs, size_t n_specs,
		   const struct nlattr **at)
{
	return attr_walk_whole_nest(nest, specs, n_specs, at, NULL);
}

int attr_walk_whole_nest(const struct nlattr *nest, const struct attr_spec *specs, size_t n_specs,
			 const struct nlattr **at, uint16_t *unknown)
{
	if (!nest)
		return attr_walk("", 0, specs, n_specs, at, unknown);
	return attr_walk(mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest), specs, n_specs,
			 at, unknown);
}

void attr_copy_string(char *out, size_t size, const struct nlattr *attr)
{
	const char *text = mnl_attr_get_payload(attr);
	size_t length = strnlen(text, size - 1);

	memcpy(out, text, length);
	out[length] = '\0';
}

int attr_prefix(const struct nlattr *attr, uint8_t len, struct prefix *out)
{
	unsigned int byte = len / 8;

	if (len > 128 || (!attr && len > 0))
		return -EBADMSG;
	if (attr)
		attr_copy(&out->addr, attr, sizeof(out->addr));
	out->len = len;
	if (byte < sizeof(out->addr)) {
		out->addr.bytes[byte] &= (uint8_t)(0xff00 >> len % 8);
		memset(out->addr.bytes + byte + 1, 0, sizeof(out->addr) - byte - 1);
	}
	return 0;
}
