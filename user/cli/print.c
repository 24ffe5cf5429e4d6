// SPDX-License-Identifier: GPL-2.0-only
/* See print.h. */
#include "print.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../lib/log.h"

static bool out_of_memory;

const char *print_addr(const union sixlane_addr *addr, char buf[PRINT_PREFIX_LEN])
{
	return inet_ntop(AF_INET6, addr, buf, PRINT_PREFIX_LEN);
}

const char *print_prefix(const union sixlane_addr *addr, uint32_t len, char buf[PRINT_PREFIX_LEN])
{
	print_addr(addr, buf);
	snprintf(buf + strlen(buf), PRINT_PREFIX_LEN - strlen(buf), "/%u", len);
	return buf;
}

const char *print_mac(const uint8_t mac[6], char buf[PRINT_MAC_LEN])
{
	snprintf(buf, PRINT_MAC_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return buf;
}

const char *print_covering(const union sixlane_addr *addr, uint32_t len, char buf[PRINT_PREFIX_LEN])
{
	struct prefix prefix = { .addr = *addr, .len = len < 128 ? (uint8_t)len : 128 };

	prefix_mask(&prefix);
	return print_prefix(&prefix.addr, len, buf);
}

double print_ms(uint64_t ns)
{
	const uint64_t us = (ns + 500) / 1000;

	return (double)us / 1000;
}

double print_seconds(uint64_t ns)
{
	const uint64_t ms = (ns + 500000) / 1000000;

	return (double)ms / 1000;
}

void print_bits(uint32_t bits, const char *const *names, size_t n, char *buf, size_t size)
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < n && used < size; i++)
		if (bits >> i & 1)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 names[i]);
}

json_t *print_bits_json(uint32_t bits, const char *const *names, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		if (bits >> i & 1)
			print_append(array, names[i]);
	return array;
}

void print_set_json(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		out_of_memory = true;
}

json_t *print_same(json_t *value)
{
	return value;
}

json_t *print_bool(bool value)
{
	return json_boolean(value);
}

json_t *print_string(const char *string)
{
	return string ? json_string(string) : json_null();
}

json_t *print_nonzero(uint32_t number)
{
	return number ? json_integer(number) : json_null();
}

void print_append_json(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		out_of_memory = true;
}

int print_flush(void)
{
	if (out_of_memory) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write: %s", strerror(errno));
		return CMD_FAILED;
	}
	return CMD_OK;
}

static void dump(const struct cmd_options *options, json_t *value)
{
	size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(9);

	flags |= options->pretty ? JSON_INDENT(4) : JSON_COMPACT;
	if (!value || json_dumpf(value, stdout, flags))
		out_of_memory |= !ferror(stdout);
	json_decref(value);
}

int print_json(const struct cmd_options *options, json_t *value)
{
	dump(options, value);
	putchar('\n');
	return print_flush();
}

void print_list_add(struct print_list *list, json_t *value)
{
	fputs(list->n++ ? ",\n" : "[", stdout);
	dump(list->options, value);
}

int print_list_end(struct print_list *list)
{
	fputs(list->n ? "]\n" : "[]\n", stdout);
	return print_flush();
}
