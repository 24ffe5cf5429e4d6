#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run tests under other kernels than this machine's: stock Debian ones, under qemu without KVM.

Each job is a machine of its own, with this system's programs and files and the current build. For another
architecture it has Debian's programs and a cross build. As many run at a time as there are CPUs, and results are
added up as in tests/run.py. Linux 5.10 is not among the kernels, as its bonds have no native XDP (5.15 does).
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from debian import DebianError, debian_files, environment_outside  # noqa: E402
from machine import KERNELS, MODELS, SHARE, Machine, MachineError, kernel_get  # noqa: E402
from run import BUILD, RESULTS, Tally, merge_groups  # noqa: E402

# Emulation is 20 to 50 times slower, and this includes the boot.
JOB_TIMEOUT_S = 2400
PATIENCE = "5"
# A fifth of that of `make test`: it is the same program on another kernel.
FUZZ_RUNS = 20000
# Packets of each configuration. In short time more configurations find more than more packets do.
PARITY_SECONDS, PARITY_PACKETS = 300, 300
# Of the 160,000 of the full view.
ROUTES = 10000
# Of the 100,000 neighbours on one link.
CROWD = 20000
# Tests that take too long under emulation.
LEFT_OUT = {
    # 131,071 neighbours, the size of the map: more than three minutes
    "test_neighbours.py": ["more_neighbours_than_there_is_room_for"],
    # 80 ports, each made by commands of its own
    "test_ports.py": ["more_than_64_ports"],
    # the program is verified for each answer; test_multipath.py has packets under these policies
    "test_explain.py": ["hash_policies"],
}
PYTEST = "/usr/bin/python3 -m pytest -q -ra -p no:cacheprovider --junitxml={share}/result.xml"


class Job(NamedTuple):
    """One machine's work: a command that leaves result.xml in its share, or else only a status."""

    suite: str
    name: str
    command: str
    cpus: int = 1
    has_xml: bool = True
    nics: int = 0
    queues: int = 4
    models: tuple = ()
    memory_mb: int = 1024
    arch: str = "amd64"  # that it is for


def pytest_job(suite, name, *files, **machine):
    words = [f"tests/{suite}/{file}" for file in files]
    words += [f"--deselect=tests/{suite}/{file}::test_{test}" for file in files for test in LEFT_OUT.get(file, [])]
    return Job(suite, name, f"{PYTEST} {shlex.join(words)}", **machine)


