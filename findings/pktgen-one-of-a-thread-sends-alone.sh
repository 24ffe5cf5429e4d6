#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pktgen: of several devices or queues on one thread only one sends, unless there is a delay.
#
# Version: Linux 6.1.192 of Debian 12, under QEMU, since pktgen is a module.
# Expected: two entries of a thread that have the same settings send by turns, with any delay. Without one, which is
#	what pktgen is for, that should be as fast as they can.
# Seen: without a delay the one that was added last sends all the time, and the other not one packet, without an error:
#	its counters are 0. With a delay of 1 ns, which costs nothing, both send, about as much as each other.
# Reason: the thread serves the entry whose next packet is due first. Without a delay that time stays where it was,
#	so that the head of the list is always due first.
# Needs apt-get with Debian 12's packages, and qemu-system-x86.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download linux-image-6.1.0-57-amd64=6.1.192-3 busybox-static=1:1.35.0-4+deb12u1+b1
for package in *.deb; do dpkg-deb -x "$package" .; done
mkdir -p root/proc root/dev
cp bin/busybox lib/modules/*/kernel/net/core/pktgen.ko root
cat >root/init <<'SH'
#!/busybox sh
/busybox mount -t proc proc /proc
/busybox mount -t devtmpfs dev /dev
/busybox ip link set lo up
/busybox insmod /pktgen.ko
cd /proc/net/pktgen
for entry in lo@0 lo@1; do echo "add_device $entry" >kpktgend_0; done
sofar() { /busybox sed -n 's/.*pkts-sofar: \([0-9]*\).*/\1/p' "$1"; }
try() { # DELAY: in ns
	for entry in lo@0 lo@1; do
		for order in "count 0" "delay $1" "pkt_size 100" "dst6 2001:db8::1" "src6 2001:db8::2"; do
			echo "$order" >"$entry"
		done
	done
	echo start >pgctrl &
	/busybox sleep 5
	echo stop >pgctrl
	wait
	for entry in lo@0 lo@1; do
		[ "$(sofar $entry)" -gt 1000 ] && said="$entry sends" || said="$entry has sent $(sofar $entry)"
		echo "delay $1: $said"
	done
}
try 0
try 1
/busybox poweroff -f
SH
chmod +x root/init
(cd root && find . | ../bin/busybox cpio -o -H newc 2>/dev/null) >initramfs
seen=$(timeout 300 qemu-system-x86_64 -accel tcg -cpu max -m 512 -nographic -no-reboot -kernel boot/vmlinuz-* \
	-initrd initramfs -append "console=ttyS0 quiet panic=-1 tsc=unstable no_timer_check" </dev/null | tr -d '\r' |
	grep -ao 'delay.*')
echo "$seen"
[ "$seen" = "delay 0: lo@0 has sent 0
delay 0: lo@1 sends
delay 1: lo@0 sends
delay 1: lo@1 sends" ]
