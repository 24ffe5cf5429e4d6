# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench nic`: prepare devices for a measurement, and measure them. --check only says whether that can be done,
and how. --hold keeps them prepared until Ctrl-C, for a generator that is started by hand."""

from __future__ import annotations

import argparse
import math
import os

import memory
import nic_devices as devices
import tables
from common import BenchError, UsageError, need_root, wait_for
from engine import Agent
from lab import Lab
from nic_measure import MEASURES, Measurement
from nic_router import NicRouter
from nic_setup import Setup, check, device_steps
from options import Once, add_common, add_tables, add_words, number
from router import BYTES_OF_ROUTE, lab_errors
from rows import Results

HELP = "Measure a router of real NICs: throughput without loss, latency, loss during changes."
MODES = ("balance-rr", "active-backup", "balance-xor", "802.3ad")  # bonds have native XDP in these
ENGINES = ("kernel", "trie", "compiled")
PATTERNS = ("random", "flow", "syn")  # not "miss": nothing would come back
ROUNDS, TRIAL_S, CHURN = 3, 1.0, 1000
FRAMES, LEAST_MTU = (64, 9216), 1280  # below that the kernel removes IPv6, and with it addresses
ETHERNET = 18  # header and FCS, which the MTU does not count
WANG_NICS, WANG_QUEUES = 2, 8  # Wang, netdev 2017: a flood of SYNs into two bonded NICs of eight queues each


def device(word: str) -> str:
    """The name of a device, which may be given by an alternative one."""
    return (devices.find(word) or {"ifname": word})["ifname"]


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("devs", nargs="*", type=device, metavar="DEV", help="devices that are in no --bond; before them, wang: an "
        "experiment of 2017, a flood of SYNs into a bond of two NICs with eight queues each")  # fmt: skip
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--check", action="store_true", help="say whether they may be measured, and how they are set")
    does.add_argument("--hold", action="store_true", help="set them up until an interrupt")
    add("--bond", dest="bonds", action="append", default=[], metavar="NAME=DEV,DEV...", help="make a bond")
    add("--mode", choices=MODES, default="balance-xor", help="of bonds (%(default)s)")
    add("--hash", default="layer3+4", metavar="HASH", help="of bonds (%(default)s)")
    add("--queues", type=number(1, 256), metavar="N", help="of each device")
    add("--ring", type=number(1, 65536), metavar="N", help="descriptors of each device")
    add("--mtu", type=number(LEAST_MTU, 65535), metavar="N", help="of each device")
    add("--force", action="store_true", help="take a device that has addresses or routes, or this login")
    add("--in", dest="inside", type=device, metavar="DEV", help="the device or bond that the generator sends into")
    add("--out", dest="outside", type=device, metavar="DEV", help="the one that packets leave by")
    add("--generator", metavar="COMMAND", help='"sixlane bench generator --tx DEV --rx DEV", here or by ssh')
    add("--prefixes", metavar="FILE", help="of the table, on the generator's machine; needed if that is another")
    add_words(parser, "--engine", ENGINES, "what forwards")
    add_words(parser, "--measure", MEASURES, "what is measured")
    add("--size", dest="sizes", action=Once, type=number(*FRAMES), metavar="BYTES", help="of frames; repeatable")
    add("--pattern", choices=PATTERNS, default="random", help="what is sent (%(default)s)")
    add("--trial", type=float, default=TRIAL_S, metavar="S", help="seconds of a trial (%(default)s)")
    add("--rate", type=number(1, 10**9), default=0, metavar="PPS", help="the highest, of all ports; what can be sent")
    add("--churn", action=Once, type=number(1, 100000), metavar="N", help=f"changes a second ({CHURN}); repeatable")
    add("--hidden-losses", action="store_true", help="a switch in between loses frames uncounted")
    add_tables(parser)
    add_common(parser, ROUNDS)


def finish(options: argparse.Namespace) -> None:
    """Check the options together, and set defaults. Raises UsageError."""
    options.preset = options.devs[:1] == ["wang"] and options.devs.pop(0)
    pairs = [(word.partition("=")[0], [*map(device, word.partition("=")[2].split(","))]) for word in options.bonds]
    named = [each for name, devs in pairs for each in (name, *devs)] + options.devs
    options.bonds = dict(pairs)
    ports = {*options.bonds, *options.devs}
    options.bond_of = {dev: bond for bond, devs in options.bonds.items() for dev in devs}
    options.devs = sum(options.bonds.values(), []) + options.devs
    options.isolate = not options.check and not options.hold
    wanted = options.measure or []
    for is_wrong, text in (
        (not options.devs, "devices are needed"),
        ("" in [*options.bonds, *options.devs], "--bond is of the form NAME=DEV,DEV..."),
        (len(set(named)) < len(named), "a device is named twice"),
        (options.isolate and not ({options.inside, options.outside} <= ports and options.inside != options.outside),
         "--in and --out are needed, not the same: a --bond of this command, or one of its DEVs, for each"),
        (bool(options.generator) != options.isolate,
         "--generator is needed: the command that sends and counts; --check and --hold take no --generator"),
        (not 0 < options.trial < 1e9, f'--trial: a number above 0 is wanted, not "{options.trial:g}"'),
        (len(options.tables or []) > 1, "more than one table"),
        (options.preset and len(options.bonds.get(options.inside, [])) != WANG_NICS,
         f"wang: --in is a bond of {WANG_NICS} NICs"),
    ):  # fmt: skip
        if is_wrong:
            raise UsageError(text)
    if options.preset:
        options.pattern, options.queues, wanted = "syn", options.queues or WANG_QUEUES, wanted or ["flood"]
    options.measures = wanted or [name for name in MEASURES if name != "throughput"]
    options.engines, options.churn = options.engine or list(ENGINES), options.churn or [CHURN]


def run(options: argparse.Namespace) -> None:
    finish(options)
    need_root("bench nic")
    if options.isolate:
        measure(options)
        return
    with lab_errors(), Lab(limits_answers=True) as lab:
        check(options)
        if options.check:
            for dev in options.devs:
                print("\n\t".join([f"{dev}:", *(line for line, _undo in device_steps(Setup.state(dev), options))]))
            return
        with Setup(lab, options) as setup:
            setup.open()
            print("ready; Ctrl-C sets all back", flush=True)
            wait_for(lambda: False, math.inf, "", 0.1)


def measure(options: argparse.Namespace) -> None:
    """Measure, and print the rows of all that was measured, also after an interrupt or an error."""
    (table,) = tables.make(options.tables, options.seed)
    memory.check(f"table {table.name}: its routes", "the kernel, sixlaned and the maps", len(table) * BYTES_OF_ROUTE)
    results = Results(options.preset or "nic", options)
    # A generator on this machine reads the table from this process's memory.
    file = os.memfd_create("prefixes")
    os.write(file, "".join(prefix + "\n" for prefix in table.prefixes()).encode())
    options.prefixes = options.prefixes or f"/proc/{os.getpid()}/fd/{file}"
    # The agent must start before the Lab: that hides the names of network namespaces.
    with lab_errors(), Agent(options.generator) as agent, Lab(limits_answers=True) as lab:
        check(options)
        hello = agent.hello()
        sizes = options.sizes or [hello["least_syn_bytes" if options.pattern == "syn" else "least_frame_bytes"]]
        options.driver = devices.driver_of(options.devs[0])
        options.is_veth = "veth" in map(devices.driver_of, options.devs)
        with Setup(lab, options) as setup:
            # By then the agent has ended by itself, unless this process was killed: then it gets a moment for that.
            kill = f"kill -s 0 -- -{agent.pid} && sleep 2 && kill -s KILL -- -{agent.pid}"
            setup.undo.keep("", f"{{ {kill}; }} 2>/dev/null || :")
            setup.open()
            for dev in options.devs:
                state = setup.state(dev)
                options.used_queues = state.queues("rx")
                if max(sizes) > state.mtu + ETHERNET:
                    raise BenchError(f"{dev}: its MTU of {state.mtu} is too small; use --mtu {max(sizes) - ETHERNET}")
            with results.reported():
                router = NicRouter(setup.netns, (options.inside, options.outside), table.prefixes(),
                                   hello["ports"]["rx"], options.is_veth)  # fmt: skip
                bench = Measurement(options, setup, agent, hello, router)
                try:
                    bench.run(sizes)
                finally:
                    agent.close()  # so that it sends no more while the devices are restored
                    bench.report(results, table)
