#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# cables.sh QUEUES COMMAND...
#
# Run the command, a qemu, beside taps named cable0, cable1 ... of which the first half is cabled to
# the second: what the machine sends into cable0 of 8 comes out of cable4, and back. QUEUES: the number
# of each one's queues, as "4 4 1 1".
# To be called in a network namespace of its own ("unshare --net"): it ends with the command, and
# the taps with it, however that ended.

set -eu

queues=$1
shift
# The host would send router solicitations into the cables.
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
nics=0
for each in $queues; do
	kind=multi_queue
	[ "$each" -gt 1 ] || kind=
	# shellcheck disable=SC2086 # a word, or none
	ip tuntap add "cable$nics" mode tap $kind vnet_hdr
	ip link set "cable$nics" up mtu 9000 txqueuelen 10000
	tc qdisc add dev "cable$nics" clsact
	nics=$((nics + 1))
done
number=0
while [ "$number" -lt "$nics" ]; do
	far=$(((number + nics / 2) % nics))
	tc filter add dev "cable$number" ingress protocol all u32 match u32 0 0 \
		action mirred egress redirect dev "cable$far"
	number=$((number + 1))
done
exec "$@"
