/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How values look on the screen and in JSON. A JSON value that could not be made for lack of memory
 * is remembered, so that builders need not check every step: print_json and print_list_end fail.
 */
#ifndef USER_CLI_PRINT_H
#define USER_CLI_PRINT_H

#include <jansson.h>

#include "cmd.h"

#define PRINT_PREFIX_LEN 64
#define PRINT_MAC_LEN 18

/* "2001:db8::/32"; the address alone when len is 128 and bare is set. */
void print_prefix(const union sixlane_addr *addr, uint32_t len, bool bare,
		  char buf[PRINT_PREFIX_LEN]);
void print_mac(const uint8_t mac[6], char buf[PRINT_MAC_LEN]);

void print_set(json_t *object, const char *key, json_t *value);
void print_append(json_t *array, json_t *value);
/* value in units of step, rounded, as a number of units of step * per: 1,234,567 ns, 1000,
 * 1000: 1.235. */
double print_rounded(uint64_t value, uint32_t step, uint32_t per);

json_t *print_string(const char *string);

/* The names of the bits that are set, as "a, b" or as an array. name: NULL behind the last bit. */
void print_bits(uint32_t bits, const char *(*name)(uint32_t bit), char *buf, size_t room);
json_t *print_bits_json(uint32_t bits, const char *(*name)(uint32_t bit));

/* One value and a line end on stdout; the value is released. CMD_OK or CMD_FAILED (said). */
int print_json(const struct cmd_options *options, json_t *value);

/* A JSON array of any length, element by element, on stdout. */
struct print_list {
	const struct cmd_options *options;
	size_t n;
};
void print_list_add(struct print_list *list, json_t *value); /* the value is released */
int print_list_end(struct print_list *list);		     /* CMD_OK or CMD_FAILED (said) */

/* Flush stdout: CMD_OK or CMD_FAILED (said). */
int print_flush(void);

#endif
