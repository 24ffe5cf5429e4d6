/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets that the guard passes to the kernel, by reason. */
#ifndef USER_CLI_RESTRICTIONS_H
#define USER_CLI_RESTRICTIONS_H

#include "../guard/guard.h"
#include "print.h"

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
