#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pktgen: dst6_min and dst6_max are no range: most destinations can be outside of it.
#
# Version: Linux 6.1.192 of Debian 12, under QEMU, since pktgen is a module.
# Expected: with dst6_min 2001:db8::5 and dst6_max 2001:db8::a destinations from the one to the other, as those of IPv4
#	are with dst_min and dst_max, and as the answer "OK: dst6_min=2001:db8::5" suggests.
# Seen: 2001:db8::, ::2, ::8 and ::a, of which two are below the least and only two are in the range. dst_min 10.0.0.5
#	and dst_max 10.0.0.10 give all that are in the range but the last.
# Reason: mod_cur_headers() makes each word of the address as (random | min) & max. That is a range only where the bits
#	in which the two differ are 0 in the one and 1 in the other, as the first and the last address of a prefix have it.
# Needs apt-get with Debian 12's packages, qemu-system-x86, gcc and libc6-dev.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download linux-image-6.1.0-57-amd64=6.1.192-3 busybox-static=1:1.35.0-4+deb12u1+b1
for package in *.deb; do dpkg-deb -x "$package" .; done
mkdir -p root/proc root/dev
cp bin/busybox lib/modules/*/kernel/net/core/pktgen.ko root
cat >seen.c <<'C'
/* Prints the destinations of so many packets on lo. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]), sock = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	unsigned char packet[2048];
	char text[64];

	puts("ready");
	fflush(stdout);
	while (n > 0 && recv(sock, packet, sizeof(packet), 0) > 0) {
		int family = packet[0] >> 4 == 6 ? AF_INET6 : AF_INET;

		n--;
		puts(inet_ntop(family, packet + (family == AF_INET6 ? 24 : 16), text, sizeof(text)));
	}
	return 0;
}
C
gcc -static -O2 -o root/seen seen.c
cat >root/init <<'SH'
#!/busybox sh
/busybox mount -t proc proc /proc
/busybox mount -t devtmpfs dev /dev
/busybox ip link set lo up
/busybox insmod /pktgen.ko
cd /proc/net/pktgen
echo "add_device lo" >kpktgend_0
try() { # ORDER...
	for order in "count 1000" "delay 10000" "pkt_size 100" "$@"; do echo "$order" >lo; done
	/seen 1000 >/seen.txt &
	while ! /busybox grep -q ready /seen.txt; do :; done
	echo start >pgctrl
	wait
	echo "$1, $2:" $(/busybox grep -v ready /seen.txt | /busybox sort -u)
}
try "dst_min 10.0.0.5" "dst_max 10.0.0.10" "flag IPDST_RND"
try "dst6_min 2001:db8::5" "dst6_max 2001:db8::a" "dst6 2001:db8::5" "src6 2001:db8::1"
/busybox poweroff -f
SH
chmod +x root/init
(cd root && find . | ../bin/busybox cpio -o -H newc 2>/dev/null) >initramfs
seen=$(timeout 300 qemu-system-x86_64 -accel tcg -cpu max -m 512 -nographic -no-reboot -kernel boot/vmlinuz-* \
	-initrd initramfs -append "console=ttyS0 quiet panic=-1 tsc=unstable no_timer_check" </dev/null | tr -d '\r' |
	grep -ao 'dst.*')
echo "$seen"
[ "$seen" = "dst_min 10.0.0.5, dst_max 10.0.0.10: 10.0.0.5 10.0.0.6 10.0.0.7 10.0.0.8 10.0.0.9
dst6_min 2001:db8::5, dst6_max 2001:db8::a: 2001:db8:: 2001:db8::2 2001:db8::8 2001:db8::a" ]
