/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values on the screen and in JSON. A JSON value that cannot be allocated is remembered, so that
 * builders need not check every step: print_json(), print_list_end() and print_flush() then fail.
 */
#ifndef USER_CLI_PRINT_H
#define USER_CLI_PRINT_H

#include <jansson.h>

#include "cmd.h"

#define PRINT_PREFIX_LEN 64
#define PRINT_MAC_LEN 18

/* Text in buf, which is returned: "2001:db8::1", "2001:db8::/32", "02:00:00:00:00:01". */
const char *print_addr(const union sixlane_addr *addr, char buf[PRINT_PREFIX_LEN]);
const char *print_prefix(const union sixlane_addr *addr, uint32_t len, char buf[PRINT_PREFIX_LEN]);
const char *print_mac(const uint8_t mac[6], char buf[PRINT_MAC_LEN]);
/* The prefix of len bits that contains addr. */
const char *print_covering(const union sixlane_addr *addr, uint32_t len,
			   char buf[PRINT_PREFIX_LEN]);

double print_ms(uint64_t ns);	   /* rounded to a microsecond */
double print_seconds(uint64_t ns); /* rounded to a millisecond */

/* The names of the set bits, separated by ", ". names[i] is bit i's. */
void print_bits(uint32_t bits, const char *const *names, size_t n, char *buf, size_t size);
json_t *print_bits_json(uint32_t bits, const char *const *names, size_t n);

/* A JSON value of a JSON value (taken over), a string (NULL: null), a bool, a double or an unsigned
 * number. An int does not compile: it might be meant as a bool. */
#define print_value(value) \
	_Generic((value),                       \
		json_t *: print_same,           \
		char *: print_string,           \
		const char *: print_string,     \
		bool: print_bool,               \
		double: json_real,              \
		uint8_t: json_integer,          \
		uint16_t: json_integer,         \
		uint32_t: json_integer,         \
		uint64_t: json_integer,         \
		unsigned long long: json_integer)(value)
json_t *print_same(json_t *value);
json_t *print_string(const char *string);
json_t *print_bool(bool value);
json_t *print_nonzero(uint32_t number); /* 0: null */

#define print_set(object, key, value) print_set_json(object, key, print_value(value))
#define print_append(array, value) print_append_json(array, print_value(value))
void print_set_json(json_t *object, const char *key, json_t *value);
void print_append_json(json_t *array, json_t *value);

/* Writes one value, which is taken over, and a line end to stdout. CMD_OK, or CMD_FAILED after
 * logging. */
int print_json(const struct cmd_options *options, json_t *value);

/* A JSON array that is written element by element. */
struct print_list {
	const struct cmd_options *options;
	size_t n;
};
void print_list_add(struct print_list *list, json_t *value); /* value is taken over */
int print_list_end(struct print_list *list);		     /* as print_json() */

/* Flushes stdout. CMD_OK, or CMD_FAILED after logging. */
int print_flush(void);

#endif
