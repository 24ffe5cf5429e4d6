/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ports that `sixlane status` and `sixlane doctor` look at: those that the command line or
 * sixlaned's settings name, their programs, their entries in the maps, their queues.
 */
#ifndef USER_CLI_STATUS_PORT_H
#define USER_CLI_STATUS_PORT_H

#include "../lib/ethtool.h"
#include "print.h"

struct port_filter {
	bool all;	     /* no name is given */
	uint32_t *ifindexes; /* of the devices that exist */
	const char **absent; /* names of the others */
	size_t n, n_absent;
};

/* 0 or -ENOMEM. Free with port_filter_free(). */
int port_filter_parse(int argc, char **argv, struct port_filter *out);
void port_filter_free(struct port_filter *filter);
bool port_filter_has(const struct port_filter *filter, uint32_t ifindex);
/* Logs an error for each absent name. CMD_OK, or CMD_FAILED if there is one. */
int port_filter_log_absent(const struct port_filter *filter);

/* An array of the names in sixlaned's settings that no device has: "setting" and "name" of each. */
json_t *port_filter_missing(void);

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

json_t *status_port_json(const struct cmd_view *view, const struct status_port *port);
void status_ports_text(const struct cmd_options *options, const struct cmd_view *view,
		       const struct status_ports *ports);

/* False: no program for the device was refused, or it has got one since. */
bool refusals_read(const char *name, const struct status_ports *ports, struct loader_refusal *out);
json_t *refusals_json(const struct cmd_view *view, const struct status_ports *ports);
/* Logs each one as an error: where there are no maps, a refusal may be the reason. */
void refusals_log(void);

#endif
