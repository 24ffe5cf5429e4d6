// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane exception: Path MTUs and next hops of single destinations. This file parses the command
 * line or a list on standard input. It checks all that needs no map, so that what passes can be
 * written. Only devices are looked up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "../lib/input.h"
#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "exception.h"

#define MTU_MIN 1280u /* RFC 8200 section 5 */
#define MTU_MAX 65535u
#define EXPIRES_MAX_S 4294967u /* 2^32 ms, the limit of `ip route` */
#define NS_PER_S 1000000000ull

#define MAX_WORDS 16
#define BLANKS " \t\r\n"

/* The other verbs are enum exception_change. */
enum { SHOW = EXCEPTION_REPLACE + 1, LIST };

static bool sets(int verb)
{
	return verb == EXCEPTION_ADD || verb == EXCEPTION_REPLACE;
}

static bool needs_dst(int verb)
{
	return sets(verb) || verb == EXCEPTION_DELETE;
}

/* Logs what is wrong with a line of the list, or with the command. False. */
static _printf_(2, 3) bool refuse(const struct exception *one, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (one->line)
		log_error("line %u: %s", one->line, why);
	else
		cmd_usage(&cmd_exception, "%s", why);
	return false;
}

/* --- one word ---------------------------------------------------------------------------- */

/* Unicast: neither ff00::/8 nor :: nor ::1. */
static bool parse_unicast(const struct exception *one, const char *what, const char *word,
			  union sixlane_addr *out)
{
	struct in6_addr addr;

	if (inet_pton(AF_INET6, word, &addr) != 1)
		return refuse(one, "\"%s\" is not an IPv6 address", word);
	if (IN6_IS_ADDR_MULTICAST(&addr) || IN6_IS_ADDR_UNSPECIFIED(&addr) ||
	    IN6_IS_ADDR_LOOPBACK(&addr))
		return refuse(one, "%s %s: it must be a unicast address", what, word);
	memcpy(out, &addr, sizeof(*out));
	return true;
}

static bool parse_dst(const char *word, struct exception *one)
{
	one->has_dst = parse_unicast(one, "destination", word, &one->dst);
	if (one->has_dst && IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)&one->dst))
		return refuse(one, "destination %s: link-local addresses are not forwarded", word);
	return one->has_dst;
}

static bool parse_table(const char *word, struct exception *one)
{
	return args_parse_table(word, &one->value.table) ||
	       refuse(one, "\"%s\" is not a table", word);
}

static bool parse_mtu(const char *word, struct exception *one)
{
	return (args_parse_number(word, MTU_MAX, &one->value.mtu) && one->value.mtu >= MTU_MIN) ||
	       refuse(one, "mtu %s: it must be from %u to %u bytes", word, MTU_MIN, MTU_MAX);
}

static bool parse_via(const char *word, struct exception *one)
{
	return parse_unicast(one, "via", word, &one->value.gateway);
}

static bool parse_dev(const char *word, struct exception *one)
{
	/* the daemon knows the device's own name only */
	uint32_t ifindex = nl_link_find(word, one->value.device);

	if (ifindex == LOOPBACK_IFINDEX)
		return refuse(one, "via a loopback device, which forwards nothing");
	return ifindex || refuse(one, "cannot find device \"%s\"", word);
}

static bool parse_expires(const char *word, struct exception *one)
{
	uint32_t seconds;

	if (!args_parse_number(word, EXPIRES_MAX_S, &seconds) || !seconds)
		return refuse(one, "expires %s: it must be from 1 to %u seconds", word,
			      EXPIRES_MAX_S);
	one->value.expires_ns = one->value.added_ns + seconds * NS_PER_S;
	return true;
}

/* --- all words --------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool (*parse)(const char *word, struct exception *one);
} known[] = {
	{ "table", parse_table }, /* first: the only one of other verbs */
	{ "mtu", parse_mtu },	  { "via", parse_via },
	{ "dev", parse_dev },	  { "expires", parse_expires },
};

/* Only the first n_known keywords are allowed. */
static bool parse_pairs(int argc, char **argv, size_t n_known, struct exception *one)
{
	uint32_t seen = 0; /* bit by bit */

	for (int i = 0; i < argc; i += 2) {
		size_t k = 0;

		while (k < n_known && strcmp(argv[i], known[k].name) != 0)
			k++;
		if (k == n_known)
			return refuse(one, "unexpected argument \"%s\"", argv[i]);
		if (i + 1 == argc)
			return refuse(one, "\"%s\" needs a value", argv[i]);
		if (seen & 1u << k)
			return refuse(one, "\"%s\" is given twice", argv[i]);
		seen |= 1u << k;
		if (!known[k].parse(argv[i + 1], one))
			return false;
	}
	return true;
}

