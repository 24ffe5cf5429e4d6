#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# cables.sh NICS COMMAND...
#
# Run the command, a qemu, beside NICS multi-queue taps named cable0, cable1 ... of which the first
# half is cabled to the second: what the machine sends into cable0 of 8 comes out of cable4, and back.
# To be called in a network namespace of its own ("unshare --net"): it ends with the command, and
# the taps with it, however that ended.

set -eu

nics=$1
shift
# The host would send router solicitations into the cables.
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
number=0
while [ "$number" -lt "$nics" ]; do
	ip tuntap add "cable$number" mode tap multi_queue vnet_hdr
	ip link set "cable$number" up mtu 9000 txqueuelen 10000
	tc qdisc add dev "cable$number" clsact
	number=$((number + 1))
done
number=0
while [ "$number" -lt "$nics" ]; do
	far=$(((number + nics / 2) % nics))
	tc filter add dev "cable$number" ingress protocol all u32 match u32 0 0 \
		action mirred egress redirect dev "cable$far"
	number=$((number + 1))
done
exec "$@"
