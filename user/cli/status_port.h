/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ports that `sixlane status` shows: their programs, their entries in the maps, their queues.
 */
#ifndef USER_CLI_STATUS_PORT_H
#define USER_CLI_STATUS_PORT_H

#include "../lib/ethtool.h"
#include "port_filter.h"
#include "print.h"

struct status_port {
	const struct link *link;
	struct loader_prog prog;
	int error;			  /* 0, or -errno: prog could not be read */
	struct sixlane_port port;	  /* zero without a slot */
	uint32_t slot;			  /* 0: none */
	uint32_t link_id;		  /* the BPF link that holds the program; 0: none */
	struct ethtool_channels channels; /* zero if the driver does not report them */
	uint32_t rx_in_use, tx_in_use;	  /* queues; 0: unknown */
	bool has_features;		  /* set by `sixlane doctor`, as the next one */
	uint64_t xdp_features;		  /* NETDEV_XDP_ACT_* */
};

struct status_ports {
	struct status_port *at;
	size_t n;
};

/* Reads the ports that run an XDP program, are served, or belong to a served bond, and those that
 * were asked for by name. 0 or -ENOMEM. Free at. */
int status_ports_read(struct cmd_view *view, const struct port_filter *filter,
		      struct status_ports *ports);

/* Why all packets that the port receives pass to the kernel; NULL: they do not. */
const char *status_port_passed(const struct status_port *port);
bool status_port_is_slave(const struct status_port *port);
/* It runs sixlane, with these maps or others. */
bool status_port_runs_sixlane(const struct status_port *port);

json_t *status_port_json(const struct cmd_view *view, const struct status_port *port);
void status_ports_text(const struct cmd_options *options, const struct cmd_view *view,
		       const struct status_ports *ports);

#endif
