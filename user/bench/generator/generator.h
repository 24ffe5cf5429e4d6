/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent that sends and counts the packets of `bench nic`, for one that asks by lines of JSON. A
 * source sends: the kernel's pktgen, or whatever else is a struct generator_source. A sink counts
 * what arrives at a device. Destinations are ranges, drawn from a table.
 *
 * Functions return 0, or -errno after having said what failed.
 */
#ifndef BENCH_GENERATOR_H
#define BENCH_GENERATOR_H

#include <jansson.h>
#include <net/if.h>

#include "../bench.h"
#include "../latency.h"
#include "generator_sink.h"

#define GENERATOR_MOST_PORTS 16u
#define GENERATOR_FCS_BYTES 4u

/* --- ports ---------------------------------------------------------------------------------- */

struct generator_port {
	char name[IFNAMSIZ];
	int ifindex;
	uint8_t mac[6];
	bool is_up;
	bool has_carrier;
	uint32_t mtu;
	uint64_t speed_bps;  /* 0: not known */
	unsigned int queues; /* to send by */
	char driver[32];
};

/* Of this network namespace. */
int generator_port_open(const char *name, struct generator_port *out);

/* --- destinations --------------------------------------------------------------------------- */

/* The bits in which the two differ are at random. */
struct generator_range {
	union sixlane_addr low, high;
};

enum generator_pattern {
	GENERATOR_RANDOM, /* any host of some of the table's prefixes */
	GENERATOR_FLOW,	  /* one */
	GENERATOR_MISS,	  /* of no prefix of the table */
	GENERATOR_SYN, /* as random, by TCP, each from another port and host of the source's /64 */
	GENERATOR_N_PATTERNS
};

extern const char *const generator_pattern_names[GENERATOR_N_PATTERNS];

/*
 * Up to *n ranges, which the seed determines; sets *n to how many there are. Each prefix is taken
 * once. -ENOENT: the table has none such.
 */
int generator_ranges(const struct bench_table *table, enum generator_pattern pattern, uint64_t seed,
		     struct generator_range *out, size_t *n);

/* --- sinks ---------------------------------------------------------------------------------- */

/* A program on a device, which is promiscuous; both gone with this process. */
struct generator_sink;

struct generator_arrived {
	struct sink_count total;
	uint64_t queues[SINK_QUEUES];
};

/* -EBUSY: the device has a program already. */
int generator_sink_open(const struct generator_port *port, struct generator_sink **out);
/* From zero on, count the packets of this source, or of any in its /64; hop_limit is what they must
 * have. */
int generator_sink_begin(struct generator_sink *sink, const union sixlane_addr *src, bool any_host,
			 uint8_t hop_limit);
int generator_sink_read(const struct generator_sink *sink, struct generator_arrived *out);
/* Add how long the probes that arrived took. */
int generator_sink_latencies(const struct generator_sink *sink, uint64_t counts[LATENCY_BUCKETS]);
bool generator_sink_is_generic(const struct generator_sink *sink);
void generator_sink_close(struct generator_sink *sink); /* NULL too */

/* --- sources -------------------------------------------------------------------------------- */

/* What a run sends, by all ports alike. */
struct generator_traffic {
	const struct generator_port *ports;
	size_t n_ports;
	const uint8_t (*dst_macs)[6]; /* one of each port */
	union sixlane_addr src;
	const struct generator_range *ranges;
	size_t n_ranges;
	enum generator_pattern pattern;
	uint64_t seed;
	double rate_pps;      /* of all ports; 0: as fast as they can */
	uint64_t count;	      /* of all ports; 0: … */
	uint64_t ns;	      /* … for so long; else 0 */
	uint32_t frame_bytes; /* with FCS */
};

struct generator_sent {
	uint64_t elapsed_ns; /* from the first frame to the last */
	double pps;
	uint64_t errors; /* frames that a driver refused */
	unsigned int burst;
	size_t ranges; /* of those that were to be used */
	struct {
		uint64_t frames;
		uint64_t queues[SINK_QUEUES];
	} ports[GENERATOR_MOST_PORTS];
	char note[256]; /* what is not as asked for; empty: nothing */
};

struct generator_source {
	const char *name;
	uint32_t least_frame_bytes, least_syn_bytes, most_frame_bytes; /* 0: as the MTU says */
	uint8_t hop_limit;					       /* of what it sends */
	unsigned int queue_ranges; /* that a queue of a port takes at most */
	bool takes[GENERATOR_N_PATTERNS];
	const char *refuses; /* why it does not take the others */
	/* ports: those that will send */
	int (*open)(const struct generator_port *ports, size_t n);
	/* is_over(): what was asked for is no longer wanted; asked a few times a second at least */
	int (*send)(const struct generator_traffic *traffic, bool (*is_over)(void),
		    struct generator_sent *out);
	void (*close)(void);
};

extern const struct generator_source generator_pktgen, generator_flood;

/* --- latency ------------------------------------------------------------------------------ */

/*
 * Some frames a second beside those of a source, each with the time at which it was sent, for sinks
 * of this machine. On the wire they look like the source's.
 */
struct generator_probes;
int generator_probes_begin(const struct generator_traffic *traffic, uint8_t hop_limit,
			   struct generator_probes **out);
void generator_probes_end(struct generator_probes *probes, uint64_t *sent);

/* --- the agent ------------------------------------------------------------------------------ */

struct generator {
	const struct generator_source *source; /* opened */
	struct generator_port tx[GENERATOR_MOST_PORTS], rx[GENERATOR_MOST_PORTS];
	size_t n_tx, n_rx;
	struct generator_sink *sinks[GENERATOR_MOST_PORTS]; /* of rx */
};

/* What is asked for by one line. */
struct generator_request {
	struct generator_traffic traffic;
	uint8_t dst_macs[GENERATOR_MOST_PORTS][6];
	uint8_t hops; /* routers between the two sides */
	bool latency;
	const char *prefixes; /* a file of the table */
};

/* The traffic is complete but for its ranges. */
int generator_parse(const struct generator *generator, const json_t *json,
		    struct generator_request *out);
/* What came of it; NULL, and why is said. */
json_t *generator_run(struct generator *generator, struct generator_request *request,
		      bool (*is_over)(void));

/* Answer requests on stdin until it ends, or one says so. An exit code. */
int generator_serve(struct generator *generator);

#endif
