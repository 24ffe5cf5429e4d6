/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all parsers use: tables of attributes with their sizes, and functions that check a run of
 * attributes against such a table. Afterwards a parser reads each attribute without further checks.
 * Knows no message type.
 *
 * The kernel extends attributes at their end only if they are structures: structures are checked
 * for a minimum, plain values for their exact size.
 */
#ifndef NETLINK_PARSE_ATTR_H
#define NETLINK_PARSE_ATTR_H

#include <libmnl/libmnl.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../lib/util.h"
#include "../rib/prefix.h"

enum attr_kind { ATTR_KIND_UNKNOWN, ATTR_KIND_EXACT, ATTR_KIND_MIN, ATTR_KIND_STRING };

struct attr_spec {
	uint8_t kind;  /* enum attr_kind; 0: not in the table, see attr_walk() */
	uint16_t size; /* bytes; the maximum of strings, with their NUL */
};

#define ATTR_EXACT(bytes)                \
	{                                \
		ATTR_KIND_EXACT, (bytes) \
	}
#define ATTR_MIN(bytes)                \
	{                              \
		ATTR_KIND_MIN, (bytes) \
	}
#define ATTR_STRING(bytes)                \
	{                                 \
		ATTR_KIND_STRING, (bytes) \
	}
#define ATTR_U8 ATTR_EXACT(1)
#define ATTR_U16 ATTR_EXACT(2)
#define ATTR_U32 ATTR_EXACT(4)
#define ATTR_U64 ATTR_EXACT(8)
#define ATTR_ADDR ATTR_EXACT(16)
#define ATTR_NEST ATTR_MIN(0)
#define ATTR_ANY ATTR_MIN(0)

/* The arguments specs and n_specs of the functions below. */
#define SPECS(table) (table), ARRAY_SIZE(table)

/*
 * Walks size bytes of attributes. at[type] becomes the last attribute of that type, or NULL. If
 * *unknown is 0, it becomes attr_unknown() of the first attribute that is not in the table. unknown
 * may be NULL. 0 or -EBADMSG.
 */
int attr_walk(const void *data, size_t size, const struct attr_spec *specs, size_t n_specs,
	      const struct nlattr **at, uint16_t *unknown);

/* How objects name an unknown attribute: 0 stands for none. */
static inline uint16_t attr_unknown(uint16_t type)
{
	return type + 1;
}

/* The attribute lies within the left bytes. As mnl_attr_ok(), but seen by our sanitizers. */
static inline bool attr_fits(const struct nlattr *attr, size_t left)
{
	return left >= sizeof(*attr) && attr->nla_len >= sizeof(*attr) && attr->nla_len <= left;
}

/* For a run of attributes of which several may have the same type. */
struct attr_iterator {
	const struct nlattr *next;
	size_t left; /* bytes */
};

/* The attributes within one. nest may be NULL: there are none. */
struct attr_iterator attr_iterate(const struct nlattr *nest);

/* 1 and the next attribute, 0 at the end, or -EBADMSG. */
int attr_next(struct attr_iterator *iterator, const struct nlattr **attr);

/* The family's header behind the netlink header, or NULL if the message is too short for it. */
const void *attr_header(const struct nlmsghdr *nlh, size_t header_size);

/* attr_walk() of a message's attributes, which begin behind a header of header_size bytes. */
int attr_walk_message(const struct nlmsghdr *nlh, size_t header_size, const struct attr_spec *specs,
		      size_t n_specs, const struct nlattr **at, uint16_t *unknown);

/*
 * The same for a message of AF_INET6 and of type new_type (RTM_NEW*) or the next one (RTM_DEL*).
 * Others: -ENOMSG. The header's first byte is the family. After 0 the message has the header.
 */
int attr_walk_inet6(const struct nlmsghdr *nlh, uint16_t new_type, size_t header_size,
		    const struct attr_spec *specs, size_t n_specs, const struct nlattr **at,
		    uint16_t *unknown);

/* attr_walk() of the attributes within one. nest may be NULL: then every at[] is. */
int attr_walk_nest(const struct nlattr *nest, const struct attr_spec *specs, size_t n_specs,
		   const struct nlattr **at);
int attr_walk_whole_nest(const struct nlattr *nest, const struct attr_spec *specs, size_t n_specs,
			 const struct nlattr **at, uint16_t *unknown);

static inline void attr_copy(void *out, const struct nlattr *attr, size_t size)
{
	memcpy(out, mnl_attr_get_payload(attr), size);
}

/* Copies a string that attr_walk() has checked, cut to size bytes with its NUL. */
void attr_copy_string(char *out, size_t size, const struct nlattr *attr);

/*
 * A prefix of len bits, which the message's header has; the bits beyond are cleared. attr is
 * checked as ATTR_ADDR and may be NULL only if len is 0. 0 or -EBADMSG.
 */
int attr_prefix(const struct nlattr *attr, uint8_t len, struct prefix *out);

/* The value, or fallback if attr is NULL. */
#define ATTR_GETTER(name, type)                                           \
	static inline type name(const struct nlattr *attr, type fallback) \
	{                                                                 \
		if (attr)                                                 \
			attr_copy(&fallback, attr, sizeof(fallback));     \
		return fallback;                                          \
	}
ATTR_GETTER(attr_u8, uint8_t)
ATTR_GETTER(attr_u16, uint16_t)
ATTR_GETTER(attr_u32, uint32_t)
ATTR_GETTER(attr_u64, uint64_t)

#endif
