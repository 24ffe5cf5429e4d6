#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The first process of the test machine. Mounts a folder of the host's as its root, read-only under a
# tmpfs, runs the command in it and powers off. What it needs to know is in /settings:
#	ROOT	that folder, a path on the host; empty: the host's own root
#	BINDS	folders of the host that are there, too, by the same names
#	SHARE	where the host's writable directory is mounted in the new root
#	MODULES	the kernel's modules, a path on the host
# The command is the file "command" in SHARE; "output" and "status" are written beside it, the
# status last of all, so that a machine that crashed has none.

export PATH=/bin:/sbin

die() {
	echo "vm: $*" >/dev/console
	poweroff -f
}

mount_9p() { # TAG DIRECTORY OPTIONS
	mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$3" "$1" "$2" || die "cannot mount 9p $1"
}

load_early_modules() {
	for module in /modules/*; do
		insmod "$module" || die "cannot load $module"
	done
}

mount_root() {
	mkdir -p /host /changes /root
	mount_9p host /host ro,cache=loose
	mount -t tmpfs changes /changes
	mkdir /changes/upper /changes/work
	mount -t overlay -o "lowerdir=/host$ROOT,upperdir=/changes/upper,workdir=/changes/work" root /root ||
		die "cannot mount the root"
	mount --rbind /dev /root/dev
	mount -t proc proc /root/proc
	mount -t sysfs sys /root/sys
	mount -t bpf bpf /root/sys/fs/bpf
	mount -t tmpfs run /root/run
	for folder in $BINDS; do
		mkdir -p "/root$folder"
		mount --bind "/host$folder" "/root$folder"
	done
	mkdir -p "/root$SHARE"
	mount_9p share "/root$SHARE" rw,cache=none
}

# Whatever a test asks for, the kernel asks modprobe for, as on any machine. That runs outside of
# the new root. Without its option "bonding" makes a bond0 at once that tests would trip over.
serve_modules() {
	release=$(uname -r)
	mkdir -p "/root/lib/modules/$release" /root/etc/modprobe.d
	mount --bind "/host$MODULES" "/root/lib/modules/$release"
	echo "options bonding max_bonds=0" >/root/etc/modprobe.d/sixlane-vm.conf
	printf '#!/bin/sh\nexec chroot /root /sbin/modprobe "$@"\n' >/sbin/modprobe
	chmod 755 /sbin/modprobe
	/sbin/modprobe tun # makes /dev/net/tun, which nobody can ask for while it is not there
	# nobody asks for the driver of a device that is there from the beginning, either
	for alias in /sys/bus/virtio/devices/*/modalias; do
		/sbin/modprobe "$(cat "$alias")"
	done
}

/bin/busybox --install -s /bin
mkdir -p /dev /proc /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t proc proc /proc
mount -t sysfs sys /sys
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
. /settings
load_early_modules
mount_root
serve_modules
ip link set lo up
echo "vm: ready after $(cut -d ' ' -f 1 /proc/uptime) s" >/dev/console
chroot /root /bin/sh "$SHARE/command" >"/root$SHARE/output" 2>&1 </dev/null
echo $? >"/root$SHARE/status"
poweroff -f
