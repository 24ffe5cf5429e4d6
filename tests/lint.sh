#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make lint: formatting, compiler warnings of clang, static analysis, man pages, Python, and what the verifier makes
# of the XDP program. Every check runs, also after one has failed; the exit status is 1 if any did.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
failed=0

check() {
	local what=$1
	shift
	echo "lint: $what"
	"$@" || {
		echo "lint: FAILED: $what" >&2
		failed=1
	}
}

mapfile -t c_files < <(git ls-files '*.c' '*.h')
mapfile -t user_c < <(git ls-files 'user/*.c' | grep -v '\.bpf\.c$')
mapfile -t shell_files < <(git ls-files '*.sh' .ci/run)
mapfile -t python_files < <(git ls-files '*.py')
defines=(-D_GNU_SOURCE '-DSIXLANE_VERSION="lint"' "-DSIXLANE_CENSUS_OBJECT=\"$build/census.bpf.o\"")

clang_builds() {
	printf '%s\n' "${user_c[@]}" |
		xargs -P "$(nproc)" -n 8 clang -std=gnu11 "${defines[@]}" -Wall -Wextra -Wshadow \
			-Wstrict-prototypes -Wmissing-prototypes -Werror -fsyntax-only
}

tidy() {
	# each file by itself: clang-tidy 14 carries the analyzer's state from one file to the next
	printf '%s\n' "${user_c[@]}" |
		xargs -P "$(nproc)" -I{} clang-tidy --quiet {} -- -std=gnu11 "${defines[@]}" 2>/dev/null
}

cpp_check() {
	cppcheck -j "$(nproc)" --quiet --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability,performance \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		"${defines[@]}" "${user_c[@]}"
}

man_pages() {
	# the pages of other packages may not be installed or indexed here
	! mandoc -Tlint -W style user/*.8 2>/dev/null | grep -v 'referenced manual not found'
}

# Every file of the end-to-end tests is run in virtual machines, too; starting one takes minutes, this does not.
vm_jobs() {
	/usr/bin/python3 tests/vm/vm.py --list >/dev/null
}

# Load an object in a bpffs of its own; prints what the verifier says.
verify() {
	unshare -m sh -c 'mount -t bpf bpf /sys/fs/bpf &&
		exec bpftool -d prog load "$1" /sys/fs/bpf/sixlane_lint 2>&1' sh "$1"
}

# Of one object. A program that is refused has a count as well, so the status of loading it counts.
object_within_budget() {
	local object=$1 log processed stack
	log=$(verify "$build/$object.bpf.o") || {
		tail -n 20 <<<"$log" >&2
		return 1
	}
	processed=$(sed -n 's/^processed \([0-9]*\) insns.*/\1/p' <<<"$log" | sort -n | tail -n 1)
	stack=$(sed -n 's/^stack depth \(.*\)/\1/p' <<<"$log" | sort -n | tail -n 1)
	echo "      $object: ${processed:-no} instructions verified, ${stack:-no} bytes of stack"
	[ "${processed:-$((max_instructions + 1))}" -le "$max_instructions" ] || {
		echo "lint: $object: the budget is $max_instructions instructions (max_instructions in tests/lint.sh)" >&2
		return 1
	}
}

# Instructions and stack as the verifier sees them. The kernel refuses a million instructions, and 512 bytes of stack
# in one chain of calls; a jump is to be noticed long before, explained, and then allowed for here.
max_instructions=50000
verifier_budget() {
	local object status=0 objects="sixlane sixlane.frags"
	if printf '6.9\n%s\n' "$(uname -r)" | sort -CV; then
		objects+=" sixlane.arena sixlane.arena.frags"
	else
		echo "      not those for arenas: Linux $(uname -r) has none"
	fi
	for object in $objects; do
		object_within_budget "$object" || status=1
	done
	return $status
}

check "clang-format" clang-format --dry-run -Werror "${c_files[@]}"
check "clang's warnings" clang_builds
check "clang-tidy" tidy
check "cppcheck" cpp_check
check "shellcheck" shellcheck -x -S warning "${shell_files[@]}"
check "pyflakes" /usr/bin/python3 -m pyflakes "${python_files[@]}"
check "man pages" man_pages
check "jobs of the virtual machines" vm_jobs
check "the verifier's budget" verifier_budget
exit $failed
