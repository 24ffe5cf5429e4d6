/* SPDX-License-Identifier: GPL-2.0-only */
/* The messages of captures.txt, which is part of the program. */
#ifndef NETLINK_CAPTURES_H
#define NETLINK_CAPTURES_H

#include <stddef.h>
#include <stdint.h>

struct capture {
	char name[64];
	char parsed[512]; /* parsed_text() */
	size_t size;
	uint8_t *bytes; /* never freed */
};

/* All of them; *n becomes their number. */
const struct capture *captures(size_t *n);

#endif
