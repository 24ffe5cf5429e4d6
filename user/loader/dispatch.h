/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sixlane under libxdp's dispatcher, beside other XDP programs. dispatch.c alone includes
 * libxdp.h with its programs: that header and rib/link.h both have an enum xdp_mode, so nothing
 * here may include rib/link.h.
 */
#ifndef USER_LOADER_DISPATCH_H
#define USER_LOADER_DISPATCH_H

#include <stdint.h>

#define DISPATCH_MAX_PROGS 16
/* The name of the program that libxdp attaches in front of all others. */
#define DISPATCH_PROG_NAME "xdp_dispatcher"

/* Ids of the programs that run under the dispatcher of a port. Their number or -errno. */
int dispatch_progs(int ifindex, uint32_t ids[DISPATCH_MAX_PROGS]);

/* Loads the object's program under the dispatcher of a port. port: its name. 0 or -errno. */
int dispatch_attach(const char *object, const char *pin_dir, int ifindex, const char *port,
		    char *err);

/* Takes one program out of the dispatcher; the last one removes it as well. 0 or -errno. */
int dispatch_detach(int ifindex, uint32_t prog_id, const char *port, char *err);

#endif
