// SPDX-License-Identifier: GPL-2.0-only
/*
 * See print.h.
 */
#include "print.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../lib/log.h"

static bool out_of_memory;

void print_prefix(const union sixlane_addr *addr, uint32_t len, bool bare,
		  char buf[PRINT_PREFIX_LEN])
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET6, addr, text, sizeof(text));
	if (bare && len == 128)
		snprintf(buf, PRINT_PREFIX_LEN, "%s", text);
	else
		snprintf(buf, PRINT_PREFIX_LEN, "%s/%u", text, len);
}

void print_mac(const uint8_t mac[6], char buf[PRINT_MAC_LEN])
{
	snprintf(buf, PRINT_MAC_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
}

void print_set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		out_of_memory = true;
}

void print_append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		out_of_memory = true;
}

void print_bits(uint32_t bits, const char *(*name)(uint32_t bit), char *buf, size_t room)
{
	size_t used = 0;

	*buf = '\0';
	for (uint32_t bit = 1; name(bit) && used < room; bit <<= 1) {
		if (bits & bit)
			used += (size_t)snprintf(buf + used, room - used, "%s%s", used ? ", " : "",
						 name(bit));
	}
}

json_t *print_bits_json(uint32_t bits, const char *(*name)(uint32_t bit))
{
	json_t *array = json_array();

	for (uint32_t bit = 1; name(bit); bit <<= 1) {
		if (bits & bit)
			print_append(array, print_string(name(bit)));
	}
	return array;
}

double print_rounded(uint64_t value, uint32_t step, uint32_t per)
{
	uint64_t steps = (value + step / 2) / step;

	return (double)steps / per;
}

json_t *print_string(const char *string)
{
	return string ? json_string(string) : json_null();
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
