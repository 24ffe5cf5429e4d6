#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make lint: formatting, compiler warnings of clang, static analysis, documents, Python, and what the verifier makes
# of the XDP program. Every check runs, also after one has failed; the exit status is 1 if any did.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
passed=0 failed=0

check() {
	local what=$1
	shift
	echo "lint: $what"
	if "$@"; then
		passed=$((passed + 1))
	else
		echo "lint: FAILED: $what" >&2
		failed=$((failed + 1))
	fi
}

mapfile -t c_files < <(git ls-files '*.c' '*.h')
# peer_*.c are for libraries that need not be installed
mapfile -t user_c < <(git ls-files 'user/*.c' | grep -v '\.bpf\.c$\|/peer_')
mapfile -t shell_files < <(git ls-files '*.sh' .ci/run)
mapfile -t python_files < <(git ls-files '*.py')
defines=(-D_GNU_SOURCE '-DSIXLANE_VERSION="lint"'
	"-DSIXLANE_KERNEL_READER_OBJECT=\"$build/kernel_reader.bpf.o\""
	"-DSIXLANE_KERNEL_READER_PROBE_OBJECT=\"$build/kernel_reader.probe.bpf.o\"")

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
	! mandoc -Tlint -W style user/*/*.8 user/*/*.5 2>/dev/null | grep -v 'referenced manual not found'
}

# What users read: no private words, no long sentences.
user_words() {
	/usr/bin/python3 tests/lint_words.py
}

# Calls and includes form no circle; headers are short; the packet program is a list.
structure() {
	/usr/bin/python3 tests/lint_structure.py "$build"
}

# Every file of the end-to-end tests runs in virtual machines, too, and each file that a job names exists. This starts none.
vm_jobs() {
	/usr/bin/python3 tests/vm/vm.py --list >/dev/null
}

# Instructions and stack as this kernel's verifier sees them, of every compiler's objects: see tests/vm/matrix.py.
verifier_budget() {
	/usr/bin/python3 tests/vm/matrix.py --carried --kernel here
}

check "clang-format" clang-format --dry-run -Werror "${c_files[@]}"
check "clang's warnings" clang_builds
check "clang-tidy" tidy
check "cppcheck" cpp_check
check "shellcheck" shellcheck -x -S warning "${shell_files[@]}"
check "pyflakes" /usr/bin/python3 -m pyflakes "${python_files[@]}"
check "man pages" man_pages
check "words that users meet" user_words
check "structure" structure
check "documents" /usr/bin/python3 tests/lint_docs.py
check "jobs of the virtual machines" vm_jobs
check "the verifier's budget" verifier_budget
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
