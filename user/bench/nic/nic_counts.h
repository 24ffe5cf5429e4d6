/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the counts of a run add up: those of NICs, bonds, queues, verdicts and the generator are
 * of the same packets, so that one that is missing somewhere is either told as dropped or is an
 * error of the measurement. Pure but for nic_counts_read().
 *
 * The generator's own packets are to be found again to the last one. Others cannot be kept away:
 * neighbour discovery, MLD, LACPDUs, all of which may also come between two readings. So each
 * equation says by how much its sides may differ, and why.
 */
#ifndef USER_BENCH_NIC_COUNTS_H
#define USER_BENCH_NIC_COUNTS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/abi/sixlane.h"

/* Of a device since it was made, or between two readings. */
struct nic_counts {
	uint64_t rx, tx;	 /* by the kernel's word (stats64) */
	uint64_t rx_missed;	 /* lost by the NIC for lack of buffers, and not in rx */
	uint64_t xdp_rx, xdp_tx; /* packets of XDP that the driver does not count in rx and tx */
	uint64_t xdp_tx_drops;	 /* redirected to it and then dropped, where the driver tells */
	uint64_t queues_rx, queues_tx;
	uint64_t icmp6_rx, icmp6_tx; /* of the kernel itself: neighbour discovery, MLD */
	uint64_t verdicts[SIXLANE_MAX_VERDICTS]; /* sixlane's, of the port */
};

struct nic_port {
	char name[IFNAMSIZ];
	int bond; /* its bond's place among the ports, -1: none */
	bool is_bond, is_ingress, is_egress;
	/* The driver tells them. */
	bool tells_queues, tells_tx_drops;
	bool runs_lacp;
	bool tells_redirected;	  /* at once, in queues_tx, and so need not wait for tx */
	uint32_t tx_unnoticed;	  /* sent ones that the driver may not have counted yet (virtio) */
	struct nic_counts counts; /* of the run: nic_counts_subtract() */
};

#define NIC_MAX_PORTS 32
struct nic_run {
	struct nic_port ports[NIC_MAX_PORTS];
	size_t n;
	bool by_sixlane; /* verdicts count; else it is the kernel's forwarding that is measured */
	uint64_t sent, received;	   /* the generator's own packets */
	bool counts_sent, counts_received; /* of which it tells one, both or none */
	/* Between generator and ports packets may be lost that nobody counts: a switch, a
	 * hypervisor. */
	bool hides_losses;
	/* A device left meanwhile: the kernel drops what is redirected to it then, and counts it
	 * nowhere. */
	bool loses_device;
	uint32_t seconds; /* rounded up */
};

/* after - before; false: a counter has gone back, and the two cannot be of one run. */
bool nic_counts_subtract(const struct nic_counts *after, const struct nic_counts *before,
			 struct nic_counts *out);

/* run: the later one of two readings of the same ports, and then their difference. NULL, or the
 * name of a port whose counter has gone back. */
const char *nic_run_subtract(struct nic_run *run, const struct nic_run *before);

/* What has come in by the ingress ports; with the kernel's forwarding others' packets are among it.
 */
uint64_t nic_counts_arrived(const struct nic_run *run);

/* What became of the generator's packets at sixlane. */
struct nic_forwarded {
	uint64_t here;		      /* forwarded by it */
	uint64_t elsewhere;	      /* left to the kernel, or dropped: … */
	enum sixlane_verdict verdict; /* … most of them with this */
};
struct nic_forwarded nic_counts_forwarded(const struct nic_run *run);

struct nic_fault {
	const char *name;	  /* of the equation: "sent", "verdicts" … */
	const char *left, *right; /* what its sides are, for people */
	char port[IFNAMSIZ];	  /* "": of the whole run */
	uint64_t left_n, right_n;
	uint64_t slack;	 /* that is allowed, … */
	const char *why; /* … for this reason */
};

/* The equations that do not hold; at most max of them are kept, all are counted. */
size_t nic_counts_check(const struct nic_run *run, struct nic_fault *faults, size_t max);

#define NIC_FAULT_LEN 384
void nic_fault_text(const struct nic_fault *fault, char out[NIC_FAULT_LEN]);

/* --- reading, in nic_counts_read.c and nic_queue_counts.c ------------------------------------ */

/* Sets queues_rx and queues_tx, the sum over *n_tx queues. 0 or -errno with nothing said;
 * -EOPNOTSUPP: the kernel or the driver has no such thing. */
int nic_queue_counts_read(uint32_t ifindex, struct nic_counts *counts, uint32_t *n_tx);

/*
 * What the kernel and the driver say of a device now; verdicts are the caller's to add. Sets also
 * what port says about the driver. 0 or -errno with nothing said.
 */
int nic_counts_read(const char *dev, struct nic_port *port);

#endif
