/* SPDX-License-Identifier: GPL-2.0-only */
/* Which kinds of devices transmit redirected frames as they are. Private to resolve/. */
#ifndef USER_RESOLVE_KIND_H
#define USER_RESOLVE_KIND_H

#include "../rib/links.h"

/* 0: frames leave unchanged; else one of SIXLANE_PORT_NO_XMIT. */
uint32_t resolve_kind(const struct link *link);

#endif
