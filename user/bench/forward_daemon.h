/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sixlaned that is measured: started in the caller's network namespace with the bpffs that is
 * mounted there, and its maps. Ends with the caller, however that ends.
 *
 * Functions return 0 or -errno and say on stderr what failed; -EINTR with nothing said.
 */
#ifndef BENCH_FORWARD_DAEMON_H
#define BENCH_FORWARD_DAEMON_H

#include <sys/types.h>

#include "bench.h"

struct forward_daemon {
	pid_t pid;		   /* 0: none */
	bool has_maps, has_failed; /* to build its compiled FIB */
	struct loader_maps fds;
	struct maps maps;
};

/* Serves p0 and p1; in step with the kernel's routes, which are so many, and with a compiled FIB,
 * on return. */
int forward_daemon_start(size_t routes, struct forward_daemon *out);
void forward_daemon_end(struct forward_daemon *daemon);

/* SIXLANE_ENGINE_*: which one answers from the next packet on; -EPROTO: it does not. */
int forward_daemon_choose(struct forward_daemon *daemon, uint32_t engine);

/* It does nothing more, and the maps stay as they are: for what it should not see. */
void forward_daemon_stop(struct forward_daemon *daemon);

#endif
