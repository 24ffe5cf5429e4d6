/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The object under test in the kernel, with private maps, and devices in a network namespace of
 * this process. Runs one packet through it and compares everything that it did with what is
 * expected. Does not know what to expect of which packet.
 */
#ifndef TESTS_BPF_HARNESS_H
#define TESTS_BPF_HARNESS_H

#include "frame.h"
#include "world.h"

/*
 * The object is loaded several times with the same maps. Some programs differ from what was
 * compiled by one instruction, to show what a test run cannot show otherwise. The other flavours
 * must do the same with a frame in one buffer.
 */
enum harness_prog {
	PROG_AS_IS,
	/* bpf_redirect() returns its ifindex, which thus becomes the action. */
	PROG_SHOWS_EGRESS,
	/* bpf_xdp_adjust_tail() fails. No kernel's does for a frame that keeps its headers. */
	PROG_CANNOT_TRIM,
	PROG_FRAGS,
	PROG_FRAGS_SHOWS_EGRESS,
	/* The trace flavour, which counts no exception's hits and sends no ICMP event. */
	PROG_TRACE,
	N_PROGS
};

/*
 * 0 or -errno, which stderr explains. Leaves this process in a new network namespace.
 * frags_object: of the xdp.frags flavour; trace_object: of the trace flavour, or NULL.
 */
int harness_open(const char *object, const char *frags_object, const char *trace_object);
void harness_close(void);

/* Whether there is this program: PROG_TRACE may be missing. */
_Bool harness_has(enum harness_prog prog);

int harness_prog_fd(enum harness_prog prog);

/* Write a world to the maps. */
void harness_install(const struct world *world);
/* The default world with a route for FRAME_DST, or with one that has this exception (world.h). */
void harness_install_route(uint32_t next_hop);
void harness_install_exception(const struct sixlane_exception *value);
/* Likewise with a locked MTU, which the kernel knows too. */
void harness_install_locked_mtu(uint32_t mtu);

/*
 * The engine that is asked for routes from the next harness_install() on: SIXLANE_ENGINE_*, at
 * first the compiled FIB. The other one has this verdict for all destinations, which shows if it is
 * asked.
 */
void harness_answer_by(uint32_t engine, enum sixlane_verdict otherwise);

struct expected {
	enum sixlane_verdict verdict;
	uint32_t slot;	 /* where it is counted */
	uint32_t egress; /* ifindex that it is redirected to; of a forwarded frame */
	const struct frame *out;
	const union sixlane_addr *hit;		     /* whose exception it finds; NULL: none */
	const struct sixlane_icmp_event *icmp_event; /* NULL: none */
};

/* Where the counters are compared: everywhere, or in the slots of a world only (fast). */
enum harness_sweep { SWEEP_WORLD, SWEEP_ALL };

/*
 * Run a frame and the metadata in front of it, by DEV_IN. Returns the XDP action. out: NULL, if
 * nobody asks.
 */
uint32_t harness_send(enum harness_prog prog, const struct frame *in, struct frame *out);

/*
 * The same by any device, of a frame of which this much lies in the first buffer (Linux 6.18). 0 or
 * -errno.
 */
int harness_run_linear(enum harness_prog prog, uint32_t ingress, const struct frame *in,
		       size_t linear, struct frame *out, uint32_t *action);

/*
 * The most metadata that a frame may have, so that there is no headroom for a tag; 0: this kernel
 * allows too little for that.
 */
size_t harness_meta_max(void);

/*
 * Run a frame that came in by a device, and compare with n outcomes, of which one must be right:
 * - the action, and every byte and the length of the frame afterwards;
 * - exactly one counter rose, by one packet and by the frame's bytes;
 * - the exception that was hit, on one CPU, and the ICMP event, and no others.
 * Returns false, and prints what differs from the first outcome.
 */
_Bool harness_check(enum harness_prog prog, uint32_t ingress, const struct frame *in,
		    const struct expected *expected, size_t n, enum harness_sweep sweep);

/* A Packet Too Big. */
struct harness_answer {
	uint32_t mtu;
	_Bool decremented;  /* the quoted hop limit is one less */
	_Bool turned;	    /* it goes back to the MAC that the packet came from, … */
	enum neighbour via; /* … else to this one */
};

/* The answer to a packet that came in by DEV_IN without tags, sent to NEIGH_IN. */
void harness_build_answer(struct frame *out, const struct frame *packet, uint32_t mtu);

/* A frame, and what becomes of it. What is passed or dropped comes out as it went in. */
struct harness_case {
	const struct frame *frame; /* without its tags */
	const uint32_t *tags;	   /* [FRAME_TAGS]; NULL: none */
	enum device in, as;	   /* as: the port that takes it */
	_Bool at_home, slot_lost;  /* as in struct row */
	enum sixlane_verdict verdict;
	enum neighbour via; /* where it is forwarded to, … */
	enum device slave;  /* … by this device; 0: by via's */
	struct harness_answer answer;
	const struct frame *out;       /* instead of what follows from these; NULL: that */
	const union sixlane_addr *hit; /* as in struct expected */
	const struct sixlane_icmp_event *icmp_event; /* likewise */
	_Bool silent_used; /* NEIGH_SILENT is marked as used: the kernel may choose another */
	enum harness_prog prog;
	enum harness_sweep sweep;
	_Bool once; /* by prog alone; else by all flavours and by those that show their egress */
};
void harness_expect_case(const struct harness_case *c);
#define EXPECT(...) harness_expect_case(&(struct harness_case){ __VA_ARGS__ })

/* Run on this CPU from now on; false: there is no such CPU. */
_Bool harness_pin(int cpu);
void harness_unpin(void);

/* Replace or delete an exception; harness_install() deletes what is left of them. */
void harness_put_exception(const struct world_exception *exception);
void harness_del_exception(const struct world_exception *exception);
/* Clear one of an address's bits in sl_punted, and of its bytes in both halves of sl_fresh. */
void harness_hide_punt(const union sixlane_addr *dst, uint32_t number);

/* How many destinations are in a half of sl_fresh. */
uint32_t harness_fresh_count(uint32_t half);

/* When every CPU's bucket of answers was full. */
void harness_fill_buckets(uint64_t filled_ns);

enum harness_ring { RING_ICMP_EVENTS, RING_SAMPLES };
/* Empty the ring; the first max records are copied. Returns how many it held. */
size_t harness_take(enum harness_ring ring, void *records, size_t max);

/* ICMP events that found no room since the last harness_install(), over all CPUs. */
uint64_t harness_icmp_events_lost(void);

/* The arrays that the datapath reads, mapped until harness_close(). */
struct harness_maps {
	struct sixlane_meta *meta;
	struct sixlane_port *ports;
	struct sixlane_next_hop *next_hops;
	union sixlane_nh_bucket *buckets;
	struct sixlane_rule *rules;
	struct sixlane_neigh *neighbours;
	uint64_t *punted, *guard;
	uint8_t *fresh; /* [SIXLANE_FRESH_WORDS * 8] */
};
extern struct harness_maps harness_maps;

/* The CLI's name of a verdict. */
const char *harness_verdict_name(uint32_t verdict);

#endif
