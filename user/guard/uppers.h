/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices above a device, by the kernel's own links (sysfs: upper_*). Netlink reports only some
 * of them: IFLA_MASTER, and IFLA_LINK if the upper device's kind sets it, which hsr's does not.
 */
#ifndef GUARD_UPPERS_H
#define GUARD_UPPERS_H

struct uppers;

/*
 * Mounts a sysfs of the calling thread's network namespace that only this process sees, because
 * /sys may be of another one. 0 or -errno.
 */
int uppers_new(struct uppers **out);
void uppers_free(struct uppers *uppers);
/* fn for the name of each device above one; all are of the same namespace. 0 or -errno. */
int uppers_each(const struct uppers *uppers, const char *device,
		void (*fn)(void *ctx, const char *name), void *ctx);

#endif
