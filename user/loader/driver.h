/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drivers and native XDP: why a driver refuses a program and what would help, from the kernel's
 * error message and from facts about drivers that no interface reports.
 */
#ifndef USER_LOADER_DRIVER_H
#define USER_LOADER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loader_driver {
	const char *port;
	char name[32];
	uint32_t mtu;
	size_t page_bytes; /* the kernel's pages */
};

/* What an errno of attaching means; message: the kernel's, or "". -EOPNOTSUPP: the driver has no
 * native XDP. -EINVAL: not with its present settings. -EMSGSIZE: a smaller MTU may help. */
int loader_driver_attach_error(int rc, const struct loader_driver *driver, const char *message);
/* The same as a sentence with advice, into LOADER_ERR bytes. */
void loader_driver_refusal(int rc, const struct loader_driver *driver, const char *message,
			   char *out);

/* The largest MTU at which the driver accepts a native program. 0: unknown. */
uint32_t loader_driver_max_mtu(const char *driver, size_t page_bytes);

/* The driver of a virtual NIC may deliver packets of other machines of the same host without a
 * checksum (VIRTIO_NET_HDR_F_NEEDS_CSUM and its like), and XDP programs cannot see that. */
bool loader_driver_opens_checksums(const char *driver);

/* virtio_net gives each CPU a transmit queue of its own for redirected frames if there are enough
 * besides those of the stack. Otherwise the CPUs share queues under a lock. n_pairs: queue pairs in
 * use while a program runs. */
bool loader_driver_locks_queues(const char *driver, uint32_t n_pairs, uint32_t n_cpus);
/* The number of possible CPUs, which is what drivers go by. */
uint32_t loader_cpus(void);
/* The port's MTU now; 0: it cannot be read. */
uint32_t loader_driver_mtu(const char *port);

/* loader_fail_errno() for a port that refused a native program. */
int loader_fail_native(int rc, const char *port, char *err);

#endif
