/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of what each step saw and decided, for `sixlane explain`. In all flavours but
 * sixlane.trace.bpf.c nothing is recorded, and no instruction is left of what stands here.
 *
 * TRACE() records facts that only the place knows. trace_STEP() records what a step noted in struct
 * packet, and returns the step's verdict. A step before the route does not end the walk of the
 * trace flavour: its verdict is kept (trace_decided()) and overrides that of the end.
 */
#ifndef SIXLANE_TRACE_H
#define SIXLANE_TRACE_H

#ifdef SIXLANE_TRACE
#include "trace_steps.h"
#else
#include "trace_off.h"
#endif

#endif
