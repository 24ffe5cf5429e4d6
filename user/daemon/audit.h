/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel changes routes without a message. The audit compares the RIB with the kernel's own
 * tables all the time, under a budget of CPU time, and reads at once what an event points at. Where
 * the two differ, the RIB takes over what the kernel has.
 *
 * Without the kernel reader (no BTF, no right to read) the tables are dumped instead; what dumps do
 * not tell is punted.
 */
#ifndef USER_DAEMON_AUDIT_H
#define USER_DAEMON_AUDIT_H

#include <linux/netlink.h>

#include "../rib/rib.h"

struct sync;
struct audit;
struct kernel_reader;

/* Without a kernel reader, with a warning that says why. NULL: no memory. */
struct audit *audit_new(void);
void audit_free(struct audit *audit);

/* By which the kernel's own tables can be read; NULL: they cannot. */
struct kernel_reader *audit_reader(const struct audit *audit);
/* All tables that are known, and their exceptions, were read after that time; 0: not yet. */
uint64_t audit_read_since_ns(const struct audit *audit);
/* How often that was so anew. */
uint64_t audit_passes(const struct audit *audit);
/*
 * Read all of them now, as after a dump, which may have left routes out, and does not tell all of a
 * set. Differences are not counted.
 */
void audit_read_all(struct sync *sync);

/*
 * Routes of a destination, as the kernel's own table has them now, into the RIB. Call it when a
 * message does not tell all. False: they cannot be read.
 */
bool audit_read(struct sync *sync, uint32_t table, const struct prefix *dst);

/*
 * The same for a destination that the kernel is about to change: within some milliseconds, and
 * once more, in case that it was busy.
 */
void audit_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * … of all that a router may have advertised on this device; 0: of all with an MTU of their own,
 * which may follow that of a device.
 */
void audit_read_unsteady(struct sync *sync, uint32_t advertised_by);

/* Something changed there: follow it, if it has routes that may change without a message. */
void audit_note_change(struct sync *sync, uint32_t table, const struct prefix *dst);

/* A piece of the audit, and what is to be read by now. */
void audit_run(struct sync *sync);
uint64_t audit_due_ns(const struct sync *sync);

/*
 * Without a kernel reader, when the next synchronisation is due as an audit, after one that took so
 * much CPU time. UINT64_MAX: never.
 */
uint64_t audit_dump_due_ns(const struct sync *sync, uint64_t cost_ns);

/* What the CLI shows of it, into sl_meta. */
struct sixlane_meta;
void audit_tell(const struct audit *audit, struct sixlane_meta *meta);

#endif
