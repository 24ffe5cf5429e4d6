/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The layout of all maps, a header a family, which the XDP program and user space share. Knows
 * neither libbpf nor libc, only fixed-width types: clang -target bpf, gcc and clang read the same
 * bytes.
 *
 * Byte order: addresses, MACs and the table in a route key are in network order, since the trie
 * compares bits from the left. All other integers are in host order.
 */
#ifndef BPF_ABI_SIXLANE_H
#define BPF_ABI_SIXLANE_H

#include "addr.h"
#include "counters.h"
#include "exception.h"
#include "fib.h"
#include "guard.h"
#include "meta.h"
#include "neigh.h"
#include "nexthop.h"
#include "port.h"
#include "route.h"
#include "rule.h"
#include "verdicts.h"

#endif
