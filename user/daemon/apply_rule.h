/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules: read as a whole, compiled, published as a whole.
 */
#ifndef USER_DAEMON_APPLY_RULE_H
#define USER_DAEMON_APPLY_RULE_H

struct nlmsghdr;
struct sync;

/*
 * RTM_NEWRULE, RTM_DELRULE. During a dump: into the list. Otherwise every packet passes until the
 * list is read again. 0 or -errno.
 */
int apply_rule(struct sync *sync, const struct nlmsghdr *nlh);
/* A whole list was read, or a device that rules may name came, went or was renamed. */
void apply_rules(struct sync *sync);

#endif
