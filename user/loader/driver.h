/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of drivers that they do not say, without asking the kernel: for driver.c,
 * for `sixlane status`, and for tests.
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

/* The kernel's own words for a driver without native XDP, whatever its settings. */
bool loader_driver_lacks_native(const char *said);
/* -EOPNOTSUPP is for good; where a driver says so of its present settings it becomes -EINVAL. */
int loader_driver_error(int rc, const char *said);
/* The same, and -EMSGSIZE for what a smaller MTU may mend. */
int loader_driver_attach_error(int rc, const struct loader_driver *driver, const char *said);
/* Why it takes no program, into LOADER_ERR bytes. said: the kernel's words, "": none. */
void loader_driver_refusal(int rc, const struct loader_driver *driver, const char *said, char *out);

/* The largest MTU at which it takes a native program; 0: not known. page_bytes: the kernel's. */
uint32_t loader_driver_max_mtu(const char *driver, size_t page_bytes);

/*
 * Drivers of virtual NICs: what one machine of a host sends to another may come with its checksum
 * open (VIRTIO_NET_HDR_F_NEEDS_CSUM and its like), of which XDP is not told.
 */
bool loader_driver_opens_checksums(const char *driver);

/*
 * virtio_net gives each CPU a transmit queue of its own for redirected frames, if there are so many
 * pairs of queues beside those for the stack; else CPUs share those, under a lock. n_pairs: in use
 * while it runs a program.
 */
bool loader_driver_locks_queues(const char *driver, uint32_t n_pairs, uint32_t n_cpus);
/* That may come to be, which drivers count. */
uint32_t loader_cpus(void);
/* The port's MTU now; 0: it cannot be read. */
uint32_t loader_driver_mtu(const char *port);

/* loader_fail_errno() for a port that takes no native program, with what is known of its driver. */
int loader_fail_native(int rc, const char *port, char *err);

#endif
