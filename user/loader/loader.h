/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs and pins: loads the object, makes and pins its maps, attaches it to ports, finds and
 * adopts what `ip link`, xdp-loader or an earlier sixlane left. Knows libbpf and libxdp, not what
 * the maps contain. This header only includes what other folders need most.
 */
#ifndef USER_LOADER_LOADER_H
#define USER_LOADER_LOADER_H

#include "attach.h"
#include "bpf_object.h"
#include "error.h"
#include "paths.h"
#include "pin.h"
#include "query.h"

#endif
