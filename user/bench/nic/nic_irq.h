/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which interrupts are a device's, and of which queue each is, from sysfs and /proc/interrupts:
 * there is no other place that says it for every driver. The names in there are the drivers' own,
 * so a queue's number is what stands at their end.
 */
#ifndef USER_BENCH_NIC_IRQ_H
#define USER_BENCH_NIC_IRQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NIC_MAX_IRQS 512

struct nic_irq {
	unsigned int number;
	int queue; /* -1: not a queue's (link changes, mailboxes) */
	char name[64];
};

/* Pure. The queue that an interrupt of this name is of; -1: of none. */
int nic_irq_queue(const char *name);

/*
 * Pure. One line of /proc/interrupts: true if it is of a numbered interrupt that has a name.
 */
bool nic_irq_parse(const char *line, struct nic_irq *out);

/*
 * Those of the device, by their numbers: its MSI and MSI-X vectors that are in use. A device
 * without a bus, such as veth, has none. 0 or -errno.
 */
int nic_irq_read(const char *dev, struct nic_irq irqs[NIC_MAX_IRQS], size_t *n);

/* The daemon runs that moves interrupts about. */
bool nic_irq_is_balanced(void);

#endif
