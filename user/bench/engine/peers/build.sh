#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Build libraries of lookups as peers of `sixlane bench lookup`: build.sh BUILD. Each is fetched in a pinned version
# from its authors, and nothing of it is distributed with sixlane. Licences: bart and iptrie MIT, prefix-trie MIT or
# Apache-2.0; poptrie's permits education, research and evaluation only. What cannot be built is left out.
set -u
here=$(dirname "$(realpath "$0")") built=0
mkdir -p "$1/peers" && out=$(realpath "$1") || exit 1

build_poptrie() { # ../peer_poptrie.c says why it is changed
	local source=$out/peers/poptrie url=https://github.com/pixos/poptrie
	[ -d "$source" ] || git clone -q --filter=blob:none --no-checkout $url "$source" || return
	git -C "$source" checkout -q 845c3b4663ea58395eb11a6c448230284ebd8c90 -- ':(glob)*.[ch]' || return
	sed -i 's/typedef u16 poptrie_leaf_t/typedef u32 poptrie_leaf_t/' "$source/poptrie.h"
	sed -i -e 's/poptrie_fib_ref(poptrie, nexthop)/(int)(long)nexthop/' \
		-e '/^poptrie6_lookup/,/^}/s/poptrie->fib.entries\[\(.*\)\].entry/(void *)(long)(\1)/' \
		-e 's/((a) >> (128 - ((s) + (n))))/((a) << (s) >> (128 - (n)))/' "$source/poptrie6.c"
	gcc -O2 -g -std=gnu11 -march=native -D_GNU_SOURCE -Wall -Wextra -fPIC -shared -isystem "$source" \
		-o "$out/peer-poptrie.so" "$here/../peer_poptrie.c" -w "$source"/{poptrie,poptrie6,buddy}.c
}

build_bart() {
	if grep -qw bmi2 /proc/cpuinfo; then export GOAMD64=v3; fi
	(cd "$here" && go build -trimpath -buildmode=c-shared -o "$out/peers/bart.so" .) &&
		mv "$out/peers/bart.so" "$out/peer-bart.so" # without the header that Go writes beside it
}

build_rust() {
	CARGO_TARGET_DIR=$out/peers/rust CARGO_PROFILE_RELEASE_LTO=true RUSTFLAGS="-C target-cpu=native" \
		cargo build --quiet --locked --release --manifest-path "$here/rust/Cargo.toml" &&
		cp "$out/peers/rust/release/libpeer_rust.so" "$out/peer-rust.so"
}

peer() { # NAME TOOL WHAT-IT-NEEDS
	rm -f "$out/peer-$1.so"
	if ! command -v "$2" >/dev/null; then
		echo "peers: $1 is left out: there is no $2; it needs $3" >&2
	elif "build_$1"; then
		echo "peers: $out/peer-$1.so is built"
		built=$((built + 1))
	else
		echo "peers: $1 is left out, as it says above; it needs $3, and the network for the first time" >&2
	fi
}

peer poptrie git "git and gcc"
peer bart go "Go 1.24: golang-go of Debian 13, or of Debian 12's backports, which fetches that by itself"
peer rust cargo "Rust 1.81: cargo of Debian 13, or cargo-web and rustc-web of Debian 12"
[ $built -gt 0 ]
