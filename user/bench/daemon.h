/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sixlaned that is measured: started in the caller's network namespace with the bpffs that is
 * mounted there, and its maps. Ends with the caller, however that ends.
 *
 * Functions return 0 or -errno and say on stderr what failed; -EINTR with nothing said.
 */
#ifndef USER_BENCH_DAEMON_H
#define USER_BENCH_DAEMON_H

#include <sys/types.h>

#include "bench.h"

struct bench_daemon {
	pid_t pid;		   /* 0: none */
	bool has_maps, has_failed; /* to build its compiled FIB */
	uint64_t generation;	   /* of the maps, before it was started */
	struct loader_maps fds;
	struct maps maps;
};

struct bench_daemon_want {
	const char *ports[2];
	bool assume_xmit; /* they take redirected frames, though the kernel does not say so */
	size_t routes;	  /* that the kernel has: filling takes the longer */
};

/* -ENOMEM: this machine has too little for a router with so many routes. */
int bench_daemon_check_memory(const struct bench_table *table);

/* In step with the kernel's routes, and with a compiled FIB, on return. */
int bench_daemon_start(const struct bench_daemon_want *want, struct bench_daemon *out);
/* -ECHILD: it has ended by itself. */
int bench_daemon_check(struct bench_daemon *daemon);
/* As an operator stops it: what it has loaded stays, and forwards. -ETIMEDOUT. */
int bench_daemon_quit(struct bench_daemon *daemon);
/* At once, and its maps are closed. */
void bench_daemon_end(struct bench_daemon *daemon);

/* SIXLANE_ENGINE_*: which one answers from the next packet on; -EPROTO: it does not. */
int bench_daemon_choose(struct bench_daemon *daemon, uint32_t engine);

bool bench_daemon_answers(const struct bench_daemon *daemon, uint32_t engine);

/* It does nothing more, and the maps stay as they are: for what it should not see. */
void bench_daemon_stop(struct bench_daemon *daemon);

#endif
