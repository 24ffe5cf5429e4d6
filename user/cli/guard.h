/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The packets that the guard passes to the kernel, by reason. The maps have flags only, so the
 * reasons are read again, by the daemon's code.
 */
#ifndef USER_CLI_GUARD_H
#define USER_CLI_GUARD_H

#include "../guard/guard.h"
#include "print.h"

struct cmd_guard {
	struct guard *guard;
	struct links links;
};

/* Without maps nothing is bypassed. 0 or -errno. Close with cmd_guard_close(). */
int cmd_guard_open(const struct cmd_view *view, struct cmd_guard *out);
void cmd_guard_close(struct cmd_guard *guard);

/* Writes the reason for a verdict of the guard into GUARD_REASON_LEN bytes, always. For packets
 * that come in by a port and leave by a device (ifindex; 0: any). src, dst: NULL: any. */
void cmd_guard_reason(const struct cmd_guard *guard, enum sixlane_verdict verdict,
		      const struct sixlane_port *in, uint32_t out, const union sixlane_addr *src,
		      const union sixlane_addr *dst, char *reason);

/* Packets from some ports to some ports, or to all (n_to is 0). */
struct restriction {
	enum sixlane_verdict verdict;
	char reason[GUARD_REASON_LEN];
	const char **from, **to; /* arrays are owned; names are the view's */
	size_t n_from, n_to;
};

/* All zero at first. Free with restrictions_free(). */
struct restrictions {
	struct restriction *at;
	size_t n;
};

/* Those that the maps contain for served ports. 0, or -errno and nothing to free. */
int restrictions_read(const struct cmd_view *view, struct restrictions *out);
/* Those that there would be between these devices if a daemon served them. The same. */
int restrictions_predict(const struct cmd_view *view, const struct link *const *links, size_t n,
			 struct restrictions *out);
void restrictions_free(struct restrictions *list);

/* "packets from p0, p1 to p2 pass to the kernel (pass_firewall): REASON" */
void restriction_text(const struct restriction *restriction, char *buf, size_t size);
/* bypassed and restricted */
json_t *restrictions_json(const struct cmd_view *view, const struct restrictions *list);

#endif
