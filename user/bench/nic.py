# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench nic`: prepare devices for a measurement, and measure them. --check only says whether that can be done,
and how. --hold keeps them prepared until Ctrl-C, for a generator that is started by hand."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack
from typing import Any

import memory
import nic_counts as counts
import nic_devices as devices
import tables
from common import BenchError, Interrupted, UsageError, check_interrupt, need_root
from lab import Lab
from nic_agent import Agent
from nic_check import check
from nic_measure import MEASURES, Measurement
from nic_router import NicRouter
from nic_setup import HASHES, MODES, Bond, Setup, device_steps
from nic_undo import text_of
from options import Once, add_common, add_tables, add_words, number
from router import BYTES_OF_ROUTE, lab_errors
from rows import Results

HELP = "Measure a router of real NICs: throughput without loss, latency, loss during changes."
ENGINES = ("kernel", "trie", "compiled")
PATTERNS = ("random", "flow", "syn")  # not "miss": nothing would come back
ROUNDS, TRIAL_S, TRIALS_OF_A_RATE, WIDTH, CHURN = 3, 1.0, 20, 0.5, 1000
FRAMES, LEAST_MTU = (64, 9216), 1280  # below that the kernel removes IPv6, and with it addresses
ETHERNET = 18  # header and FCS, which the MTU does not count
WANG_NICS, WANG_QUEUES = 2, 8  # Wang, netdev 2017: a flood of SYNs into two bonded NICs of eight queues each


def positive(word: str) -> float:
    """An argparse type: a number above 0."""
    value = float(word)
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f'a number above 0 is wanted, not "{word}"')
    return value


def device(word: str) -> str:
    """The name of a device, which may be given by an alternative one."""
    return (devices.find(word) or {"ifname": word})["ifname"]


def bond(word: str) -> Bond:
    name, _, devs = word.partition("=")
    if not name or not all(devs.split(",")):
        raise argparse.ArgumentTypeError(f'"{word}" is not of the form NAME=DEV,DEV...')
    return Bond(name, list(map(device, devs.split(","))))


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("devs", nargs="*", type=device, metavar="DEV", help="devices that are in no --bond; before them, wang: an "
        "experiment of 2017, a flood of SYNs into a bond of two NICs with eight queues each")  # fmt: skip
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--check", action="store_true", help="say whether they may be measured, and how they are set")
    does.add_argument("--hold", action="store_true", help="set them up until an interrupt, and count")
    add("--isolate", action="store_true", help="in a network namespace of their own, as a measurement does")
    add("--bond", dest="bonds", type=bond, action="append", default=[], metavar="NAME=DEV,DEV...", help="make a bond")
    add("--mode", choices=MODES, default="balance-xor", help="of bonds (%(default)s)")
    add("--hash", choices=HASHES, default="layer3+4", help="of bonds (%(default)s)")
    add("--queues", type=number(1, 256), metavar="N", help="of each device")
    add("--ring", type=number(1, 65536), metavar="N", help="descriptors of each device")
    add("--mtu", type=number(LEAST_MTU, 65535), metavar="N", help="of each device")
    add("--force", action="store_true", help="take a device that has addresses or routes")
    add("--force-login", action="store_true", help="take a device that this login comes by")
    add("--in", dest="inside", type=device, metavar="DEV", help="the device or bond that the generator sends into")
    add("--out", dest="outside", type=device, metavar="DEV", help="the one that packets leave by")
    add("--generator", metavar="COMMAND", help='"sixlane bench generator --tx DEV --rx DEV", here or by ssh')
    add("--prefixes", metavar="FILE", help="the table's file on the generator's machine, if its name differs")
    add_words(parser, "--engine", ENGINES, "what forwards")
    add_words(parser, "--measure", MEASURES, "what is measured")
    add("--size", dest="sizes", action=Once, type=number(*FRAMES), metavar="BYTES", help="of frames; repeatable")
    add("--pattern", choices=PATTERNS, help="what is sent (random)")
    add("--trial", type=positive, default=TRIAL_S, metavar="S", help="seconds of a trial (%(default)s)")
    add("--sum", type=positive, metavar="S", help=f"seconds at one rate, in trials ({TRIALS_OF_A_RATE} trials)")
    add("--width", type=positive, default=WIDTH, metavar="PERCENT", help="of the search's end (%(default)s)")
    add("--rate", type=positive, default=0, metavar="PPS", help="the highest, of all ports; what can be sent")
    add("--churn", action=Once, type=number(1, 100000), metavar="N", help=f"changes a second ({CHURN}); repeatable")
    add("--hidden-losses", action="store_true", help="a switch in between loses frames uncounted")
    add_tables(parser)
    add_common(parser, ROUNDS)


