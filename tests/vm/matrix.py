#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Build the BPF objects with every clang from 14 to Debian's newest, and load them on several kernels.
Prints a table: instructions that the verifier processed, and stack bytes of the worst chain of calls.

A program fails if it is refused, or if it uses more than three quarters of what the verifier allows.
Nothing is skipped: a compiler or a kernel that is not available fails the run.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from debian import DebianError, debian_call, debian_root, environment_outside  # noqa: E402
from machine import Machine, MachineError, kernel_get  # noqa: E402
from run import BUILD, Tally  # noqa: E402

# Three quarters of what the verifier allows.
MAX_INSTRUCTIONS = 1_000_000 * 3 // 4
MAX_STACK_BYTES = 512 * 3 // 4
# Of the program that forwards packets, on any kernel. A commit that raises it explains why.
BUDGET_INSTRUCTIONS = 70_000
# Of its trace flavour, which forwards none: `sixlane explain` loads it, and nothing is called below it.
TRACE_INSTRUCTIONS = 200_000  # Linux 6.1 takes three times what later ones do: 157,386 by clang 14
TRACE_STACK_BYTES = 480
# The release of each compiler. The newest of sid is added.
COMPILERS = {14: "bookworm", 15: "bookworm", 16: "bookworm", 17: "trixie", 18: "trixie", 19: "trixie"}
# "here" is the kernel that runs this.
KERNELS = ["6.1", "6.12", "here", "backports", "sid"]
HEADERS = ["make", "libbpf-dev", "libc6-dev"]
# The objects for emulated kernels: those that forward packets, and those of the daemon.
CARRIED = ["sixlane", "sixlane.frags", "sixlane.arena", "sixlane.arena.frags", "sixlane.flows", "sixlane.trace",
           "kernel_reader", "kernel_reader.probe", "bound"]  # fmt: skip
FLOWS_SINCE = (6, 11)
ARENA_SINCE = (6, 9)
CAST_SINCE = (6, 2)  # bpf_rdonly_cast()
MACHINE_TIMEOUT_S = 1200


# --- compilers ------------------------------------------------------------------------------


class Compiler(NamedTuple):
    version: int
    root: object  # in which it is installed

    @property
    def folder(self):
        return BUILD / "matrix" / f"clang-{self.version}"


def root_of(suite):
    """A Root with that release's compilers."""
    versions = [version for version, of in COMPILERS.items() if of == suite]
    if versions:
        packages = [f"clang-{version}" for version in versions]
        return debian_root(f"clang-{suite}", suite, [*HEADERS, *packages])

    def install_newest(root):
        search = "apt-cache search --names-only '^clang-[0-9]+$' | cut -d' ' -f1 | sort -V | tail -n 1"
        command = f'apt-get -q -y install --no-install-recommends "$({search})"'
        debian_call(root.argv(["env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", command]))

    return debian_root(f"clang-{suite}", suite, HEADERS, install_newest)


def newest_of(root):
    found = (root.path / "usr/bin").glob("clang-[0-9]*")
    return max(int(path.name.removeprefix("clang-")) for path in found if path.name[6:].isdigit())


def compilers():
    """All of them, the oldest first."""
    roots = {suite: root_of(suite) for suite in [*sorted(set(COMPILERS.values())), "sid"]}
    every = [Compiler(version, roots[suite]) for version, suite in COMPILERS.items()]
    newest = newest_of(roots["sid"])
    if newest <= every[-1].version:
        raise DebianError(f"sid's newest compiler is clang {newest}")
    return [*every, Compiler(newest, roots["sid"])]


