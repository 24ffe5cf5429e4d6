// SPDX-License-Identifier: GPL-2.0-only
/* Kinds of devices, see kind.h. A kind that is not listed is left to the kernel. */
#include "kind.h"

#include <net/if_arp.h>
#include <string.h>

#include "../lib/util.h"

static const struct {
	const char *kind; /* IFLA_INFO_KIND */
	uint32_t flag;
} kinds[] = {
	{ "bridge", SIXLANE_PORT_BRIDGE },    { "macvlan", SIXLANE_PORT_MACVLAN },
	{ "macvtap", SIXLANE_PORT_MACVLAN },  { "ipvlan", SIXLANE_PORT_MACVLAN },
	{ "ipvtap", SIXLANE_PORT_MACVLAN },   { "sit", SIXLANE_PORT_TUNNEL },
	{ "ip6tnl", SIXLANE_PORT_TUNNEL },    { "ipip", SIXLANE_PORT_TUNNEL },
	{ "gre", SIXLANE_PORT_TUNNEL },	      { "gretap", SIXLANE_PORT_TUNNEL },
	{ "ip6gre", SIXLANE_PORT_TUNNEL },    { "ip6gretap", SIXLANE_PORT_TUNNEL },
	{ "erspan", SIXLANE_PORT_TUNNEL },    { "ip6erspan", SIXLANE_PORT_TUNNEL },
	{ "vti", SIXLANE_PORT_TUNNEL },	      { "vti6", SIXLANE_PORT_TUNNEL },
	{ "xfrm", SIXLANE_PORT_TUNNEL },      { "vxlan", SIXLANE_PORT_TUNNEL },
	{ "geneve", SIXLANE_PORT_TUNNEL },    { "bareudp", SIXLANE_PORT_TUNNEL },
	{ "gtp", SIXLANE_PORT_TUNNEL },	      { "ppp", SIXLANE_PORT_TUNNEL },
	{ "wireguard", SIXLANE_PORT_TUNNEL }, { "ovpn", SIXLANE_PORT_TUNNEL },
	{ "tun", SIXLANE_PORT_TUNNEL }, /* without a link layer */
};

/* These transmit frames unchanged; a bond, by the slave that it selects. */
static const char *const plain_kinds[] = { "", "veth", "tun", "bond" };

uint32_t resolve_kind(const struct link *link)
{
	for (size_t i = 0; link->type == ARPHRD_ETHER && i < ARRAY_SIZE(plain_kinds); i++) {
		if (!strcmp(link->kind, plain_kinds[i]))
			return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(link->kind, kinds[i].kind))
			return kinds[i].flag;
	}
	return SIXLANE_PORT_UNSUPPORTED;
}