def finish(options: argparse.Namespace) -> None:
    """Check the options together, and set defaults. Raises UsageError."""
    options.preset = options.devs[:1] == ["wang"] and options.devs.pop(0)
    slaves = {bond.name: bond.slaves for bond in options.bonds}
    ports = {*slaves, *options.devs}
    options.devs = sum(slaves.values(), []) + options.devs
    losing = [bond for name in (options.outside, options.inside) for bond in options.bonds
              if bond.name == name and len(bond.slaves) > 1]  # fmt: skip
    measures = not options.check and not options.hold
    wanted = options.measure or []
    for is_wrong, text in (
        (not options.devs, "devices are needed"),
        (len(set(options.devs)) < len(options.devs), "a device is named twice"),
        (options.generator and not measures, "--check and --hold take no --generator"),
        (measures and not {options.inside, options.outside} <= ports,
         "--in and --out are needed: a --bond of this command, or one of its DEVs, for each"),
        (measures and options.inside == options.outside, "--in and --out are the same"),
        (measures and not options.generator, "--generator is needed: the command that sends and counts"),
        (options.sum and options.sum < options.trial, "--sum is less than one --trial"),
        (len(options.tables or []) > 1, "more than one table"),
        (options.preset and len(slaves.get(options.inside, [])) != WANG_NICS,
         f"wang: --in is a bond of {WANG_NICS} NICs"),
        ("slave" in wanted and not losing, "slave: neither --in nor --out is a bond of two devices or more"),
        ("restart" in wanted and options.engine == ["kernel"], "restart: of no engine but sixlane's"),
    ):  # fmt: skip
        if is_wrong:
            raise UsageError(text)
    if options.preset:
        options.pattern, options.queues, wanted = "syn", options.queues or WANG_QUEUES, wanted or ["flood"]
    options.losing = losing[0] if losing else None  # the bond of the measure "slave"
    options.measures = wanted or [name for name in MEASURES if name != "throughput"]
    options.engines, options.pattern = options.engine or list(ENGINES), options.pattern or "random"
    options.sum, options.churn = options.sum or TRIALS_OF_A_RATE * options.trial, options.churn or [CHURN]
    options.isolate, options.width = options.isolate or measures, options.width / 100


def run(options: argparse.Namespace) -> None:
    finish(options)
    need_root("bench nic")
    with lab_errors(), ExitStack() as stack:
        if options.generator:
            (table,) = tables.make(options.tables, options.seed)
            memory.check(f"table {table.name}: its routes", "the kernel, sixlaned and the maps",
                         len(table) * BYTES_OF_ROUTE)  # fmt: skip
            results = Results(options.preset or "nic", options)
            # The agent must start before the Lab: that hides the names of network namespaces.
            agent = stack.enter_context(Agent(options.generator))
        lab = stack.enter_context(Lab(limits_answers=True))
        check(options)
        if options.check:
            for dev in options.devs:
                steps = device_steps(devices.State(dev, devices.find(dev)), options)
                print("\n\t".join([f"{dev}:", *(text_of(words) for words, _undo in steps)]))
            return
        hello = agent.hello() if options.generator else {}
        options.driver = devices.driver_of(options.devs[0])
        options.is_veth = "veth" in map(devices.driver_of, options.devs)
        with Setup(lab, options) as setup:
            if options.generator:
                # By then it has ended by itself, unless this process was killed: then it gets a moment for that.
                kill = f"kill -s 0 -- -{agent.group} && sleep 2 && kill -s KILL -- -{agent.group}"
                setup.undo.keep("", ("sh", "-c", f"{{ {kill}; }} 2>/dev/null || :"))
            setup.open()
            if options.generator:
                measure(options, setup, agent, hello, table, results)
            else:
                hold(setup)


def hold(setup: Setup) -> None:
    """Wait for Ctrl-C, then print what the devices received and sent meanwhile."""
    before, after = counts.Run(setup.ports()), counts.Run(setup.ports())
    counts.read(before.ports)
    print("ready; Ctrl-C sets all back", flush=True)
    try:
        while True:
            time.sleep(0.1)
            check_interrupt()
    except Interrupted:
        counts.read(after.ports)
        if back := after.since(before):
            raise BenchError(f"{back}: its counters went back meanwhile") from None
        print(f"{'device':<15} {'received':>14} {'missed':>14} {'sent':>14}")
        for name, port in after.ports.items():
            n = port.counts
            print(f"{name:<15} {n['rx'] + n['xdp_rx']:>14} {n['missed']:>14} {n['tx'] + n['xdp_tx']:>14}")
        raise


def measure(options: argparse.Namespace, setup: Setup, agent: Agent, hello: dict[str, Any], table: tables.Table,
            results: Results) -> None:  # fmt: skip
    """Measure, and print the rows of all that was measured, also after an interrupt or an error."""
    sizes = options.sizes or [hello["least_syn_bytes" if options.pattern == "syn" else "least_frame_bytes"]]
    for dev in options.devs:
        state = setup.state(dev)
        options.used_queues = state.queues("rx")
        if max(sizes) > state.mtu + ETHERNET:
            raise BenchError(f"{dev}: its MTU of {state.mtu} is too small; use --mtu {max(sizes) - ETHERNET}")
    is_file, name = (options.tables or [(False, "")])[0]
    # A generator on this machine reads the table from this process's memory.
    file = os.memfd_create("prefixes")
    os.write(file, "".join(prefix + "\n" for prefix in table.prefixes()).encode())
    options.prefixes = options.prefixes or (os.path.abspath(name) if is_file and name != "-" else
                                            f"/proc/{os.getpid()}/fd/{file}")  # fmt: skip
    with results.reported():
        router = NicRouter(setup.netns, (options.inside, options.outside), table.prefixes(), hello["ports"]["rx"],
                           options.is_veth)  # fmt: skip
        bench = Measurement(options, setup, agent, hello, router)
        try:
            bench.run(sizes)
        finally:
            agent.close()  # so that it sends no more while the devices are restored
            bench.report(results, table)