def build(compiler):
    """Its objects, in its folder. DebianError with the first error of the compiler."""
    multiarch = debian_call(["gcc", "-print-multiarch"]).strip()
    make = ["make", "-s", "-C", ROOT, "objects", f"B={compiler.folder}",
            f"CLANG=clang-{compiler.version}", f"HOST_ARCH={multiarch}"]  # fmt: skip
    if compiler.folder.exists() and compiler.folder.stat().st_mtime < compiler.root.path.stat().st_mtime:
        shutil.rmtree(compiler.folder)  # what another version has built
    compiler.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sixlane-matrix-") as scratch:
        debian_call(compiler.root.argv([str(word) for word in make], scratch, [ROOT, BUILD]), env=environment_outside())
    missing = [name for name in CARRIED if not (compiler.folder / f"{name}.bpf.o").exists()]
    if missing:
        raise DebianError(f"clang {compiler.version} built no {', '.join(missing)}, which CARRIED names")


# --- kernels --------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """A kernel's result for a program: these numbers, or an error."""

    instructions: int = 0
    stack: int = 0
    chain: str = ""
    error: str = ""

    def why_not(self, path):
        """Why the program of that object fails, or ""."""
        most, most_stack = MAX_INSTRUCTIONS, MAX_STACK_BYTES
        if path.name == "sixlane.trace.bpf.o":
            most, most_stack = TRACE_INSTRUCTIONS, TRACE_STACK_BYTES
        elif path.name.startswith("sixlane."):
            most = BUDGET_INSTRUCTIONS
        if self.error:
            return self.error
        if self.instructions > most:
            return f"{self.instructions} instructions, over {most}"
        if self.stack > most_stack:
            return f"{self.stack} bytes of stack, over {most_stack}: {self.chain}"
        return ""


def script(paths):
    """Load each object, with a bpffs of its own, as they pin maps by name. The output shows failures."""
    verify = "mount -t bpf bpf /sys/fs/bpf && exec \"$@\""
    words = ["unshare", "--mount", "sh", "-c", verify, "verify", str(BUILD / "verify")]
    return "\n".join(["modprobe -q nf_flow_table", *(shlex.join([*words, str(path)]) for path in paths), "true\n"])


def parse(output):
    """{(path of the object, program): Verdict}"""
    verdicts, ended = {}, set()
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        if "programs" in row:
            if row["programs"] != sum(of == row["object"] for of, _ in verdicts):
                verdicts[row["object"], "?"] = Verdict(error="not all of its programs were judged")
            ended.add(row["object"])
            continue
        error = f"{row['error']}: {row['verifier']}" if "error" in row else ""
        verdicts[row["object"], row["program"]] = Verdict(
            row.get("instructions", 0), row.get("stack", 0), row.get("chain", ""), error)  # fmt: skip
    for path in {of for of, _ in verdicts} - ended:
        verdicts.setdefault((path, "?"), Verdict(error="it was not judged to its end"))
    return verdicts


def judge_here(paths):
    with tempfile.TemporaryDirectory() as folder:
        command = pathlib.Path(folder) / "command"
        command.write_text(script(paths))
        return parse(subprocess.run(["sh", command], capture_output=True, text=True, check=True).stdout)


def judge_emulated(name, paths):
    share = BUILD / "matrix" / f"linux-{name}"
    machine = Machine(kernel_get(name), share, cpus=1)
    machine.run(f"cd {shlex.quote(str(ROOT))}\n{script(paths)}", MACHINE_TIMEOUT_S)
    return parse((share / "output").read_text(errors="replace"))


def release_of(name):
    return os.uname().release if name == "here" else kernel_get(name).release


def is_since(release, version):
    return tuple(int(word) for word in release.split(".")[:2]) >= version


def has_flows(name, release):
    """bpf_xdp_flow_lookup() is there, or in a module that the machine has."""
    if name == "here":
        return pathlib.Path("/sys/kernel/btf/nf_flow_table").exists()
    return is_since(release, FLOWS_SINCE)


def objects_for(name, release, chosen, only_carried):
    """The paths of those that this kernel is to load."""
    paths = []
    for compiler in chosen:
        for path in sorted(compiler.folder.glob("*.bpf.o")):
            stem = path.name.removesuffix(".bpf.o")
            if stem not in CARRIED and only_carried:
                continue
            if (
                (".arena" in stem and not is_since(release, ARENA_SINCE))
                or (stem.endswith(".flows") and not has_flows(name, release))
                or (stem == "kernel_reader" and not is_since(release, CAST_SINCE))
            ):
                continue
            paths.append(path)
    return paths