def jobs():
    """All of them, the long ones first: every file of the end-to-end tests, without LEFT_OUT."""
    return [
        pytest_job("vm", "bonds", "test_bond.py", "test_bond_tags.py"),
        pytest_job("vm", "flows", "test_flows.py"),
        pytest_job("vm", "nic-setup", "test_nic_setup.py", cpus=2, nics=2),
        pytest_job("vm", "vlans", "test_vlan.py", "test_vrf.py"),
        pytest_job("vm", "guard-layers", "test_guard_layers.py"),
        # two emulated CPUs, so that one can receive what the other sends
        pytest_job("vm", "nics", "test_nic_generator.py", cpus=2, nics=8),
        # two ports of each model, and the hosts at the other ends of their cables
        pytest_job("vm", "nic-models", "test_nic_models.py", cpus=2,
                   models=(*(model for model in MODELS for _ in "ab"), *["virtio-1"] * 2 * len(MODELS))),
        pytest_job("vm", "bench-nic", "test_bench_nic.py", cpus=2, nics=8, queues=8),
        pytest_job("vm", "arm64", "test_arm64.py", nics=4, arch="arm64"),
        pytest_job("e2e", "e2e-guard-devices", "test_guard_tc.py", "test_guard_uppers.py"),
        pytest_job("e2e", "e2e-routes", "test_changes.py", "test_audit.py"),
        pytest_job("e2e", "e2e-kernel-reader", "test_kernel_reader.py"),
        pytest_job("e2e", "e2e-ports", "test_ports.py", "test_names.py"),
        pytest_job("e2e", "e2e-forward", "test_forward.py", "test_neighbours.py"),
        pytest_job("e2e", "e2e-groups", "test_multipath.py", "test_next_hop_objects.py"),
        pytest_job("e2e", "e2e-rules", "test_rules.py", "test_lookup.py"),
        pytest_job("e2e", "e2e-start", "test_start.py"),
        pytest_job("e2e", "e2e-fib", "test_fib.py", "test_arena.py"),
        pytest_job("e2e", "e2e-parity-check", "test_parity_check.py"),
        pytest_job("e2e", "e2e-tables", "test_differential.py", "test_follow.py"),
        pytest_job("e2e", "e2e-inputs", "test_bad_input.py", "test_lab.py", "test_bench.py", "test_bench_generator.py",
                   "test_bench_nic_setup.py"),
        pytest_job("e2e", "e2e-bench-forward", "test_bench_forward.py", "test_bench_nic.py"),
        pytest_job("e2e", "e2e-bench-exceptions", "test_bench_exceptions.py"),
        pytest_job("e2e", "e2e-bench-churn", "test_bench_churn.py", cpus=2),
        pytest_job("e2e", "e2e-mtus", "test_path_mtu.py"),
        pytest_job("e2e", "e2e-exceptions-kernel", "test_exceptions_kernel.py", "test_answer_source.py"),
        pytest_job("e2e", "e2e-exceptions-changes", "test_exceptions_changes.py"),
        pytest_job("e2e", "e2e-exceptions", "test_exceptions_operator.py"),
        pytest_job("e2e", "e2e-guard-xfrm", "test_guard_ipsec.py", "test_doctor.py"),
        pytest_job("e2e", "e2e-guard-rules", "test_guard_nft.py", "test_guard_legacy.py", "test_guard_hooks.py"),
        pytest_job("e2e", "e2e-guard-firewalls", "test_guard_firewalls.py", "test_guard_hosts.py",
                   "test_guard_changes.py"),
        pytest_job("e2e", "e2e-guard-others", "test_guard_shaping.py", "test_guard_answers.py", "test_guard_bypass.py"),
        pytest_job("e2e", "e2e-explain", "test_explain.py", "test_jumbo.py"),
        pytest_job("e2e", "e2e-guard-random", "test_guard_random.py"),
        Job("parity", "parity", "/usr/bin/python3 tests/parity/parity.py --save {share}/parity"
            f" --seconds {PARITY_SECONDS} --packets {PARITY_PACKETS}", has_xml=False),
        # the objects that programs are of on this kernel
        Job("bpf", "bpf", "CMOCKA_MESSAGE_OUTPUT=XML CMOCKA_XML_FILE={share}/result.xml"
            f" SIXLANE_FUZZ_RUNS=${{{{SIXLANE_FUZZ_RUNS:-{FUZZ_RUNS}}}}} {{build}}/test_bpf"
            " {build}/sixlane$(printf '6.9\\n%s\\n' $(uname -r) | sort -CV && echo .arena).bpf.o", cpus=2),
    ]  # fmt: skip


def check_files(every):
    """Exit if a file of the end-to-end tests is in no job, or a job names a file that is not there."""
    named = {word for job in every for word in shlex.split(job.command) if re.fullmatch(r"tests/\S+\.py", word)}
    tests = {f"tests/e2e/{path.name}" for path in (ROOT / "tests" / "e2e").glob("test_*.py")}
    for path in sorted(tests - named):
        sys.exit(f"vm: {path} is in no job: add it to one in jobs()")
    for path in sorted(named):
        if not (ROOT / path).exists():
            sys.exit(f"vm: there is no {path}: remove it from jobs()")


# --- the programs of a machine ---------------------------------------------------------------

# For the tests, for the build of sixlane, and for the boot.
PACKAGES = [
    *("base-files", "coreutils", "dash", "kmod", "mount", "util-linux", "busybox-static"),
    *("iproute2", "ethtool", "bpftool", "python3-pytest", "python3-scapy"),
    *("libbpf-dev", "libxdp-dev", "libmnl-dev", "libnftnl-dev", "libconfig-dev", "libjansson-dev"),
    "libcmocka-dev",
]
CROSS = {"arm64": "aarch64-linux-gnu-"}


class System(NamedTuple):
    """root: a folder; build: where sixlane is; binds: folders of this system to be in the root, too."""

    root: pathlib.Path
    build: pathlib.Path
    binds: tuple = ()


