/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parsers' common ground: tables that say how large each attribute must be, and one walk that
 * checks a run of attributes against such a table. What a parser gets out of it
 * has the promised size, so that reading it needs no further check. Knows no message type.
 *
 * Netlink attributes are extended at their end only where they are structures: those are
 * checked for a minimum, plain values for their very size.
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
	uint8_t kind;  /* enum attr_kind; 0, not in the table: see attr_walk() */
	uint16_t size; /* bytes; of strings the most, with their NUL */
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

/*
 * Walk size bytes of attributes. at[type] becomes the last attribute of that type, or NULL.
 * *unknown (may be NULL) becomes attr_unknown() of the first one that is not in the table, unless
 * it tells of one already. 0 or -EBADMSG.
 */
int attr_walk(const void *data, size_t size, const struct attr_spec *specs, size_t n_specs,
	      const struct nlattr **at, uint16_t *unknown);

/* How objects name an attribute that their parser does not know, since 0 stands for none. */
static inline uint16_t attr_unknown(uint16_t type)
{
	return type + 1;
}

/*
 * mnl_attr_ok, but compiled with us, so that a sanitizer sees what it reads: the attribute lies
 * within the left bytes.
 */
static inline bool attr_fits(const struct nlattr *attr, size_t left)
{
	return left >= sizeof(*attr) && attr->nla_len >= sizeof(*attr) && attr->nla_len <= left;
}

/* The family's header behind the netlink header, or NULL if the message is too short for it. */
const void *attr_header(const struct nlmsghdr *nlh, size_t header_size);

/* The attributes of a message behind a header of header_size bytes. */
int attr_walk_message(const struct nlmsghdr *nlh, size_t header_size, const struct attr_spec *specs,
		      size_t n_specs, const struct nlattr **at, uint16_t *unknown);

/* The attributes within one. nest may be NULL: then every at[] is. */
int attr_walk_nest(const struct nlattr *nest, const struct attr_spec *specs, size_t n_specs,
		   const struct nlattr **at);

/* The same, with *unknown as of attr_walk(). */
int attr_walk_whole_nest(const struct nlattr *nest, const struct attr_spec *specs, size_t n_specs,
			 const struct nlattr **at, uint16_t *unknown);

static inline void attr_copy(void *out, const struct nlattr *attr, size_t size)
{
	memcpy(out, mnl_attr_get_payload(attr), size);
}

/* Copy a string that attr_walk has checked, cut to size bytes with its NUL. */
void attr_copy_string(char *out, size_t size, const struct nlattr *attr);

/*
 * A prefix of len bits, of which the message's header tells; those beyond are cleared. attr,
 * checked as ATTR_ADDR, may be NULL only for the empty prefix. 0 or -EBADMSG.
 */
int attr_prefix(const struct nlattr *attr, uint8_t len, struct prefix *out);

/* The value, or fallback if the attribute was not there. */
static inline uint8_t attr_u8(const struct nlattr *attr, uint8_t fallback)
{
	if (attr)
		attr_copy(&fallback, attr, sizeof(fallback));
	return fallback;
}

static inline uint16_t attr_u16(const struct nlattr *attr, uint16_t fallback)
{
	if (attr)
		attr_copy(&fallback, attr, sizeof(fallback));
	return fallback;
}

static inline uint32_t attr_u32(const struct nlattr *attr, uint32_t fallback)
{
	if (attr)
		attr_copy(&fallback, attr, sizeof(fallback));
	return fallback;
}

static inline uint64_t attr_u64(const struct nlattr *attr, uint64_t fallback)
{
	if (attr)
		attr_copy(&fallback, attr, sizeof(fallback));
	return fallback;
}

#endif
