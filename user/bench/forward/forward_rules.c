// SPDX-License-Identifier: GPL-2.0-only
/* See forward_rules.h. */
#include "forward_rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "../kernel_net.h"
#include "forward_socket.h"
#include "frame.h"

#define SERVED_NS 10000000000ull
#define STEADY_NS 1000000000ull

static const struct {
	const char *text;
	uint32_t flags; /* that the port then has, of those that say what is held back */
} rulesets[FORWARD_N_RULES] = {
	[FORWARD_NO_RULES] = { .text = "" },
	[FORWARD_ACCEPTING] = {
		.text = "table ip6 filter {\n"
			"  chain USER { counter return; }\n"
			"  chain BRIDGES { iifname \"docker0\" counter accept; counter return; }\n"
			"  chain FORWARD {\n"
			"    type filter hook forward priority filter; policy accept;\n"
			"    counter jump USER; counter jump BRIDGES;\n"
			"  }\n"
			"}\n",
	},
	[FORWARD_FLOWTABLE] = {
		.text = "table inet filter {\n"
			"  flowtable f { hook ingress priority filter; devices = { p0, p1 }; }\n"
			"  chain forward {\n"
			"    type filter hook forward priority filter; policy drop;\n"
			"    ct state established flow add @f;\n"
			"    ct state established accept;\n"
			"    iifname \"p0\" accept;\n"
			"  }\n"
			"}\n",
		.flags = SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS,
	},
};

/* While it is there all that comes in is held back: once that ends, what was loaded with it is
 * read, too. */
#define MARKER                                                                        \
	"table netdev marker {\n"                                                     \
	"  chain c { type filter hook ingress device p0 priority 0; policy drop; }\n" \
	"}\n"

static int run_nft(const char *text, const char *more)
{
	FILE *nft = popen("nft -f -", "we");
	int status;

	if (!nft)
		return bench_fail(-errno, "nft");
	fprintf(nft, "%s%s", text, more);
	status = pclose(nft);
	return status ? bench_bad(-ENOENT, "nft (package nftables) did not load the rules") : 0;
}

static bool is_served(const struct maps *maps, uint32_t slot, uint32_t which, uint32_t flags)
{
	return (maps->ports[slot].flags & which) == flags &&
	       maps->meta->flags & SIXLANE_META_GUARDED;
}

/* The daemon may read one change in several steps, and pass packets meanwhile. */
static int wait_served(const struct maps *maps, uint32_t slot, uint32_t which, uint32_t flags)
{
	uint64_t now_ns = util_now_ns(), deadline_ns = now_ns + SERVED_NS, since_ns = now_ns;

	while (now_ns - since_ns < STEADY_NS) {
		if (!is_served(maps, slot, which, flags))
			since_ns = now_ns;
		if (now_ns > deadline_ns)
			return bench_bad(
				-EOPNOTSUPP,
				"sixlaned does not serve p0 by the rules that were loaded (flowtables in XDP are of Linux 6.11)");
		poll(NULL, 0, 1);
		now_ns = util_now_ns();
	}
	return 0;
}

int forward_rules_load(enum forward_rules rules, const struct maps *maps, uint32_t slot)
{
	const uint32_t marked = SIXLANE_PORT_IN_FIREWALL;
	const uint32_t all = marked | SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS;

	return run_nft("flush ruleset\n" MARKER, rulesets[rules].text)
		       ?: wait_served(maps, slot, marked, marked)
		       ?: run_nft("delete table netdev marker\n", "")
		       ?: wait_served(maps, slot, all, rulesets[rules].flags);
}

/* --- the answer ----------------------------------------------------------------------------- */

static void store16(uint8_t *at, uint16_t value)
{
	value = htons(value);
	memcpy(at, &value, sizeof(value));
}

static int make_answer(const struct forward_net *net, const union sixlane_addr *address,
		       struct frame *out)
{
	const union sixlane_addr addresses[2] = { *address, net->a_addr };
	int ret = frame_make(FLOOD_UDP_BYTES_MIN, net->p1_mac, net->b_mac, address, out);
	uint16_t sum;

	if (ret)
		return ret;
	frame_address(out, &net->a_addr, FLOOD_DST_PORT, 0);
	store16(out->at + FLOOD_DST_PORT_OFFSET, FLOOD_SRC_PORT_FIRST);
	memset(out->at + FLOOD_CHECKSUM_OFFSET, 0, sizeof(sum));
	sum = frame_checksum(FLOOD_UDP, FLOOD_UDP_BYTES_MIN - FLOOD_IP6_BYTES, addresses,
			     out->at + FLOOD_IP6_BYTES, FLOOD_UDP_BYTES_MIN - FLOOD_IP6_BYTES);
	memcpy(out->at + FLOOD_CHECKSUM_OFFSET, &sum, sizeof(sum));
	return 0;
}

int forward_rules_answer(const struct forward_net *net, const union sixlane_addr *address)
{
	_cleanup_close_ int fd = -1;
	struct frame frame;
	int back, left, ret = make_answer(net, address, &frame);

	ret = ret ?: bench_net_enter(net->b, &back);
	if (ret)
		return bench_fail(ret, "an answer of host b");
	fd = forward_socket_open(net->b_h0);
	left = bench_net_leave(&back);
	if (fd < 0 || left)
		return bench_fail(fd < 0 ? fd : left, "an answer of host b");
	return send(fd, frame.at, frame.bytes, 0) < 0 ? bench_fail(-errno, "an answer of host b")
						      : 0;
}
