// SPDX-License-Identifier: GPL-2.0-only
/* bench-packets: makes frames, has programs forward them, and counts what arrives. */
#include "packets_user.h"

int main(void)
{
	static const struct plan_step steps[] = {
		{ "load", object_load }, { "attach", object_attach }, { "fill", object_fill },
		{ "sums", object_sums }, { "run", run_lanes },	      { NULL, NULL },
	};

	/* What was read ahead poll() would not tell of. */
	setvbuf(stdin, NULL, _IONBF, 0);
	return plan_serve(steps, NULL);
}
