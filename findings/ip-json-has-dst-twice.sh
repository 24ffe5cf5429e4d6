#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ip -j route: a route with an IPv4 or IPv6 encapsulation has the key "dst" twice, and JSON parsers take the tunnel's.
#
# Versions: iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and libmnl0 1.0.4-3, of Debian 12; Linux 6.18.44, x86-64 (the
#	kernel that runs this). iproute2 6.15.0-1 of Debian 13 puts the encapsulation into an object of its own.
# Expected: "dst" is the route's prefix, as for every other route. Names of an object are unique (RFC 8259, 4).
# Seen: "dst":"2001:db8:1::/48" and, in the same object, "dst":"2001:db8::9" of "encap ip6 … dst 2001:db8::9"; with
#	"encap ip" of IPv4 as well, and "src" and "id" stand beside them as if they were the route's. Python's json, jq and
#	others take the last one: the route seems to be one to the tunnel's end.
# Reason: print_encap_ip() and print_encap_ip6() print into the route's object.
# Needs root, apt-get with Debian 12's packages, python3, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download \
	iproute2=6.1.0-3 libbpf1=1:1.1.2-0+deb12u1 libmnl0=1.0.4-3)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libmnl.so.0)")
export LD_LIBRARY_PATH
cat >"$folder/try.py" <<'PY'
import json
import subprocess
import sys


def ip(*words):
    return subprocess.run([sys.argv[1], *words], check=True, capture_output=True, text=True).stdout


ip("link", "add", "v0", "type", "veth", "peer", "v1")
ip("link", "set", "v0", "up")
ip("link", "set", "v1", "up")
seen = []
for family, prefix, kind, end in (("-6", "2001:db8:1::/48", "ip6", "2001:db8::9"),
                                  ("-4", "198.51.100.0/24", "ip", "192.0.2.9")):
    ip(family, "route", "add", prefix, "encap", kind, "id", "3", "dst", end, "dev", "v0")
    text = ip("-j", family, "route", "show", "exact", prefix)
    (pairs,) = json.loads(text, object_pairs_hook=list)
    (route,) = json.loads(text)
    seen.append(([value for key, value in pairs if key == "dst"] == [prefix, end], route["dst"] == end))
    print(text.strip())
sys.exit(0 if seen == [(True, True)] * 2 else "this has changed")
PY
uname -r
"$folder/bin/ip" -V
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
