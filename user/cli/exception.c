// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane exception: what single destinations have of their own, a Path MTU or another next hop.
 * The operator's are added and removed, those that the kernel has learnt are shown. Here are the
 * verbs and their words, which are checked as far as that takes no map: what is let through can be
 * written. Only the names of devices are looked up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "../lib/input.h"
#include "../lib/log.h"
#include "../netlink/socket_link.h"
#include "exception.h"

#define MTU_MIN 1280u /* RFC 8200 section 5 */
#define MTU_MAX 65535u
#define EXPIRES_MAX_S 4294967u /* what `ip route` takes, about: 2^32 ms */
#define NS_PER_S 1000000000ull

#define MAX_WORDS 16

bool exception_fail(char *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, EXCEPTION_ERR, fmt, ap);
	va_end(ap);
	return false;
}

/* --- one word ---------------------------------------------------------------------------- */

/* Unicast: neither ff00::/8 nor :: nor ::1. */
static bool parse_unicast(const char *word, const char *what, union sixlane_addr *out, char *err)
{
	struct in6_addr addr;

	if (inet_pton(AF_INET6, word, &addr) != 1)
		return exception_fail(err, "\"%s\" is not an IPv6 address", word);
	if (IN6_IS_ADDR_MULTICAST(&addr) || IN6_IS_ADDR_UNSPECIFIED(&addr) ||
	    IN6_IS_ADDR_LOOPBACK(&addr))
		return exception_fail(err, "%s %s: it must be a unicast address", what, word);
	memcpy(out, &addr, sizeof(*out));
	return true;
}

static bool take_dst(const char *word, struct exception *out, char *err)
{
	out->has_dst = parse_unicast(word, "destination", &out->dst, err);
	if (out->has_dst && IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)&out->dst))
		return exception_fail(err, "destination %s: link-local addresses are not forwarded",
				      word);
	return out->has_dst;
}

static bool take_table(const char *word, struct exception *out, char *err)
{
	return cmd_parse_table(word, &out->table) ||
	       exception_fail(err, "\"%s\" is not a table", word);
}

static bool take_mtu(const char *word, struct exception *out, char *err)
{
	return (cmd_parse_number(word, MTU_MAX, &out->value.mtu) && out->value.mtu >= MTU_MIN) ||
	       exception_fail(err, "mtu %s: it must be from %u to %u bytes", word, MTU_MIN,
			      MTU_MAX);
}

static bool take_via(const char *word, struct exception *out, char *err)
{
	return parse_unicast(word, "via", &out->value.gateway, err);
}

static bool take_dev(const char *word, struct exception *out, char *err)
{
	/* the daemon goes by the device's own name */
	uint32_t ifindex = nl_link_find(word, out->value.device);

	if (ifindex == LOOPBACK_IFINDEX)
		return exception_fail(err, "via a loopback device, which forwards nothing");
	return ifindex || exception_fail(err, "cannot find device \"%s\"", word);
}

static bool take_expires(const char *word, struct exception *out, char *err)
{
	uint32_t seconds;

	if (!cmd_parse_number(word, EXPIRES_MAX_S, &seconds) || !seconds)
		return exception_fail(err, "expires %s: it must be from 1 to %u seconds", word,
				      EXPIRES_MAX_S);
	out->value.expires_ns = out->value.added_ns + seconds * NS_PER_S;
	return true;
}

/* --- all words --------------------------------------------------------------------------- */

enum { WORD_TABLE, WORD_MTU, WORD_VIA, WORD_DEV, WORD_EXPIRES };

static const struct word {
	const char *name;
	bool (*take)(const char *word, struct exception *out, char *err);
} known[] = {
	[WORD_TABLE] = { "table", take_table },
	[WORD_MTU] = { "mtu", take_mtu },
	[WORD_VIA] = { "via", take_via },
	[WORD_DEV] = { "dev", take_dev },
	[WORD_EXPIRES] = { "expires", take_expires },
};

/* The first n_known of the words may be used. *seen: a bit for each. */
static bool take_pairs(int argc, char **argv, size_t n_known, uint32_t *seen, struct exception *out,
		       char *err)
{
	for (int i = 0; i < argc; i += 2) {
		size_t k = 0;

		while (k < n_known && strcmp(argv[i], known[k].name) != 0)
			k++;
		if (k == n_known)
			return exception_fail(err, "unexpected argument \"%s\"", argv[i]);
		if (i + 1 == argc)
			return exception_fail(err, "\"%s\" needs a value", argv[i]);
		if (*seen & 1u << k)
			return exception_fail(err, "\"%s\" is given twice", argv[i]);
		*seen |= 1u << k;
		if (!known[k].take(argv[i + 1], out, err))
			return false;
	}
	return true;
}

static bool check_whole(uint32_t seen, char *err)
{
	bool via = seen & 1u << WORD_VIA, dev = seen & 1u << WORD_DEV;

	if (via && !dev)
		return exception_fail(err, "via needs a device: \"via GW dev PORT\"");
	if (dev && !via)
		return exception_fail(err, "dev needs via: \"via GW dev PORT\"");
	return via || seen & 1u << WORD_MTU ||
	       exception_fail(
		       err,
		       "the exception is missing: give \"mtu N\", \"via GW dev PORT\" or both");
}

