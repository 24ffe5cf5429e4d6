/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs packets through the real program without traffic: loads the object once more and runs it by
 * BPF_PROG_TEST_RUN. It uses the pinned maps, but has its own counters, ICMP events, samples and
 * per-CPU state.
 *
 * Nothing leaves the machine. In the pinned maps only two things may change, as by any packet: the
 * used mark of a neighbour and the hit counters of an exception.
 */
#ifndef USER_LOADER_RUN_H
#define USER_LOADER_RUN_H

#include "../../bpf/abi/trace.h"
#include "bpf_object.h"
#include "pin.h"

/* More than the longest frame of any port, in bytes. */
#define LOADER_RUN_ROOM 16384u

struct loader_run;

struct loader_run_result {
	uint32_t action;  /* XDP_* */
	uint32_t verdict; /* enum sixlane_verdict, as counted by the program … */
	uint32_t slot;	  /* … for the port of this slot of sl_ports */
	size_t len;	  /* of the frame after the program */
	uint8_t frame[LOADER_RUN_ROOM];
};

/* frags: use the flavour beside the object for frames of several buffers. maps must outlive *out.
 * 0 or -errno and err. */
int loader_run_open(const char *object, bool frags, const struct loader_maps *maps,
		    struct loader_run **out, char *err);
/* The same for the trace flavour beside the object, which any flavour may have on its port. */
int loader_run_open_trace(const char *object, bool frags, const struct loader_maps *maps,
			  struct loader_run **out, char *err);
void loader_run_close(struct loader_run *run);

/* Runs a frame of len bytes as if the device of this namespace had received it. 0 or -errno and
 * err. Needs Linux 5.15, whose BPF_PROG_TEST_RUN accepts a device. */
int loader_run_frame(struct loader_run *run, uint32_t ifindex, const void *frame, size_t len,
		     struct loader_run_result *out, char *err);

/* The same for the trace flavour, with what it recorded. The verdict and slot in *out are those of
 * the trace's last record. */
int loader_run_trace(struct loader_run *run, uint32_t ifindex, const void *frame, size_t len,
		     struct loader_run_result *out, struct sixlane_trace *trace, char *err);

/* The compiler that built the object. False: unknown. */
bool loader_run_compiler(const struct loader_run *run, char out[LOADER_COMPILER_LEN]);

/* The longest frame that BPF_PROG_TEST_RUN puts into one buffer, in bytes. */
size_t loader_run_linear_bytes(void);

/* Whether a loaded program has the same instructions. True also if that is unknown. */
bool loader_run_is_same(const struct loader_run *run, uint32_t prog_id);

#endif
