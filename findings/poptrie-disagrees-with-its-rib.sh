#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# poptrie: IPv6 lookups differ from its own RIB, for routes longer than /126 and for short ones that are added late.
#
# Versions: poptrie 845c3b4, the newest; gcc 12.2.0 of Debian 12, at any optimisation.
# Expected: poptrie6_lookup() answers what poptrie6_rib_lookup() does, which walks a binary tree: the longest match.
# Seen: all four addresses of a /126 are answered as the first, whatever /127 and /128 are in it. A route shorter than
#	/18 does not match all that it covers if longer ones are there before it: after ::/0, 2002::1 is under no route.
# Reason: the last step takes 6 bits where 2 are left, and shifts by -4, which an open pull request (33) repairs. The
#	walk below a short route sets the bits of its way by "1 << (127 - depth)", of an int, and so loses them.
# Needs git, gcc and the network. The library's licence permits evaluation only.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone -q --filter=blob:none --no-checkout https://github.com/pixos/poptrie "$folder/poptrie"
git -C "$folder/poptrie" checkout -q 845c3b4663ea58395eb11a6c448230284ebd8c90 -- ':(glob)*.[ch]'
cat >"$folder/try.c" <<'C'
#include <arpa/inet.h>
#include <stdio.h>

#include "poptrie/poptrie.h"

static struct poptrie *table;
static int differ;

static __uint128_t key(const char *text)
{
	unsigned char bytes[16];
	__uint128_t value = 0;

	inet_pton(AF_INET6, text, bytes);
	for (int i = 0; i < 16; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void add(const char *prefix, int len, long next_hop)
{
	if (poptrie6_route_add(table, key(prefix), len, (void *)next_hop))
		printf("cannot add %s/%d\n", prefix, len);
}

static void look(const char *addr)
{
	long found = (long)poptrie6_lookup(table, key(addr)), wanted = (long)poptrie6_rib_lookup(table, key(addr));

	printf("\t%s: next hop %ld, by the RIB %ld\n", addr, found, wanted);
	differ += found != wanted;
}

int main(void)
{
	table = poptrie_init(NULL, 16, 16);
	add("2001:db8::", 32, 1);
	add("2001:db8::1", 128, 2);
	add("2001:db8::4", 127, 3);
	puts("2001:db8::/32, then 2001:db8::1/128 and 2001:db8::4/127:");
	look("2001:db8::1");
	look("2001:db8::3");
	look("2001:db8::7");
	table = poptrie_init(NULL, 16, 16);
	add("2001:db8::", 32, 1);
	add("::", 0, 2);
	puts("2001:db8::/32, then ::/0:");
	look("2001:db8::1");
	look("2002::1");
	return differ;
}
C
gcc -O2 -mpopcnt -w -o "$folder/try" "$folder/try.c" "$folder"/poptrie/{poptrie,poptrie6,buddy}.c
differ=0
"$folder/try" || differ=$?
[ "$differ" -gt 0 ]
