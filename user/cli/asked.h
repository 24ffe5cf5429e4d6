/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ports that the command line of `sixlane status` or `sixlane doctor` names, and those that
 * sixlaned's settings name.
 */
#ifndef USER_CLI_ASKED_H
#define USER_CLI_ASKED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asked {
	bool all;	     /* no name is given */
	uint32_t *ifindexes; /* of the devices that exist */
	const char **absent; /* names of the others */
	size_t n, n_absent;
};

/* 0 or -ENOMEM. Free with asked_free(). */
int asked_find(int argc, char **argv, struct asked *out);
void asked_free(struct asked *asked);
bool asked_has(const struct asked *asked, uint32_t ifindex);
/* Logs an error for each absent name. CMD_OK, or CMD_FAILED if there is one. */
int asked_log_absent(const struct asked *asked);

/* An array of the names in sixlaned's settings that no device has: "setting" and "name" of each. */
json_t *asked_missing_ports(void);

#endif
