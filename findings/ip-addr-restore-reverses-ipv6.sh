#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ip addr restore: IPv6 addresses come back in the opposite order, and packets get another source address.
#
# Versions: iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and libmnl0 1.0.4-3, of Debian 12; Linux 6.18.44, x86-64 (the
#	kernel that runs this).
# Expected: `ip addr save` and, after a flush, `ip addr restore` leave a device as it was, as they do for IPv4.
# Seen: addresses of one prefix that were shown as ::3, ::2, ::1 are ::1, ::2, ::3 afterwards, and the source address
#	of packets to a neighbour is ::1 instead of ::3. Done twice, all is as before. IPv4 keeps its order.
# Reason: the kernel puts a new IPv6 address before those of its scope (ipv6_link_dev_addr) and prefers, of equals, the
#	first; restore adds them in the order of the dump, which is the device's.
# Needs root, apt-get with Debian 12's packages, and unshare.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download \
	iproute2=6.1.0-3 libbpf1=1:1.1.2-0+deb12u1 libmnl0=1.0.4-3)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libmnl.so.0)")
export LD_LIBRARY_PATH
cat >"$folder/try" <<'SH'
set -eu
cd "$1"
ip=./bin/ip
[ -x $ip ] || ip=./sbin/ip
tell() {
	addresses=$($ip -o addr show dev v0 scope global | sed 's/.*inet6* \([^ ]*\).*/\1/' | xargs)
	echo "$1: $addresses; from $($ip -6 route get 2001:db8::99 | sed 's/.*src \([^ ]*\).*/\1/')"
}
again() {
	$ip addr save dev v0 >saved
	$ip addr flush dev v0 scope global
	$ip addr restore <saved 2>errors || :
}
$ip link add v0 type veth peer name v1
$ip link set v0 up
$ip link set v1 up
for n in 1 2 3; do
	$ip addr add 2001:db8::$n/64 dev v0 nodad
	$ip addr add 192.0.2.$n/24 dev v0
done
tell before
again
tell once
again
tell twice
SH
seen=$(unshare --net bash "$folder/try" "$folder")
echo "$seen"
[ "$seen" = "before: 192.0.2.1/24 192.0.2.2/24 192.0.2.3/24 2001:db8::3/64 2001:db8::2/64 2001:db8::1/64; from 2001:db8::3
once: 192.0.2.1/24 192.0.2.2/24 192.0.2.3/24 2001:db8::1/64 2001:db8::2/64 2001:db8::3/64; from 2001:db8::1
twice: 192.0.2.1/24 192.0.2.2/24 192.0.2.3/24 2001:db8::3/64 2001:db8::2/64 2001:db8::1/64; from 2001:db8::3" ]
