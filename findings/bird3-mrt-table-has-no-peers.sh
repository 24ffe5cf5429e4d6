#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# BIRD 3: a table dump in MRT has no peers: all routes are of a peer with address ::, AS 0.
#
# Versions: bird3 3.1.8-0+deb13u1 of Debian 13, with libc6 2.41-12+deb13u5, libreadline8t64 8.2-6, libssh-4
#	0.11.5-0+deb13u1 and libtinfo6 6.5+20250216-2. BIRD 2.17.6 of Debian 13 and BIRD 3.4.0 of sid have the peers.
# Expected: PEER_INDEX_TABLE has an entry for each BGP neighbour, and the entries of a route name the one that it is
#	from (RFC 6396, 4.3.1 and 4.3.4), as bgpdump and those who study such tables need it.
# Seen: two neighbours announce two prefixes. "show route all" names them ("from: 2001:db8::2"), and the dump has two
#	entries for each prefix with their AS paths; but PEER_INDEX_TABLE has only the entry for routes that are not
#	from BGP, and all entries have its number.
# Reason: not looked for.
# Needs root, apt-get with access to Debian 13's packages, python3, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
cat >"$folder/apt.conf" <<APT
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$folder/lists";
Dir::State::status "/dev/null";
Dir::Cache "$folder/cache";
APT::Sandbox::User "root";
APT
mirror=$(apt-get indextargets --format '$(SITE)' | grep -m1 '/debian$')
echo "deb $mirror trixie main" >"$folder/sources.list"
export APT_CONFIG=$folder/apt.conf
apt-get -qq update
(cd "$folder" && apt-get -qq download bird3=3.1.8-0+deb13u1 libc6=2.41-12+deb13u5 libreadline8t64=8.2-6 \
	libssh-4=0.11.5-0+deb13u1 libtinfo6=6.5+20250216-2)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
libraries=$(dirname "$(find "$folder" -name libssh.so.4)")
cat >"$folder/try.py" <<'PY'
import os
import struct
import subprocess
import sys
import time

FOLDER, BIRD = sys.argv[1], sys.argv[2:]
COLLECTOR = """log "{0}/collector.log" all; router id 192.0.2.1; protocol device {{}}
protocol mrt {{ table "master6"; filename "{0}/%N.mrt"; period 1; where source = RTS_BGP; }}
"""
SPEAKER = """log "{0}/speaker.log" all; router id 192.0.2.2; protocol device {{}}
protocol static {{ ipv6; route 2001:db8:1::/48 blackhole; route 2001:db8:2::/48 blackhole; }}
"""
NEIGHBOUR = """protocol bgp {{ local 2001:db8::1 port 1790 as 64496; neighbor 2001:db8::{0} port 1791 as {1};
  multihop; connect delay time 1; ipv6 {{ import all; export none; }}; }}
"""
PEER = """protocol bgp {{ local 2001:db8::{0} port 1791 as {1}; neighbor 2001:db8::1 port 1790 as 64496;
  multihop; connect delay time 1; ipv6 {{ import none; export all; next hop address 2001:db8::{0}; }}; }}
"""
PEERS = {2: 64497, 3: 64498}


def start(name, text):
    with open("%s/%s.conf" % (FOLDER, name), "w") as file:
        file.write(text)
    return subprocess.Popen([*BIRD, "-f", "-c", file.name, "-s", "%s/%s.ctl" % (FOLDER, name)])


def read(path):
    """The AS numbers of the peers, and for each prefix those of its entries, by their AS paths, with peers' numbers."""
    with open(path, "rb") as file:
        data = file.read()
    at, peers, routes = 0, [], {}
    while at < len(data):
        _, _, subtype, length = struct.unpack_from(">IHHI", data, at)
        body, at = data[at + 12 : at + 12 + length], at + 12 + length
        if subtype == 1:  # PEER_INDEX_TABLE; BIRD writes addresses of 16 bytes and AS numbers of four
            place = 6 + struct.unpack_from(">H", body, 4)[0]  # behind the view's name
            count, place = struct.unpack_from(">H", body, place)[0], place + 2
            peers, routes = [], {}
            for _ in range(count):
                address_bytes = 16 if body[place] & 1 else 4
                peers.append(struct.unpack_from(">I", body, place + 5 + address_bytes)[0])
                place += 5 + address_bytes + 4
        elif subtype == 4:  # RIB_IPV6_UNICAST
            place = 5 + (body[4] + 7) // 8
            count, place = struct.unpack_from(">H", body, place)[0], place + 2
            for _ in range(count):
                number, _, size = struct.unpack_from(">HIH", body, place)
                attributes, place = body[place + 8 : place + 8 + size], place + 8 + size
                first = [asn for asn in PEERS.values() if struct.pack(">I", asn) in attributes]
                routes.setdefault(body[4:11], []).append((first[0], number))
    return peers, routes


birds = [start(name, head.format(FOLDER) + "".join(each.format(*peer) for peer in PEERS.items()))
         for name, head, each in (("collector", COLLECTOR, NEIGHBOUR), ("speaker", SPEAKER, PEER))]
path, deadline, peers, routes = FOLDER + "/master6.mrt", time.monotonic() + 60, [], {}
while sorted(map(len, routes.values())) != [2, 2] and time.monotonic() < deadline:
    time.sleep(0.2)
    if os.path.exists(path) and os.path.getsize(path):
        try:
            peers, routes = read(path)
        except struct.error:
            pass  # it is being written
for bird in birds:
    bird.kill()
print("AS numbers in PEER_INDEX_TABLE:", peers)
for prefix, entries in routes.items():
    print("2001:db8:%d::/48: %s" % (prefix[6], ["AS %d is of peer %d" % entry for entry in sorted(entries)]))
found = [sorted(entries) for entries in routes.values()]
sys.exit(0 if peers == [0] and found == [[(64497, 0), (64498, 0)]] * 2 else "this has changed")
PY
bird=("$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$folder/usr/sbin/bird")
"${bird[@]}" --version
unshare --net sh -c 'ip link set lo up
	for number in 1 2 3; do ip addr add "2001:db8::$number/128" dev lo; done
	exec python3 "$0/try.py" "$@"' "$folder" "$folder" "${bird[@]}"