static bool check_whole(const struct exception *one)
{
	const bool via = !IN6_IS_ADDR_UNSPECIFIED((const struct in6_addr *)&one->value.gateway);
	const bool dev = *one->value.device;

	if (via != dev)
		return refuse(one, "%s: \"via GW dev PORT\"",
			      via ? "via needs a device" : "dev needs via");
	return via || one->value.mtu ||
	       refuse(one, "the exception is missing: give \"mtu N\", \"via GW dev PORT\" or both");
}

/* Appends an exception to the list. line: 0 of the command line. False after logging. */
static bool parse(int verb, int argc, char **argv, unsigned int line, struct exceptions *list)
{
	const bool may_be_dst = argc && strcmp(argv[0], known[0].name) != 0;
	const int n_dst = needs_dst(verb) || (verb != EXCEPTION_FLUSH && may_be_dst);
	struct exception one = { .line = line, .value.added_ns = util_now_ns() };

	if (n_dst > argc)
		return refuse(&one, "a destination is needed");
	if (n_dst && !parse_dst(argv[0], &one))
		return false;
	if (!parse_pairs(argc - n_dst, argv + n_dst, sets(verb) ? ARRAY_SIZE(known) : 1, &one) ||
	    (sets(verb) && !check_whole(&one)))
		return false;
	if (needs_dst(verb) && !one.value.table)
		one.value.table = SIXLANE_TABLE_MAIN;
	return !exception_append(list, &one) || refuse(&one, "out of memory");
}

/* --- a list ------------------------------------------------------------------------------ */

/* Words are separated by blanks; "#" begins a comment. */
static bool parse_line(int verb, char *text, size_t length, unsigned int line,
		       struct exceptions *list)
{
	const struct exception at = { .line = line };
	char *argv[MAX_WORDS], *save = NULL;
	int argc = 0;

	if (strlen(text) != length)
		return refuse(&at, "it is not text");
	text[strcspn(text, "#")] = '\0';
	for (char *word = strtok_r(text, BLANKS, &save); word;
	     word = strtok_r(NULL, BLANKS, &save)) {
		if (argc == MAX_WORDS)
			return refuse(&at, "the line has too many words");
		argv[argc++] = word;
	}
	return !argc || parse(verb, argc, argv, line, list);
}

static bool parse_lines(int verb, FILE *from, struct exceptions *list)
{
	_cleanup_free_ char *text = NULL;
	unsigned int line = 0;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&text, &size, from)) >= 0) {
		if (!parse_line(verb, text, (size_t)length, ++line, list))
			return false;
	}
	if (ferror(from))
		log_error("cannot read the list: %s", strerror(errno));
	return !ferror(from);
}

/* --- the verbs --------------------------------------------------------------------------- */

static const char *const verbs[] = {
	[EXCEPTION_FLUSH] = "flush",
	[EXCEPTION_DELETE] = "delete",
	[EXCEPTION_ADD] = "add",
	[EXCEPTION_REPLACE] = "replace",
	[SHOW] = "show",
	[LIST] = "list",
};

static int run(const struct cmd_options *options, int argc, char **argv)
{
	const int verb = argc ? cmd_find_verb(&cmd_exception, verbs, ARRAY_SIZE(verbs),
					      "add, replace, delete, show, flush", argv[0])
			      : SHOW;
	struct exceptions list = { 0 };
	int rc = CMD_USAGE;
	bool good;

	if (verb < 0)
		return CMD_USAGE;
	argv += argc > 0;
	argc -= argc > 0;
	good = needs_dst(verb) && argc == 1 && input_is_stdin(argv[0])
		       ? parse_lines(verb, stdin, &list)
		       : parse(verb, argc, argv, 0, &list);
	if (good)
		rc = verb >= SHOW ? exception_show(options, &list.at[0])
				  : exception_change(options, (enum exception_change)verb, &list);
	free(list.at);
	return rc;
}

const struct cmd cmd_exception = {
	.name = "exception",
	.args = "[show [DST] [table T]]\n"
		"            add|replace DST [mtu N] [via GW dev PORT] [expires SEC] [table T]\n"
		"            delete DST [table T] | flush [table T] | add|replace|delete -",
	.help = "exceptions of single destinations: Path MTU, next hop",
	.run = run,
};
