// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words of `sixlane exception`, checked as far as that takes no map: what is let through here
 * can be written. Only the names of devices are looked up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "../netlink/socket_link.h"
#include "exception.h"

#define MTU_MIN 1280u /* RFC 8200 section 5 */
#define MTU_MAX 65535u
#define EXPIRES_MAX_S 4294967u /* what `ip route` takes, about: 2^32 ms */
#define NS_PER_S 1000000000ull

#define MAX_WORDS 16

static bool fail(char err[EXCEPTION_ERR], const char *fmt, ...) _printf_(2, 3);
static bool fail(char err[EXCEPTION_ERR], const char *fmt, ...)
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
		return fail(err, "\"%s\" is not an IPv6 address", word);
	if (IN6_IS_ADDR_MULTICAST(&addr) || IN6_IS_ADDR_UNSPECIFIED(&addr) ||
	    IN6_IS_ADDR_LOOPBACK(&addr))
		return fail(err, "%s %s: it must be a unicast address", what, word);
	memcpy(out, &addr, sizeof(*out));
	return true;
}

static bool take_dst(const char *word, struct exception_request *out, char *err)
{
	if (!parse_unicast(word, "destination", &out->key.dst, err))
		return false;
	if (IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)&out->key.dst))
		return fail(err, "destination %s: link-local addresses are not forwarded", word);
	out->has_dst = true;
	return true;
}

static bool take_table(const char *word, struct exception_request *out, char *err)
{
	return cmd_parse_table(word, &out->key.table) || fail(err, "\"%s\" is not a table", word);
}

static bool take_mtu(const char *word, struct exception_request *out, char *err)
{
	uint32_t mtu;

	if (!cmd_parse_number(word, MTU_MAX, &mtu) || mtu < MTU_MIN)
		return fail(err, "mtu %s: it must be from %u to %u bytes", word, MTU_MIN, MTU_MAX);
	out->value.mtu = mtu;
	return true;
}

static bool take_via(const char *word, struct exception_request *out, char *err)
{
	return parse_unicast(word, "via", &out->value.gateway, err);
}

static bool take_dev(const char *word, struct exception_request *out, char *err)
{
	/* the daemon goes by the device's own name */
	if (!nl_link_find(word, out->value.device))
		return fail(err, "cannot find device \"%s\"", word);
	return true;
}

static bool take_expires(const char *word, struct exception_request *out, char *err)
{
	uint32_t seconds;

	if (!cmd_parse_number(word, EXPIRES_MAX_S, &seconds) || !seconds)
		return fail(err, "expires %s: it must be from 1 to %u seconds", word,
			    EXPIRES_MAX_S);
	out->value.expires_ns = out->value.added_ns + seconds * NS_PER_S;
	return true;
}

/* --- all words --------------------------------------------------------------------------- */

enum { WORD_TABLE, WORD_MTU, WORD_VIA, WORD_DEV, WORD_EXPIRES };

static const struct word {
	const char *name;
	bool (*take)(const char *word, struct exception_request *out, char *err);
} known[] = {
	[WORD_TABLE] = { "table", take_table },
	[WORD_MTU] = { "mtu", take_mtu },
	[WORD_VIA] = { "via", take_via },
	[WORD_DEV] = { "dev", take_dev },
	[WORD_EXPIRES] = { "expires", take_expires },
};

/* The number of the words that may be used is n_known, from the first. *seen: a bit for each. */
static bool take_pairs(int argc, char **argv, size_t n_known, uint32_t *seen,
		       struct exception_request *out, char *err)
{
	for (int i = 0; i < argc; i += 2) {
		size_t k = 0;

		while (k < n_known && strcmp(argv[i], known[k].name) != 0)
			k++;
		if (k == n_known)
			return fail(err, "unexpected argument \"%s\"", argv[i]);
		if (i + 1 == argc)
			return fail(err, "\"%s\" needs a value", argv[i]);
		if (*seen & 1u << k)
			return fail(err, "\"%s\" is given twice", argv[i]);
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
		return fail(err, "via needs a device: \"via GW dev PORT\"");
	if (dev && !via)
		return fail(err, "dev needs via: \"via GW dev PORT\"");
	if (!via && !(seen & 1u << WORD_MTU))
		return fail(
			err,
			"the exception is missing: give \"mtu N\", \"via GW dev PORT\" or both");
	return true;
}

static bool parse_words(enum exception_words words, int argc, char **argv,
			struct exception_request *out, char *err)
{
	size_t n_known = words == EXCEPTION_WHOLE ? ARRAY_SIZE(known) : WORD_TABLE + 1;
	bool needs_dst = words == EXCEPTION_WHOLE || words == EXCEPTION_KEY;
	struct in6_addr addr;
	uint32_t seen = 0;
	int at = 0;

