/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What to change for a measurement, from what a device is now and what is wanted of it: a list of
 * changes in the order in which they are to be made. Pure but for the reading functions, so that a
 * plan can be shown before anything is done, and tested without NICs.
 */
#ifndef USER_BENCH_NIC_PLAN_H
#define USER_BENCH_NIC_PLAN_H

#include "nic_change.h"
#include "nic_irq.h"

/* Of one device. */
struct nic_want {
	unsigned int queues;	  /* rx and tx each; 0: as they are */
	unsigned int ring;	  /* descriptors, rx and tx each; 0: as they are */
	unsigned int mtu;	  /* bytes; 0: as it is */
	int usecs;		  /* of coalescing, which is then not adaptive; -1: as it is */
	const unsigned int *cpus; /* queue n is for CPU n, modulo their number */
	size_t n_cpus;		  /* 0: interrupts and queues stay where they are */
};

/* Features that XDP cannot have or that make packets others than came in. GRO is left: it is
 * after XDP, and veth needs it. */
#define NIC_N_FEATURES 4
extern const char *const nic_features[NIC_N_FEATURES];

struct nic_state {
	char dev[IFNAMSIZ];
	uint32_t ifindex;
	bool up;
	/* /sys shows this very device: in a network namespace it may show that of another one */
	bool in_sysfs;
	uint32_t mtu;
	/* the driver has such a thing */
	bool has_channels, has_rings, has_coalesce, has_feature[NIC_N_FEATURES];
	struct ethtool_channels channels;
	struct ethtool_ringparam rings;
	struct ethtool_coalesce coalesce;
	struct nic_feature features[NIC_N_FEATURES];
	/* As the kernel has them for the device, whether the driver uses them or not. */
	uint32_t rx_queues, tx_queues;
};
/* 0 or -errno; -ENODEV. */
int nic_state_read(const char *dev, struct nic_state *out);

/* The most queues that can be had, rx and tx each. */
unsigned int nic_state_max_queues(const struct nic_state *state);
/* That are in use. */
unsigned int nic_state_rx_queues(const struct nic_state *state);
unsigned int nic_state_tx_queues(const struct nic_state *state);

#define NIC_PLAN_MAX (2 * NIC_MAX_IRQS)
struct nic_plan {
	struct nic_change at[NIC_PLAN_MAX];
	size_t n;
};

/*
 * Adds what makes the device be as wanted, nothing of what it already is. More descriptors than the
 * driver takes: as many as it takes. Queues that it has not got (nic_check.h refuses that) stay as
 * they are.
 */
void nic_plan_device(const struct nic_state *state, const struct nic_want *want,
		     struct nic_plan *plan);

/*
 * Adds where its interrupts and queues go, once the device is up with the queues that it is to
 * have. irqs: nic_irq_read().
 */
void nic_plan_affinity(const struct nic_state *state, const struct nic_want *want,
		       const struct nic_irq *irqs, size_t n_irqs, struct nic_plan *plan);

#endif
