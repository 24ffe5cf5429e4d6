/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the daemon's guard holds back, and why: the flags are the maps', the reasons are read anew,
 * by the same code as the daemon's.
 */
#ifndef USER_CLI_GUARD_H
#define USER_CLI_GUARD_H

#include "../guard/guard.h"
#include "cmd.h"
#include "print.h"

struct cmd_guard {
	struct guard *guard;
	struct links links;
};

/* Without maps nothing is bypassed. 0 or -errno. Close with cmd_guard_close(). */
int cmd_guard_open(const struct cmd_view *view, struct cmd_guard *out);
void cmd_guard_close(struct cmd_guard *guard);

/*
 * Why a verdict of the guard's holds packets back that come in by a port and leave by a device
 * (ifindex; 0: any). src, dst: NULL: any. In GUARD_REASON_LEN bytes, always.
 */
void cmd_guard_reason(const struct cmd_guard *guard, enum sixlane_verdict verdict,
		      const struct sixlane_port *in, uint32_t out, const union sixlane_addr *src,
		      const union sixlane_addr *dst, char *reason);

/* --- status_guard.c -------------------------------------------------------------- */

/* Packets that are held back for one reason: from some ports, to some or (n_to 0) to all. */
struct held {
	enum sixlane_verdict verdict;
	char reason[GUARD_REASON_LEN];
	const char **from, **to; /* names, of the view's ports; owned are the arrays */
	size_t n_from, n_to;
};

struct held_list {
	struct held *at;
	size_t n;
};

/* All that the maps hold back at ports that are served. 0 or -errno. */
int held_read(const struct cmd_view *view, struct held_list *out);
/* What a daemon would hold back between these devices if it served them. 0 or -errno. */
int held_foresee(const struct cmd_view *view, const struct link *const *links, size_t n,
		 struct held_list *out);
void held_free(struct held_list *list);
/* "packets from p0, p1 to p2 pass to the kernel (pass_firewall): REASON" */
void held_text(const struct held *held, char *buf, size_t size);
json_t *held_json(const struct cmd_view *view, const struct held_list *list);

#endif
