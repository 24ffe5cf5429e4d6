/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of what each step found and decided, for `sixlane explain`. Only the trace flavour
 * (sixlane.trace.bpf.c) records; in the others all of this compiles to nothing.
 *
 * TRACE() records facts that are not in struct packet. TRACE_STEP() records the fields of struct
 * packet that a step has set, and returns the step's verdict. TRACE_EARLY() is for steps before the
 * route lookup: the trace goes on after their verdict, and ends with it (trace_decided()).
 */
#ifndef SIXLANE_TRACE_H
#define SIXLANE_TRACE_H

#ifdef SIXLANE_TRACE
#include "trace_steps.h"
#else
#include "trace_off.h"
#endif

#endif