static bool parse(enum exception_verb verb, int argc, char **argv, struct exception *out, char *err)
{
	bool whole = verb >= EXCEPTION_ADD, needs_dst = verb >= EXCEPTION_DELETE;
	struct exception one = { .value.added_ns = util_now_ns() };
	bool has_dst = needs_dst || (argc && strcmp(argv[0], known[WORD_TABLE].name) != 0);
	uint32_t seen = 0;

	if (verb == EXCEPTION_FLUSH && has_dst)
		return exception_fail(err, "unexpected argument \"%s\"", argv[0]);
	if (has_dst && !argc)
		return exception_fail(err, "a destination is needed");
	if (has_dst && !take_dst(argv[0], &one, err))
		return false;
	if (!take_pairs(argc - has_dst, argv + has_dst, whole ? ARRAY_SIZE(known) : WORD_TABLE + 1,
			&seen, &one, err))
		return false;
	if (whole && !check_whole(seen, err))
		return false;
	if (needs_dst && !one.table)
		one.table = SIXLANE_TABLE_MAIN;
	one.value.table = one.table;
	*out = one;
	return true;
}

/* --- all lines --------------------------------------------------------------------------- */

/* Words as the shell would split them without quotes; "#" ends the line. */
static bool parse_line(enum exception_verb verb, char *line, unsigned int number,
		       struct exceptions *out, char *err)
{
	char *argv[MAX_WORDS], *save = NULL, why[EXCEPTION_ERR];
	struct exception one;
	int argc = 0;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t\r\n", &save); word;
	     word = strtok_r(NULL, " \t\r\n", &save)) {
		if (argc == MAX_WORDS)
			return exception_fail(err, "line %u: the line has too many words", number);
		argv[argc++] = word;
	}
	if (!argc)
		return true;
	if (!parse(verb, argc, argv, &one, why))
		return exception_fail(err, "line %u: %s", number, why);
	one.line = number;
	return !exception_append(out, &one) || exception_fail(err, "out of memory");
}

static bool parse_lines(enum exception_verb verb, FILE *from, struct exceptions *out, char *err)
{
	_cleanup_free_ char *line = NULL;
	unsigned int number = 0;
	size_t size = 0;
	bool good = true;
	ssize_t n;

	while (good && (n = getline(&line, &size, from)) >= 0) {
		number++;
		good = strlen(line) == (size_t)n
			       ? parse_line(verb, line, number, out, err)
			       : exception_fail(err, "line %u: it is not text", number);
	}
	if (good && ferror(from))
		good = exception_fail(err, "cannot read the list: %s", strerror(errno));
	return good;
}

/* --- the verbs --------------------------------------------------------------------------- */

static int change_lines(const struct cmd_options *options, enum exception_verb verb)
{
	struct exceptions list = { 0 };
	char err[EXCEPTION_ERR];
	int rc = CMD_USAGE;

	if (parse_lines(verb, stdin, &list, err))
		rc = exception_change(options, verb, &list);
	else
		log_error("%s", err);
	free(list.at);
	return rc;
}

static const struct cmd verbs[] = {
	[EXCEPTION_SHOW] = { .name = "show" },	 [EXCEPTION_LIST] = { .name = "list" },
	[EXCEPTION_FLUSH] = { .name = "flush" }, [EXCEPTION_DELETE] = { .name = "delete" },
	[EXCEPTION_ADD] = { .name = "add" },	 [EXCEPTION_REPLACE] = { .name = "replace" },
};

static int run(const struct cmd_options *options, int argc, char **argv)
{
	static const struct cmd_verbs all = { &cmd_exception, verbs, ARRAY_SIZE(verbs),
					      "add, replace, delete, show, flush" };
	const struct cmd *said = argc ? cmd_find_verb(&all, argv[0]) : &verbs[EXCEPTION_SHOW];
	const enum exception_verb verb = said ? (enum exception_verb)(said - verbs) : 0;
	struct exception one;
	char err[EXCEPTION_ERR];

	if (!said)
		return CMD_USAGE;
	argv += argc > 0;
	argc -= argc > 0;
	if (verb >= EXCEPTION_DELETE && argc == 1 && input_is_stdin(argv[0]))
		return change_lines(options, verb);
	if (!parse(verb, argc, argv, &one, err))
		return cmd_usage(&cmd_exception, "%s", err);
	if (verb <= EXCEPTION_LIST)
		return exception_show(options, &one);
	return exception_change(options, verb, &(struct exceptions){ .at = &one, .n = 1 });
}

const struct cmd cmd_exception = {
	.name = "exception",
	.args = "[show [DST] [table T]]\n"
		"            add|replace DST [mtu N] [via GW dev PORT] [expires SEC] [table T]\n"
		"            delete DST [table T] | flush [table T] | add|replace|delete -",
	.help = "exceptions of single destinations: Path MTU, next hop",
	.run = run,
};
