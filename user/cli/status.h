/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ports of `sixlane status`, between status.c, which judges them, and status_port.c,
 * which reads and shows them.
 */
#ifndef USER_CLI_STATUS_H
#define USER_CLI_STATUS_H

#include "../lib/ethtool.h"
#include "show.h"

struct status_port {
	const struct link *link;
	struct loader_prog prog;
	struct sixlane_port port;	  /* zero without a slot */
	uint32_t slot;			  /* 0: none */
	uint32_t link_id;		  /* of the BPF link that holds the program; 0: none */
	struct ethtool_channels channels; /* zero if its driver does not tell */
	int error;			  /* of the query: prog is not known */
	/* NETDEV_XDP_ACT_*, which doctor asks for where the kernel tells. */
	bool has_features;
	uint64_t xdp_features;
};

struct status_ports {
	struct status_port *at;
	size_t n;
};

/* The ports of the command line; all: it names none. */
struct status_asked {
	bool all;
	uint32_t *ifindexes; /* of those that are there */
	const char **absent; /* names of the others */
	size_t n, n_absent;
};

/*
 * The ports that run any XDP program or are served, slaves of served bonds too, and those that were
 * asked for by name. 0 or -ENOMEM.
 */
int status_ports_read(struct cmd_view *view, const struct status_asked *asked,
		      struct status_ports *ports);

/* Of its queues those in use; 0: not known. */
static inline uint32_t status_port_rx_in_use(const struct status_port *port)
{
	return port->channels.combined_count + port->channels.rx_count;
}

static inline uint32_t status_port_tx_in_use(const struct status_port *port)
{
	return port->channels.combined_count + port->channels.tx_count;
}

/* Why the datapath passes every packet that comes in here, NULL: it does not. */
const char *status_port_passed(const struct status_port *port);

static inline bool status_port_is_slave(const struct status_port *port)
{
	return port->port.flags & (SIXLANE_PORT_SLAVE | SIXLANE_PORT_BACKUP);
}

/* 0 or -ENOMEM. Free with status_asked_free(). */
int status_asked_find(int argc, char **argv, struct status_asked *out);
void status_asked_free(struct status_asked *asked);
bool status_asked_has(const struct status_asked *asked, uint32_t ifindex);
/* An error for each that is absent: CMD_OK or CMD_FAILED. */
int status_say_absent(const struct status_asked *asked);

/* An array of the names in sixlaned's settings that no device has: "setting" and "name" of each. */
json_t *status_missing_ports(void);

/* False: no program for the device was refused, or it has got one since. */
bool status_refusal_read(const char *name, const struct status_ports *ports,
			 struct loader_refusal *out);
json_t *status_refusals_json(const struct cmd_view *view, const struct status_ports *ports);
/* As errors, where there are no maps: there may be none because the program was refused. */
void status_say_refusals(void);

json_t *status_audit_json(const struct sixlane_meta *meta);
void status_audit_text(const struct cmd_options *options, const struct sixlane_meta *meta);

json_t *status_port_json(const struct cmd_view *view, const struct status_port *port);
void status_ports_text(const struct cmd_options *options, const struct cmd_view *view,
		       const struct status_ports *ports);

#endif