	if (words == EXCEPTION_TABLE && argc && inet_pton(AF_INET6, argv[0], &addr) == 1)
		return fail(err, "unexpected argument \"%s\": 'del %s' removes the exception",
			    argv[0], argv[0]);
	if (needs_dst ||
	    (words == EXCEPTION_ANY && argc && strcmp(argv[0], known[WORD_TABLE].name) != 0)) {
		if (!argc)
			return fail(err, "a destination is needed");
		if (!take_dst(argv[at++], out, err))
			return false;
	}
	if (!take_pairs(argc - at, argv + at, n_known, &seen, out, err))
		return false;
	if (needs_dst && !out->key.table)
		out->key.table = SIXLANE_TABLE_MAIN;
	out->value.table = out->key.table;
	return words != EXCEPTION_WHOLE || check_whole(seen, err);
}

bool exception_parse(enum exception_words words, int argc, char **argv,
		     struct exception_request *out, char err[EXCEPTION_ERR])
{
	struct exception_request request = { .value.added_ns = util_now_ns() };

	if (!parse_words(words, argc, argv, &request, err))
		return false;
	*out = request;
	return true;
}

/* --- all lines --------------------------------------------------------------------------- */

bool exception_append(struct exception_requests *requests, const struct exception_request *request)
{
	struct exception_request *grown;
	size_t room = requests->room ? 2 * requests->room : 64;

	if (requests->n == requests->room) {
		grown = reallocarray(requests->at, room, sizeof(*grown));
		if (!grown)
			return false;
		requests->at = grown;
		requests->room = room;
	}
	requests->at[requests->n++] = *request;
	return true;
}

/* Words as the shell would split them without quotes; "#" ends the line. Their number or -1. */
static int split(char *line, char *words[MAX_WORDS])
{
	char *save = NULL;
	int n = 0;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t\r\n", &save); word;
	     word = strtok_r(NULL, " \t\r\n", &save)) {
		if (n == MAX_WORDS)
			return -1;
		words[n++] = word;
	}
	return n;
}

static bool parse_line(enum exception_words words, char *line, unsigned int number,
		       struct exception_requests *out, char *err)
{
	char *argv[MAX_WORDS], why[EXCEPTION_ERR] = "the line has too many words";
	struct exception_request request;
	int argc = split(line, argv);

	if (!argc)
		return true;
	if (argc < 0 || !exception_parse(words, argc, argv, &request, why))
		return fail(err, "line %u: %s", number, why);
	request.line = number;
	return exception_append(out, &request) || fail(err, "out of memory");
}

static int compare_keys(const struct exception_key *a, const struct exception_key *b)
{
	int rc = memcmp(&a->dst, &b->dst, sizeof(a->dst));

	return rc ? rc : (a->table > b->table) - (a->table < b->table);
}

static int by_key(const void *a, const void *b)
{
	const struct exception_request *x = a, *y = b;
	int rc = compare_keys(&x->key, &y->key);

	return rc ? rc : (x->line > y->line) - (x->line < y->line);
}

static bool check_twice(struct exception_requests *requests, char *err)
{
	if (requests->n)
		qsort(requests->at, requests->n, sizeof(*requests->at), by_key);
	for (size_t i = 1; i < requests->n; i++) {
		const struct exception_request *at = &requests->at[i];

		if (!compare_keys(&at[-1].key, &at->key))
			return fail(err, "line %u: repeats the destination of line %u", at->line,
				    at[-1].line);
	}
	return true;
}

bool exception_parse_lines(enum exception_words words, FILE *from, struct exception_requests *out,
			   char err[EXCEPTION_ERR])
{
	_cleanup_free_ char *line = NULL;
	unsigned int number = 0;
	size_t size = 0;
	bool good = true;
	ssize_t n;

	while (good && (n = getline(&line, &size, from)) >= 0) {
		number++;
		good = strlen(line) == (size_t)n ? parse_line(words, line, number, out, err)
						 : fail(err, "line %u: it is not text", number);
	}
	if (good && ferror(from))
		good = fail(err, "cannot read the list: %s", strerror(errno));
	return good && check_twice(out, err);
}