def system_get(arch, jobs):
    """The programs of an architecture; another one's are downloaded and built, by so many processes.
    DebianError if that fails."""
    if arch not in CROSS:
        return System(pathlib.Path("/"), BUILD)
    root = debian_files(arch, "trixie", arch, PACKAGES)
    build = BUILD / arch
    _build(CROSS[arch], root, build, jobs)
    return System(root, build, (ROOT, build))


def _build(cross, sysroot, build, jobs):
    print(f"vm: building {build}", flush=True)
    argv = ["make", "-s", f"-j{jobs}", f"CROSS={cross}", f"SYSROOT={sysroot}", f"B={build}"]
    done = subprocess.run([*argv, "all", f"{build}/test_bpf"], cwd=ROOT, env=environment_outside(),
                          stdout=subprocess.DEVNULL, check=False)  # fmt: skip
    if done.returncode:
        raise DebianError(f"make CROSS={cross} ended with {done.returncode}: see above")


# --- one job --------------------------------------------------------------------------------


def script(command, build):
    """The command as the guest's shell gets it, with this project's part of the environment."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("SIXLANE_")}
    settings.update(SIXLANE_BUILD=str(build), PYTHONDONTWRITEBYTECODE="1")
    settings.setdefault("SIXLANE_PATIENCE", PATIENCE)
    settings.setdefault("SIXLANE_ROUTES", str(ROUTES))
    settings.setdefault("SIXLANE_CROWD", str(CROWD))
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(settings.items())]
    return "\n".join([*lines, f"cd {shlex.quote(str(ROOT))} || exit", command])


def run_job(kernel, system, job):
    """(exit status or None, why there is none, seconds)."""
    command = job.command.format(share=SHARE, build=shlex.quote(str(system.build)))
    started = time.monotonic()
    try:
        machine = Machine(kernel, share_of(kernel, job), job.cpus, job.memory_mb, job.nics, job.queues, job.models,
                          root=system.root, binds=system.binds)  # fmt: skip
        status, error = machine.run(script(command, system.build), JOB_TIMEOUT_S), ""
    except (MachineError, DebianError) as failed:
        status, error = None, str(failed)
    return status, error, time.monotonic() - started


def share_of(kernel, job):
    return RESULTS / "vm" / f"{kernel.name}-{job.name}"


def count_job(kernel, job, status, error, tally):
    name = f"Linux {kernel.name} {job.name}"
    result = share_of(kernel, job) / "result.xml"
    if status is None:
        tally.fail(name, error)
    elif job.has_xml:
        if job.suite == "bpf":
            merge_groups(result)
        tally.read(result, name, status)
    elif status:
        tally.fail(name, f"exit status {status}; see {share_of(kernel, job)}")
    else:
        tally.passed += 1


def run_jobs(chosen, machines, tally):
    """chosen: triples of a kernel, the system that runs on it, and a job."""
    pool = concurrent.futures.ThreadPoolExecutor(machines)
    running = {pool.submit(run_job, kernel, system, job): (kernel, job) for kernel, system, job in chosen}
    try:
        for done in concurrent.futures.as_completed(running):
            kernel, job = running[done]
            status, error, seconds = done.result()
            print(f"== Linux {kernel.name} ({kernel.release}): {job.name}, {seconds:.0f} s")
            output = share_of(kernel, job) / "output"
            if output.exists():
                print(output.read_text(errors="replace"), end="")
            sys.stdout.flush()
            count_job(kernel, job, status, error, tally)
    finally:  # after Ctrl-C no further machine is to start
        pool.shutdown(cancel_futures=True)


# --- all of them ----------------------------------------------------------------------------


def follow(path, ended):
    """Print what is written to a file, until it has ended."""
    shown = 0
    while True:
        last = ended.wait(1)
        if path.exists():
            text = path.read_text(errors="replace")
            print(text[shown:], end="", flush=True)
            shown = len(text)
        if last:
            return


def run_command(kernel, system, args):
    """One command for a person to see; its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the exception runs the cleanup
    with tempfile.TemporaryDirectory(prefix="sixlane-vm-") as temporary:
        share = pathlib.Path(args.share or temporary)
        ended = threading.Event()
        shows = threading.Thread(target=follow, args=(share / "output", ended))
        # not that of an earlier command
        (share / "output").unlink(missing_ok=True)
        shows.start()
        try:
            machine = Machine(kernel, share.resolve(), 2, nics=args.nics, queues=args.queues,
                              root=system.root, binds=system.binds)  # fmt: skip
            return machine.run(script(shlex.join(args.command), system.build), JOB_TIMEOUT_S)
        except (MachineError, DebianError) as error:
            print(f"vm: {error}", file=sys.stderr)
            return 125
        finally:
            ended.set()
            shows.join()


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("command", nargs="*", help="run this in one machine instead of the tests (after --)")
    parser.add_argument("--kernel", default="6.1,6.12,backports,arm64,arm64-16k", metavar="LIST",
                        help=f"of {', '.join(KERNELS)} (default: %(default)s)")
    names = ", ".join(job.name for job in jobs())
    parser.add_argument("--only", metavar="LIST",
                        help=f"jobs, as bonds or, under that kernel alone, as 6.1/bonds: {names} (default: all)")
    parser.add_argument("--machines", type=int, metavar="N", default=os.cpu_count(),
                        help="how many at a time (default: one a CPU, %(default)s)")
    parser.add_argument("--nics", type=int, metavar="N", default=0,
                        help="with a command: cabled NICs of the machine (default: none)")
    parser.add_argument("--queues", type=int, metavar="N", default=4, help="of each of these (default: %(default)s)")
    parser.add_argument("--share", metavar="DIR",
                        help=f"with a command: made anew, and {SHARE} of the machine (default: none is kept)")
    parser.add_argument("--list", action="store_true", help="print the jobs and what they run, and start none")
    args = parser.parse_args()
    share = pathlib.Path(args.share or "")
    if args.share and share.exists() and any(share.iterdir()) and not (share / "command").exists():
        parser.error(f"--share {share} is not empty, and would be emptied: name a new folder")
    args.kernels = args.kernel.split(",")
    every = jobs()
    check_files(every)
    wanted = args.only.split(",") if args.only else [job.name for job in every]
    args.jobs = [(name, job) for name in args.kernels for job in every
                 if name in KERNELS and job.arch == KERNELS[name].arch
                 and (job.name in wanted or f"{name}/{job.name}" in wanted)]  # fmt: skip
    for kernel, name in (word.rpartition("/")[::2] for word in wanted):
        if name not in [job.name for job in every]:
            parser.error(f"no job {name!r}; there are {names}")
        if kernel and kernel not in args.kernels:
            parser.error(f"no kernel {kernel!r} among {args.kernel}")
    for name in args.kernels:
        if name not in KERNELS:
            parser.error(f"no kernel {name!r}; there are {', '.join(KERNELS)}")
    for word in wanted if args.only else ():
        if not any(word in (job.name, f"{name}/{job.name}") for name, job in args.jobs):
            parser.error(f"{word}: that job is not for {args.kernel}")
    return args


def main():
    args = options()
    if args.list:
        for job in dict.fromkeys(job for _, job in args.jobs):
            print(f"{job.name}: {job.command}")
        return 0
    if os.uname().machine != "x86_64":
        sys.exit("vm: the test machines are x86_64 and use this system's programs: not here")
    tally, kernels, systems = Tally(), {}, {}
    for name in args.kernels if args.command else dict.fromkeys(name for name, _ in args.jobs):
        try:
            arch = KERNELS[name].arch
            systems[arch] = systems.get(arch) or system_get(arch, args.machines)
            kernels[name] = kernel_get(name)
        except DebianError as error:
            print(f"vm: {error}", file=sys.stderr)
            tally.fail("download", str(error))
    if args.command:
        kernel = next(iter(kernels.values()), None)
        return run_command(kernel, systems[kernel.arch], args) if kernel else 125
    shutil.rmtree(RESULTS / "vm", ignore_errors=True)
    start = time.monotonic()
    chosen = [(kernels[name], systems[kernels[name].arch], job) for name, job in args.jobs if name in kernels]
    run_jobs(chosen, args.machines, tally)
    print(f"\nall machines took {time.monotonic() - start:.0f} s")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
