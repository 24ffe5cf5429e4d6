#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# bench_nic.sh DIRECTORY: in a machine of vm.py with --nics 8, all that `sixlane bench nic` measures,
# through two bonds, and the preset wang; results into the directory. The rates are so low that the
# emulated machine keeps up; that it measures, and how, is what is shown.

set -eu
sixlane=$SIXLANE_BUILD/sixlane

modprobe pktgen
modprobe bonding
for nic in 0 1 2 3 4 5 6 7; do
	ip link set "eth$nic" up
done
set -- --bond in0=eth0,eth1 --bond out0=eth2,eth3 --in in0 --out out0 --table dense-48:1000 \
	--rounds 1 --output "$1"
ports="--tx eth4,eth5 --rx eth6,eth7"
"$sixlane" bench nic "$@" --queues 4 --trial 0.1 --rate 1000 --churn 100 \
	--generator "$sixlane bench generator $ports"
"$sixlane" bench nic wang "$@" --trial 1 --rate 2000 \
	--generator "$sixlane bench generator --source xdp $ports"