# --- the table ------------------------------------------------------------------------------


def of_object(verdicts, path):
    """{program: Verdict} of an object."""
    found = {program: verdict for (of, program), verdict in verdicts.items() if of == str(path)}
    return found or {"": Verdict(error="build/verify printed nothing about it")}


def count(release, paths, verdicts, tally):
    for path in paths:
        for program, verdict in of_object(verdicts, path).items():
            why_not = verdict.why_not(path)
            if why_not:
                tally.fail(f"Linux {release} {path.parent.name} {path.name} {program}".strip(), why_not)
            else:
                tally.passed += 1


def cell(verdicts):
    """The most instructions and the most stack of an object's programs."""
    if any(verdict.error for verdict in verdicts):
        return "REFUSED"
    instructions = max(verdict.instructions for verdict in verdicts)
    return f"{instructions}/{max(verdict.stack for verdict in verdicts)}"


def print_table(release, paths, verdicts):
    """Print a kernel's part of the table."""
    columns = list(dict.fromkeys(path.parent for path in paths))
    names = list(dict.fromkeys(path.name for path in paths))
    print(f"\nLinux {release}: instructions/bytes of stack")
    print(f"{'':30}", *(f"{column.name:>11}" for column in columns))
    for name in names:
        cells = [cell(of_object(verdicts, column / name).values()) for column in columns]
        print(f"{name.removesuffix('.bpf.o'):30}", *(f"{text:>11}" for text in cells))
    rows = [(verdict.stack, path, verdict.chain) for path in paths for verdict in of_object(verdicts, path).values()]
    stack, path, chain = max(rows, key=lambda row: row[0])
    print(f"most stack: {stack} bytes, {path.parent.name} {path.name}: {chain}", flush=True)


def run_kernel(name, chosen, only_carried):
    release = release_of(name)
    paths = objects_for(name, release, chosen, only_carried or name != "here")
    return release, paths, judge_here(paths) if name == "here" else judge_emulated(name, paths)


@contextlib.contextmanager
def locked():
    """make lint and make matrix may run side by side, and build the same objects."""
    (BUILD / "matrix").mkdir(parents=True, exist_ok=True)
    with open(BUILD / "matrix" / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(args, tally):
    if not (BUILD / "verify").exists():
        verify = os.path.relpath(BUILD / "verify", ROOT)
        raise DebianError(f"no {verify}, which loads the objects: run 'make {verify}'")
    every = compilers()
    with locked():
        for compiler in every:
            build(compiler)
    ends = [every[0], every[-1]]
    with concurrent.futures.ThreadPoolExecutor(args.machines) as pool:
        running = {
            name: pool.submit(run_kernel, name, ends if args.quick and name != "here" else every, args.carried)
            for name in args.kernel.split(",")
        }
        for name, done in running.items():
            try:
                count(*done.result(), tally)
                print_table(*done.result())
            except (DebianError, MachineError) as error:
                tally.fail(f"Linux {name}", str(error))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true",
                        help="other kernels than this one get only the oldest and the newest compiler's objects")
    parser.add_argument("--carried", action="store_true",
                        help="of this kernel, too, only the objects that carry packets, without the benches'")
    parser.add_argument("--kernel", default=",".join(KERNELS), metavar="LIST", help="of %(default)s (default: all)")
    parser.add_argument("--machines", type=int, metavar="N", default=os.cpu_count(),
                        help="how many emulated ones at a time (default: one a CPU, %(default)s)")  # fmt: skip
    args = parser.parse_args()
    for name in args.kernel.split(","):
        if name not in KERNELS:
            parser.error(f"no kernel {name!r}; there are {', '.join(KERNELS)}")
    tally = Tally()
    try:
        run(args, tally)
    except DebianError as error:
        tally.fail("compilers", str(error))
    print()
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
