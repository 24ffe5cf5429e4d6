// SPDX-License-Identifier: GPL-2.0-only
/* See guard.h. */
#include "guard.h"

#include <string.h>

int cmd_guard_open(const struct cmd_view *view, struct cmd_guard *out)
{
	struct cmd_guard opened = { 0 };
	uint32_t bypassed = view->maps.meta ? (uint32_t)view->maps.meta->bypassed : 0;
	uint64_t due_ns;
	bool changed;
	int ret = guard_new(bypassed, 0, &opened.guard);

	for (size_t i = 0; !ret && i < view->ports.n; i++)
		ret = links_set(&opened.links, &view->ports.links[i], &changed);
	if (ret) {
		cmd_guard_close(&opened);
		return ret;
	}
	guard_run(opened.guard, &opened.links, &due_ns);
	*out = opened;
	return 0;
}

void cmd_guard_close(struct cmd_guard *guard)
{
	guard_free(guard->guard);
	links_clear(&guard->links);
}

void cmd_guard_reason(const struct cmd_guard *guard, enum sixlane_verdict verdict,
		      const struct sixlane_port *in, uint32_t out, const union sixlane_addr *src,
		      const union sixlane_addr *dst, char *reason)
{
	const struct device *from = links_find(&guard->links, in->ifindex);
	const struct device *to = out ? links_find(&guard->links, out) : NULL;
	const enum guard_cause cause = verdict == SIXLANE_PASS_IPSEC ? GUARD_XFRM
				       : verdict == SIXLANE_PASS_TC  ? GUARD_TC
								     : GUARD_NETFILTER;
	size_t length;

	if (!from || !guard_reason(guard->guard, &guard->links, cause, from, to, src, dst, reason))
		snprintf(reason, GUARD_REASON_LEN,
			 "nothing now: sixlaned is about to read it again");
	if (verdict != SIXLANE_PASS_FIREWALL || !(in->flags & SIXLANE_PORT_FLOWS))
		return;
	length = strlen(reason);
	snprintf(reason + length, GUARD_REASON_LEN - length, "%s",
		 "; XDP forwards the packets of the port's flowtables");
}
