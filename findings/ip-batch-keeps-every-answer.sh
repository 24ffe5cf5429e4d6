#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ip -batch: each command that the kernel carries out takes 32 kB more, 4 kB of them resident, until ip ends.
#
# Versions: iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and libmnl0 1.0.4-3, of Debian 12; Linux 6.18.44, x86-64 (the
#	kernel that runs this). iproute2 6.15.0-1 of Debian 13 takes no more.
# Expected: a batch of routes takes as much memory as one of them.
# Seen: 2,000 routes, next-hop objects or neighbours take 64,000 kB and 8,000 kB resident; 2,000 that the kernel
#	refuses, or looked up by "route get", take nothing. So "ip -batch" with a full view of IPv6, 160,000 routes,
#	ends with 640 MB resident, with a million routes with 4 GB: on a small router or virtual machine the kernel's
#	OOM killer ends it, with some of the routes in place. Batches of some thousands each avoid it.
# Reason: the buffer of the kernel's acknowledgement is not freed where nobody asks for the answer (__rtnl_talk_iov()).
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
import re
import subprocess
import sys

COUNT = 2000
LAST = "link show dev lo\n"  # is answered when the commands before it have been


def grown(command):
    """kB that a batch of so many takes more than one of one: (virtual, resident)."""
    batch = subprocess.Popen([sys.argv[1], "-6", "-force", "-batch", "-"], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    taken = []
    for first, after in ((0, 1), (1, COUNT)):
        batch.stdin.write("".join(command % i + "\n" for i in range(first, after)) + LAST)
        batch.stdin.flush()
        for line in batch.stdout:
            if "link/loopback" in line:
                break
        with open("/proc/%d/status" % batch.pid) as status:
            text = status.read()
        taken.append([int(re.search(name + r":\s+(\d+) kB", text)[1]) for name in ("VmSize", "VmRSS")])
    batch.communicate()
    return tuple(after - before for before, after in zip(*taken))


subprocess.run([sys.argv[1], "link", "set", "lo", "up"], check=True)
found = {}
for name, command in (
    ("routes", "route add blackhole 2001:db8:%x::/48"),
    ("next-hop objects", "nexthop replace id %d blackhole"),
    ("neighbours", "neigh replace fe80::%x lladdr 02:00:00:00:00:01 dev lo"),
    ("routes that are not there", "route del blackhole 2001:db9:%x::/48"),
    ("lookups", "route get ::1 from ::1 mark %d"),
):
    found[name] = grown(command.replace("id %d", "id 1%04d"))
    print("%d %s: %d kB more, %d kB of them resident" % (COUNT, name, *found[name]))
kept, freed = list(found.values())[:3], list(found.values())[3:]
same = all(24 * COUNT < size < 48 * COUNT and 3 * COUNT < rss < 8 * COUNT for size, rss in kept)
sys.exit(0 if same and all(size < COUNT for size, _ in freed) else "this has changed")
PY
uname -r
"$folder/bin/ip" -V
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
