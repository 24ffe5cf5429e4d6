#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the suites and add them up.

Three kinds of work run at the same time, so that no CPU idles while a test waits for the kernel:
- in front, one after the other, with output: end-to-end tests and parity;
- beside the end-to-end tests, at the same priority: the BPF tests, since their deadlines must hold;
- behind, at the lowest priority: programs of one busy process.

Every suite writes JUnit XML, from which results are counted; a program that ends without any counts as one
failure. Knows how to start each suite, not what it tests.
"""

import argparse
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from typing import Callable, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SIXLANE_BUILD", ROOT / "build"))
RESULTS = BUILD / "results"
CPUS = len(os.sched_getaffinity(0))


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
        """Print the results; returns the run's exit status."""
        for note in self.notes:
            print(note)
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


class Work(NamedTuple):
    """One process of a suite."""

    name: str
    argv: list
    count: Callable  # adds what it left, by (tally, exit status)
    environment: dict = {}
    place: str = "behind"  # "alone": in front, with nothing beside it; "front", "beside"


# --- the suites -------------------------------------------------------------------------------


def merge_groups(path):
    """cmocka writes one document for each test group: make them one."""
    if path.exists():
        text = re.sub(r"<\?xml[^>]*\?>", "", path.read_text(errors="replace"))
        path.write_text(f"<all>{text}</all>")


def result_path(name):
    """The file for results; that of an earlier run is removed."""
    path = RESULTS / f"{name}.xml"
    path.unlink(missing_ok=True)
    return path


def cmocka(name, *argv, **kwargs):
    path = result_path(name)

    def count(tally, status):
        merge_groups(path)
        tally.read(path, name, status)

    environment = {"CMOCKA_MESSAGE_OUTPUT": "XML", "CMOCKA_XML_FILE": str(path)}
    return Work(name, argv, count, environment, **kwargs)


def by_status(name, *argv, **kwargs):
    """A program that is one test."""

    def count(tally, status):
        if status:
            tally.fail(name, f"exit status {status}")
        else:
            tally.passed += 1

    return Work(name, argv, count, **kwargs)


def pytest(name, *words, **kwargs):
    """words: options, and what to run."""
    path = result_path(name)
    argv = ["/usr/bin/python3", "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", f"--junitxml={path}", *words]
    return Work(name, argv, lambda tally, status: tally.read(path, name, status), **kwargs)


def unit():
    """One process a file: they run in parallel, and a crash ends only one."""
    folders = sorted(path.name for path in (ROOT / "tests" / "unit").iterdir() if path.is_dir())
    programs = [BUILD / "unit" / folder for folder in folders]
    return [
        cmocka(f"{program.name}-{file}", program, file)
        for program in programs
        for file in subprocess.check_output([program, "--list"], text=True).split()
    ]


def bpf():
    """The object for any kernel, and that for kernels with arenas. Not behind, as they test a rate limit."""
    return [
        cmocka(f"test_bpf-{name}", BUILD / "test_bpf", BUILD / f"{name}.bpf.o", place="beside")
        for name in ("sixlane", "sixlane.arena")
    ]


FUZZ_ITERATIONS = 500_000


def fuzz():
    """A bounded run from a fixed seed, which fails at crashes and sanitizer reports."""
    programs = sorted((BUILD / "fuzz").glob("fuzz_*"))
    return [by_status(program.name, program, str(FUZZ_ITERATIONS)) for program in programs if not program.suffix]


def e2e():
    """More files at a time than there are CPUs, since a test waits half of its time, mostly for the kernel's grace
    periods. BPF programs at netfilter hooks of one namespace affect all, if the kernel does not show whose they
    are: their tests run alone."""
    folder = ROOT / "tests" / "e2e"
    alone = folder / "test_guard_hooks.py"
    options = ["-n", str(3 * CPUS), "--dist", "loadfile", f"--ignore={alone}"]
    return [pytest("e2e", *options, folder, place="front"), pytest("e2e-hooks", alone, place="alone")]


def bench():
    """Modules of the harness, apart from other tests: some module names are the same."""
    return [pytest("bench", ROOT / "tests" / "bench")]


def trex():
    return [pytest("trex", ROOT / "tests" / "trex")]


PARITY_SECONDS = 25
PARITY_SEED = "24"


def parity():
    """Play all regressions, and as many configurations as the time allows.

    The seed is fixed, so that a failure is due to the tested change. `make parity` uses new ones.
    """
    script = ROOT / "tests" / "parity" / "parity.py"
    options = ["--seconds", str(PARITY_SECONDS), "--jobs", str(2 * CPUS), "--seed", PARITY_SEED]
    return [by_status("parity", "/usr/bin/python3", script, *options, place="alone")]


SUITES = {suite.__name__: suite for suite in (unit, fuzz, bpf, e2e, bench, trex, parity)}


# --- running them -----------------------------------------------------------------------------


class Running:
    """A process that was started. Only work in front prints before show()."""

    def __init__(self, work):
        self.work, self.output = work, None
        argv = ["setpriv", "--pdeathsig", "KILL", "--", *work.argv]
        if work.place in ("front", "alone"):
            print(f"== {work.name}", flush=True)
        else:
            self.output = tempfile.TemporaryFile("w+", errors="replace")
        if work.place == "behind":
            argv = ["nice", "-n", "19", *argv]
        self.process = subprocess.Popen(
            argv, env=dict(os.environ, **work.environment), cwd=ROOT,
            stdout=self.output, stderr=self.output and subprocess.STDOUT,
        )  # fmt: skip
        self.pidfd = os.pidfd_open(self.process.pid)

    def fileno(self):
        """Readable when it has ended."""
        return self.pidfd

    def end(self):
        """Kill what still runs; returns the exit status."""
        self.process.kill()
        os.close(self.pidfd)
        return self.process.wait()

    def show(self):
        with self.output:
            self.output.seek(0)
            print(f"== {self.work.name}\n{self.output.read()}", end="", flush=True)


class Runner:
    MOST = {"alone": 1, "front": 1, "beside": 1, "behind": CPUS}

    def __init__(self, works, tally):
        self.waiting = {place: [work for work in works if work.place == place] for place in self.MOST}
        self.tally, self.running, self.unseen = tally, [], []

    def run(self):
        try:
            while self.running or any(self.waiting.values()):
                for place in self.MOST:
                    self.start(place)
                for running in select.select(self.running, [], [])[0]:
                    self.finish(running)
        finally:  # after Ctrl-C, too
            for running in self.running:
                running.end()

    def count(self, *places):
        return sum(running.work.place in places for running in self.running)

    def start(self, place):
        while self.waiting[place] and self.count(place) < self.MOST[place]:
            if place in ("front", "beside") and self.count("alone"):
                break
            self.running.append(Running(self.waiting[place].pop(0)))

    def finish(self, running):
        self.running.remove(running)
        running.work.count(self.tally, running.end())
        if running.output:
            self.unseen.append(running)
        while self.unseen and not self.count("front", "alone"):
            self.unseen.pop(0).show()


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
    Runner([work for suite in suites for work in SUITES[suite]()], tally).run()
    print(f"\nall suites took {time.monotonic() - start:.0f} s")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
