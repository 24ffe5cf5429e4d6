#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# nf_tables: one dump of all rules takes many times as long as a dump of each chain.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); nftables 1.0.6-2+deb12u2, libnftables1 of the same
#	version and libnftnl11 1.2.4-2, of Debian 12, to load the rules.
# Expected: one dump of 100,000 rules is no slower than 1,000 dumps, one a chain, which say the same.
# Seen: it takes 9 to 18 times as much CPU time of the kernel, and so does the dump of one chain that has all of these
#	rules. Four times the rules take 4 times as long by chains of 100, and 15 to 39 times in one dump.
# Reason: each read of a dump goes through its rules from the first to find where the last read had stopped, and a read
#	returns no more than fit into the reader's buffer. So time grows by the square of the rules of one dump.
# Needs root, apt-get with Debian 12's packages, python3, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download \
	nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libnftables.so.1)")
export LD_LIBRARY_PATH
cat >"$folder/try.py" <<'PY'
import resource
import socket
import struct
import subprocess
import sys

NFT = sys.argv[1]
COUNT, CHAIN = 100_000, 100
BUFFER = 8192  # as libmnl's MNL_SOCKET_BUFFER_SIZE
NETLINK_NETFILTER, GETRULE, NEWRULE, DUMP, DONE = 12, 0xA07, 0xA06, 0x301, 3
TABLE, CHAIN_NAME = 1, 2  # NFTA_RULE_*
sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)


def load(count, each):
    """So many rules, in chains of so many."""
    text = "flush ruleset\ntable inet t {\n"
    for number in range(count // each):
        text += "chain c%d {\n%s}\n" % (number, "meta l4proto udp counter\n" * each)
    subprocess.run([NFT, "-f", "-"], input=text + "}\n", check=True, text=True)


def attribute(kind, text):
    data = text.encode() + b"\0"
    return struct.pack("=HH", 4 + len(data), kind) + data.ljust(len(data) + 3 & ~3, b"\0")


def dump(chain=None):
    """How many rules the kernel tells of, of all chains or of one."""
    body = struct.pack("=BBH", 1, 0, 0)  # NFPROTO_INET
    if chain is not None:
        body += attribute(TABLE, "t") + attribute(CHAIN_NAME, chain)
    sock.send(struct.pack("=IHHII", 16 + len(body), GETRULE, DUMP, 1, 0) + body)
    count, done = 0, False
    while not done:
        data, at = sock.recv(BUFFER), 0
        while at < len(data):
            length, kind = struct.unpack_from("=IH", data, at)
            count, done, at = count + (kind == NEWRULE), done or kind == DONE, at + (length + 3 & ~3)
    return count


def seconds(fn, count):
    """Of CPU time in the kernel, the best of three."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_stime
        assert fn() == count
        best = min(best, resource.getrusage(resource.RUSAGE_SELF).ru_stime - before)
    return best


def by_chains(count):
    return seconds(lambda: sum(dump("c%d" % number) for number in range(count // CHAIN)), count)


load(COUNT // 4, CHAIN)
quarter_by_chains, quarter_at_once = by_chains(COUNT // 4), seconds(dump, COUNT // 4)
load(COUNT, CHAIN)
all_by_chains, all_at_once = by_chains(COUNT), seconds(dump, COUNT)
load(COUNT, COUNT)
one_chain = seconds(lambda: dump("c0"), COUNT)
print("at once ÷ by chains of %d: %.1f; one chain ÷ by chains: %.1f" % (
    CHAIN, all_at_once / all_by_chains, one_chain / all_by_chains))
print("four times the rules take %.1f times as long by chains, %.1f times at once" % (
    all_by_chains / quarter_by_chains, all_at_once / quarter_at_once))
slower = min(all_at_once, one_chain) / all_by_chains
sys.exit(0 if slower > 3 and all_at_once / quarter_at_once > 6 else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/usr/sbin/nft"
