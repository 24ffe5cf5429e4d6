/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ports that the command line of `sixlane status` or `sixlane doctor` names, and those that
 * sixlaned's settings name.
 */
#ifndef USER_CLI_PORT_FILTER_H
#define USER_CLI_PORT_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
