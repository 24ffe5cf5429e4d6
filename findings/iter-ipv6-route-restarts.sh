#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The BPF iterator "ipv6_route" starts a table again at each change of it, and ends without an error before its end.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); bpftool 7.1.0+6.1.192-2, libbpf-dev and libbpf1
#	1:1.1.2-0+deb12u1, iproute2 6.1.0-3, libmnl0 1.0.4-3, of Debian 12; any clang from 14 on.
# Expected: each route that stays in the table is shown once, or reading fails.
# Seen: 20,000 routes, and a default route that a table's walk comes to last. Left alone, the program is shown each one
#	once. Beside "ip -batch" that adds and deletes one other route, it is shown the first routes again and again
#	(thousands of starts, more than half a million objects), some of the others never, and the last one not at
#	all; then reading ends as it does after the last route: "cat" exits with 0.
# Reason: ipv6_route_seq_next() goes back to the root when the table has changed, and means to skip what was shown; but
#	the count of that stays 0, since fib6_walk_continue() returns before it counts. bpf_seq_read() stops after
#	1,000,000 objects, and the next read() skips as many, so that it comes to the end.
# Needs root, apt-get with Debian 12's packages, clang, python3, a kernel with BTF, and a mount and a network namespace
# of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download bpftool=7.1.0+6.1.192-2 \
	libbpf-dev=1:1.1.2-0+deb12u1 libbpf1=1:1.1.2-0+deb12u1 iproute2=6.1.0-3 libmnl0=1.0.4-3)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libmnl.so.0)")
export LD_LIBRARY_PATH
"$folder/usr/sbin/bpftool" btf dump file /sys/kernel/btf/vmlinux format c >"$folder/vmlinux.h"
cat >"$folder/try.bpf.c" <<'C'
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct in6_addr);
	__type(value, __u64);
} seen SEC(".maps");

__u64 objects, routes, starts;

/* Says how far it is when it is shown the last route, and at each 512th time when it is shown the first one. */
SEC("iter/ipv6_route")
int show(struct bpf_iter__ipv6_route *ctx)
{
	struct fib6_info *route = ctx->rt;
	struct in6_addr prefix;
	__u64 one = 1;

	if (!route)
		return 0;
	objects++;
	prefix = route->fib6_dst.addr;
	if (route->fib6_metric == 1001 && !bpf_map_lookup_elem(&seen, &prefix)) {
		bpf_map_update_elem(&seen, &prefix, &one, BPF_ANY);
		routes++;
	}
	if (route->fib6_metric == 1003 || (route->fib6_metric == 1002 && starts++ % 512 == 0))
		BPF_SEQ_PRINTF(ctx->meta->seq, "%u %llu %llu %llu\n", route->fib6_metric, objects, routes, starts);
	return 0;
}
C
arch=$(uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
clang -O2 -g -Wall -Werror -target bpf "-D__TARGET_ARCH_$arch" -I"$folder" -I"$folder/usr/include" \
	-c "$folder/try.bpf.c" -o "$folder/try.bpf.o"
cat >"$folder/try.py" <<'PY'
import os
import subprocess
import sys
import threading
import time

IP, BPFTOOL, OBJECT, PIN = sys.argv[1:5]
ROUTES, LAST = 20_000, 1003
FIRST = "route add 2000::/128 dev v0 metric 1002\nroute add default dev v0 metric 1003\n"


def batch(lines):
    subprocess.run([IP, "-6", "-batch", "-"], input=lines, check=True, text=True)


def read_once():
    """cat's exit status, whether the last route was shown; objects, routes and starts in the last line."""
    subprocess.run([BPFTOOL, "iter", "pin", OBJECT, PIN], check=True)
    done = subprocess.run(["cat", PIN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    os.unlink(PIN)
    words = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    return done.returncode, words[-1][0] == LAST, words[-1][1:]


def change(stop):
    while not stop.is_set():
        batch("route add 2400::/48 dev v0\nroute del 2400::/48 dev v0\n" * 2000)


batch("link add v0 type veth peer name v1\nlink set v1 up\nlink set v0 up\n" + FIRST)
batch("".join("route add 2001:db8:%x::/48 dev v0 metric 1001\n" % number for number in range(ROUTES)))
quiet = read_once()
print("no change: cat exits with %d, the last route was shown: %s; objects, routes, starts: %s" % quiet)
stop = threading.Event()
changer = threading.Thread(target=change, args=(stop,))
changer.start()
cut, deadline = [], time.monotonic() + 30
while len(cut) < 3 and time.monotonic() < deadline:
    seen = read_once()
    if seen[:2] == (0, False):
        cut.append(seen)
stop.set()
changer.join()
for seen in cut:
    print("beside changes: cat exits with %d, the last route was shown: %s; objects, routes, starts: %s" % seen)
same = quiet[:2] == (0, True) and quiet[2][1:] == [ROUTES, 1]
same = same and len(cut) == 3 and all(objects > 500_000 for _, _, (objects, *_) in cut)
sys.exit(0 if same and min(routes for _, _, (_, routes, _) in cut) < ROUTES else "this has changed")
PY
mkdir "$folder/bpf"
uname -r
# shellcheck disable=SC2016 # the shell inside expands them
unshare --mount --net sh -c 'mount -t bpf bpf "$1" && shift && exec "$@"' sh "$folder/bpf" \
	python3 "$folder/try.py" "$folder/bin/ip" "$folder/usr/sbin/bpftool" "$folder/try.bpf.o" "$folder/bpf/iter"
