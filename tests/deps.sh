#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Install the Debian or Ubuntu packages that a make target needs and this machine lacks:
#	tests/deps.sh [-n] GROUP...		groups: build demo test test-vm matrix lint bench
# Says which before it does; silent and without touching the network when nothing is missing.
# -n only prints what is missing. SIXLANE_NO_DEPS=1 in the environment switches it off, for
# machines that are neither.

set -eu

die()
{
	echo "deps: $*" >&2
	exit 1
}

distribution()
{
	# shellcheck source=/dev/null
	(. /etc/os-release 2>/dev/null && echo "${ID:-}")
}

# bpftool is a package of its own in Debian; in Ubuntu it comes with the kernel's tools.
bpftool_packages()
{
	case $(distribution) in
	ubuntu) echo linux-tools-common linux-tools-generic ;;
	*) echo bpftool ;;
	esac
}

packages_of()
{
	case $1 in
	build) echo gcc libc6-dev make clang llvm libbpf-dev libxdp-dev libmnl-dev libnftnl-dev \
		libconfig-dev libjansson-dev xz-utils ;;
	demo) packages_of build && echo python3 python3-numpy iproute2 ethtool bird2 iputils-ping traceroute ;;
	# numpy draws tables and addresses, matplotlib what was measured; BIRD takes updates
	# and bench churn replays BGP updates by BIRD
	bench) packages_of build && echo python3 python3-numpy python3-matplotlib iproute2 ethtool bird2 ;;
	# tracepath is what people look at a path's MTU with; pgrep of procps finds the daemon of a benchmark
	# the rest are the firewalls, and who else writes rules, that tests put beside sixlane
	test) packages_of demo && echo libcmocka-dev python3-pytest python3-pytest-xdist python3-scapy \
		nftables iptables python3-nftables ufw firewalld keepalived \
		xdp-tools iputils-tracepath python3-numpy python3-matplotlib procps &&
		bpftool_packages ;;
	# qemu boots other kernels, which take a busybox, cpio and the compressions of modules; test_flows.py runs
	# conntrack
	test-vm) packages_of test && echo conntrack qemu-system-x86 busybox-static cpio zstd kmod \
		qemu-system-arm gcc-aarch64-linux-gnu debootstrap debian-archive-keyring ;;
	# a machine has one compiler or two, and Debian's releases have all: in roots of their own
	matrix) packages_of test-vm ;;
	lint) packages_of build && echo python3 clang-format clang-tidy cppcheck shellcheck mandoc \
		python3-pyflakes libcmocka-dev debootstrap debian-archive-keyring ;;
	*) die "unknown group '$1'; known: build demo test test-vm matrix lint bench" ;;
	esac
}

# What a target does without where there is none of it: lookups are measured beside DPDK's, too.
optional_of()
{
	case $1 in
	# and BGP tables and updates are read from MRT
	bench) printf '%s\n' libdpdk-dev bgpdump ;;
	test) echo bgpdump ;;
	esac
}

# The packages of the arguments that are not installed. Unknown ones make dpkg-query fail.
missing_of()
{
	local have package

	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
	for package; do
		case "
$have
" in
		*"
installed $package
"*) ;;
		*) echo "$package" ;;
		esac
	done
}

apt()
{
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >&2
}

# A package that brings a service (bird2) must not start it on this machine.
forbid_services()
{
	[ ! -e /usr/sbin/policy-rc.d ] || return 0
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod 755 /usr/sbin/policy-rc.d
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

# … nor whenever the machine boots: firewalld would close its ports.
forbid_boot()
{
	case " $* " in
	*" firewalld "*) systemctl disable firewalld >&2 || true ;;
	esac
}

# Package lists may be absent (fresh container) or too old to download from: then, once, update.
install_packages()
{
	if apt-get -s install "$@" >/dev/null 2>&1 && apt install --no-install-recommends "$@"; then
		return
	fi
	apt update || die "'apt-get update' failed; see above"
	apt install --no-install-recommends "$@" || die "cannot install: $*; see above"
}

main()
{
	local dry_run=''

	if [ "${1:-}" = -n ]; then
		dry_run=1
		shift
	fi
	[ $# -gt 0 ] || die "usage: tests/deps.sh [-n] GROUP..."
	[ -z "${SIXLANE_NO_DEPS:-}" ] || return 0
	need "$dry_run" "$@"
	[ -n "$dry_run" ] || want "$@"
}

need()
{
	local dry_run=$1 list packages missing

	shift
	list=$(for group; do packages_of "$group"; done) || exit 1
	read -r -d '' -a packages <<<"$list" || true
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		die "this machine has no apt. Install the counterparts of these Debian packages," \
			"then set SIXLANE_NO_DEPS=1: ${packages[*]}"
	fi
	mapfile -t missing < <(missing_of "${packages[@]}" | sort -u)
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ -n "$dry_run" ]; then
		printf '%s\n' "${missing[@]}"
		return
	fi
	[ "$(id -u)" = 0 ] || die "packages are missing, and installing them needs root." \
		"As root: apt-get install ${missing[*]}"
	echo "deps: installing ${missing[*]}" >&2
	forbid_services
	install_packages "${missing[@]}"
	forbid_boot "${missing[@]}"
}

# Never fails.
want()
{
	local packages missing

	mapfile -t packages < <(for group; do optional_of "$group"; done)
	[ ${#packages[@]} -gt 0 ] || return 0
	mapfile -t missing < <(missing_of "${packages[@]}")
	[ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] || return 0
	echo "deps: installing ${missing[*]}, which is optional" >&2
	(install_packages "${missing[@]}") || echo "deps: it goes without ${missing[*]}" >&2
}

main "$@"
