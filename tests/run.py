#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the suites one after the other and add them up.

Every suite writes JUnit XML, from which the closing line is counted; a program that dies without
having written any counts as one failure. Knows how to start each suite, not what it tests.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SIXLANE_BUILD", ROOT / "build"))
RESULTS = BUILD / "results"


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.notes = []

    def fail(self, name, why):
        self.failed += 1
        self.notes.append(f"FAIL {name}: {why}")

    def read(self, path, name, status):
        """Count one JUnit file. A status without a failure in the file is a failure of its own."""
        failed_before, counted_before = self.failed, self.passed + self.failed + self.skipped
        try:
            # cmocka 1.1.5 writes control characters of a failed comparison as they are
            text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", path.read_text(errors="replace"))
            cases = list(ElementTree.fromstring(text).iter("testcase"))
        except (OSError, ElementTree.ParseError) as error:
            self.fail(name, f"no result (exit status {status}): {error}")
            return
        for case in cases:
            full = f"{name}: {case.get('classname') or ''} {case.get('name')}"
            skipped, failure = case.find("skipped"), case.find("failure")
            failure = case.find("error") if failure is None else failure
            if failure is not None:
                self.fail(full, (failure.get("message") or failure.text or "").split("\n")[0])
            elif skipped is not None:
                self.skipped += 1
                reason = skipped.get("message") or skipped.text or "the test program says why above"
                self.notes.append(f"SKIP {full}: {reason}")
            else:
                self.passed += 1
        if self.passed + self.failed + self.skipped == counted_before:
            self.fail(name, f"ran no test (exit status {status})")
        elif status and self.failed == failed_before:
            self.fail(name, f"exit status {status}, though no test failed")

    def close(self):
        """Say what was counted; returns the run's exit status."""
        for note in self.notes:
            print(note)
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


def run_cmocka(program, tally, arguments=()):
    """One cmocka program: results as XML in a file, its own output on the screen."""
    path = RESULTS / f"{program.name}.xml"
    path.unlink(missing_ok=True)
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="XML", CMOCKA_XML_FILE=str(path))
    print(f"== {program.name}", flush=True)
    status = subprocess.run([program, *arguments], env=environment, cwd=ROOT, check=False).returncode
    merge_groups(path)
    tally.read(path, program.name, status)


def merge_groups(path):
    """cmocka appends one whole document a test group: make it one."""
    if path.exists():
        text = re.sub(r"<\?xml[^>]*\?>", "", path.read_text(errors="replace"))
        path.write_text(f"<all>{text}</all>")


def run_unit(tally):
    for program in sorted((BUILD / "unit").glob("test_*")):
        if os.access(program, os.X_OK) and not program.suffix:
            run_cmocka(program, tally)


def run_bpf(tally):
    """The object for any kernel, and that for kernels with arenas."""
    for name in ("sixlane.bpf.o", "sixlane.arena.bpf.o"):
        run_cmocka(BUILD / "test_bpf", tally, [BUILD / name])


def run_fuzz(tally):
    """A bounded run from a fixed seed: crashes and sanitizer reports end it with a status."""
    for program in sorted((BUILD / "fuzz").glob("fuzz_*")):
        if program.suffix:
            continue
        print(f"== {program.name}", flush=True)
        done = subprocess.run([program], cwd=ROOT, check=False)
        if done.returncode:
            tally.fail(program.name, f"exit status {done.returncode}")
        else:
            tally.passed += 1


def run_pytest(folder, tally):
    """As many files at a time as there are CPUs."""
    path = RESULTS / f"{folder}.xml"
    path.unlink(missing_ok=True)
    print(f"== {folder}", flush=True)
    status = subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider",
         "-n", str(len(os.sched_getaffinity(0))), "--dist", "loadfile",
         f"--junitxml={path}", str(ROOT / "tests" / folder)],
        cwd=ROOT, check=False).returncode
    tally.read(path, folder, status)


PARITY_SECONDS = 60
PARITY_SEED = "24"


def run_parity(tally):
    """As many configurations as two minutes allow, and the regressions that are kept.

    Of one seed: what fails here is due to the change that is tested. `make parity` has new ones.
    """
    print("== parity", flush=True)
    status = subprocess.run(
        ["/usr/bin/python3", ROOT / "tests" / "parity" / "parity.py", "--seconds",
         str(PARITY_SECONDS), "--jobs", "2", "--seed", PARITY_SEED],
        cwd=ROOT, check=False).returncode
    if status:
        tally.fail("parity", f"exit status {status}")
    else:
        tally.passed += 1


SUITES = {
    "unit": run_unit,
    "fuzz": run_fuzz,
    "bpf": run_bpf,
    "e2e": lambda tally: run_pytest("e2e", tally),
    "trex": lambda tally: run_pytest("trex", tally),
    "parity": run_parity,
}


def main():
    parser = argparse.ArgumentParser(description="Run sixlane's tests.")
    parser.add_argument("suite", nargs="*", help=f"of {', '.join(SUITES)} (default: all)")
    suites = parser.parse_args().suite or list(SUITES)
    for suite in suites:
        if suite not in SUITES:
            parser.error(f"no suite {suite!r}; there are {', '.join(SUITES)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    start = time.monotonic()
    for suite in suites:
        SUITES[suite](tally)
    print(f"\nall suites took {time.monotonic() - start:.0f} s")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
