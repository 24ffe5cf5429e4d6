// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same, with the compiled FIB in an arena. */
#define SIXLANE_ARENA 1
#include "compiled.bpf.c"
