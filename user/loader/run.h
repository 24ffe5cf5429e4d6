/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets through the real program without traffic: the object loaded once more, with the pinned
 * maps but counters, hints and a budget for answers of its own, and run by BPF_PROG_TEST_RUN.
 * Nothing leaves the machine, and of what others read in the maps only the mark of a neighbour in
 * use may be set and an exception's figures may rise, as by any packet.
 */
#ifndef USER_LOADER_RUN_H
#define USER_LOADER_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "../../bpf/abi/trace.h"
#include "compiler.h"
#include "pin.h"

/* Longer frames than any port takes. */
#define LOADER_RUN_ROOM 16384u

struct loader_run;

struct loader_run_result {
	uint32_t action;  /* XDP_* */
	uint32_t verdict; /* enum sixlane_verdict, as the program counted it … */
	uint32_t slot;	  /* … and for which port (in sl_ports) */
	size_t len;	  /* of the frame as it left the program */
	uint8_t frame[LOADER_RUN_ROOM];
};

/*
 * frags: the flavour of the object for frames of several buffers, beside it. maps must outlive
 * *out. 0 or -errno and err.
 */
int loader_run_open(const char *object, bool frags, const struct loader_maps *maps,
		    struct loader_run **out, char *err);
/* The same of the trace flavour beside the object, whatever flavour runs on a port. */
int loader_run_open_trace(const char *object, bool frags, const struct loader_maps *maps,
			  struct loader_run **out, char *err);
void loader_run_close(struct loader_run *run);

/*
 * A frame of len bytes that came in by a device of this namespace. 0 or -errno and err; needs
 * Linux 5.15, where a device can be named.
 */
int loader_run_frame(struct loader_run *run, uint32_t ifindex, const void *frame, size_t len,
		     struct loader_run_result *out, char *err);

/*
 * The same of the trace flavour, and what it recorded: *out is as by loader_run_frame(), but
 * verdict and slot are those that the trace ends by.
 */
int loader_run_trace(struct loader_run *run, uint32_t ifindex, const void *frame, size_t len,
		     struct loader_run_result *out, struct sixlane_trace *trace, char *err);

/* Which compiler built the object. False: it does not say. */
bool loader_run_compiler(const struct loader_run *run, char out[LOADER_COMPILER_LEN]);

/* The longest frame that stands in one buffer there. */
size_t loader_run_linear_bytes(void);

/* Whether a loaded program has the same instructions. In doubt yes. */
bool loader_run_is_same(const struct loader_run *run, uint32_t prog_id);

#endif
