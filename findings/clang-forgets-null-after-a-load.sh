#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# clang leaves out a BPF program's test for NULL behind a load by that pointer, which BPF defines to give 0.
#
# Versions: clang 14.0.6-12 of Debian 12, with libllvm14 and libclang-cpp14 of that version.
# Expected: compiled for BPF, a pointer that was loaded by may still be NULL. The kernel lets programs walk its lists and
#	trees by such pointers without a test at each step: a load by one that is NULL gives 0, and the program goes on.
# Seen: where a branch lies between load and test, the test is gone, without a warning: the function answers as if there
#	were always a node. With -fno-delete-null-pointer-checks, which the kernel is compiled with, it stays. The
#	verifier takes both, so that a walk which loads ahead of its test goes wrong only when it runs.
# Reason: C leaves a load by NULL undefined, and clang's target for BPF makes no exception.
# Needs apt-get with Debian 12's packages, and what libllvm14 depends on installed: libedit2, libxml2, libz3-4.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download \
	clang-14=1:14.0.6-12 libclang-cpp14=1:14.0.6-12 libllvm14=1:14.0.6-12)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
llvm=$(dirname "$(find "$folder" -name libLLVM-14.so.1 -type f)")
cat >"$folder/try.bpf.c" <<'C'
struct node {
	struct node *left, *right;
	unsigned long leaf;
};

volatile unsigned long seen;

int is_there(const struct node *node, int count)
{
	seen = node->leaf;
	if (count)
		seen = 1;
	return node != 0;
}
C
# The function's comparisons with 0: of count, and of node.
tests()
{
	LD_LIBRARY_PATH="$llvm" "$folder/usr/lib/llvm-14/bin/clang" -O2 -Wall -Wextra -Werror -target bpf \
		-mcpu=v3 "$@" -S -o - "$folder/try.bpf.c" | grep -cE '^[[:space:]]+if [rw][0-9]+ [!=]= 0 goto'
}
plain=$(tests)
kept=$(tests -fno-delete-null-pointer-checks)
echo "clang 14.0.6: comparisons with 0: $plain; with -fno-delete-null-pointer-checks: $kept"
[ "$plain" = 1 ] && [ "$kept" = 2 ]
