# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench nic`: prepare devices, and measure a router of them."""

from __future__ import annotations

import argparse
import os

import nic_devices as devices
import tables
from common import Once, UsageError, add_common, add_tables, add_words, check_memory, need_root, number
from engine import Agent
from lab import Lab
from nic_measure import MEASURES, Measurement
from nic_router import NicRouter
from router import BYTES_OF_ROUTE, lab_errors
from rows import Results

HELP = "Measure a router of real NICs: throughput without loss, latency, loss during changes."
MODES = ("balance-rr", "active-backup", "balance-xor", "802.3ad")  # bonds have native XDP in these
ENGINES = ("kernel", "trie", "compiled")
ROUNDS, TRIAL_S, CHURN = 3, 1.0, 1000
WANG_NICS, WANG_QUEUES = 2, 8  # Wang, netdev 2017: a flood of SYNs into two bonded NICs of eight queues each


def device(word: str) -> str:
    """The name of a device, which may be given by an alternative one."""
    return devices.links().get(word, {"ifname": word})["ifname"]


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("devs", nargs="*", type=device, metavar="DEV", help="devices that are in no --bond; before them may be: wang")
    does = parser.add_mutually_exclusive_group(required=True)
    does.add_argument("--check", action="store_true", help="say whether they may be measured, and how they are set")
    does.add_argument("--generator", metavar="COMMAND", help="sixlane bench generator --tx DEV --rx DEV, or by ssh")
    add("--bond", dest="bonds", action="append", default=[], metavar="NAME=DEV,DEV...", help="make a bond")
    add("--mode", choices=MODES, default="balance-xor", help="of bonds (%(default)s)")
    add("--hash", default="layer3+4", metavar="HASH", help="of bonds (%(default)s)")
    add("--queues", type=number(1, 256), metavar="N", help="of each device")
    add("--ring", type=number(1, 65536), metavar="N", help="descriptors of each device")
    add("--mtu", type=number(1280, 65535), metavar="N", help="of each device")  # what IPv6 needs
    add("--force", action="store_true", help="take a device that has addresses, or this login")
    add("--in", dest="inside", type=device, metavar="DEV", help="the device or bond that the generator sends into")
    add("--out", dest="outside", type=device, metavar="DEV", help="the one that packets leave by")
    add("--prefixes", metavar="FILE", help="of the table, on the generator's machine; needed if that is another")
    add_words(parser, "--engine", ENGINES, "what forwards")
    add_words(parser, "--measure", MEASURES, "what is measured")
    add("--size", dest="sizes", action=Once, type=number(64, 9216), metavar="BYTES", help="of frames; repeatable")
    add("--pattern", choices=("random", "flow", "syn"), default="random", help="what is sent (%(default)s)")
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
    options.devs = [*options.bond_of, *options.devs]
    for is_wrong, text in (
        (not options.devs, "devices are needed"),
        ("" in named, "--bond is of the form NAME=DEV,DEV..."),
        (len(set(named)) < len(named), "a device is named twice"),
        (not options.check and (not {options.inside, options.outside} <= ports or options.inside == options.outside),
         "--in and --out are needed, not the same: a --bond of this command, or one of its DEVs, for each"),
        (not 0 < options.trial < 1e9, f'--trial: a number above 0 is wanted, not "{options.trial:g}"'),
        (len(options.tables or []) > 1, "more than one table"),
        (options.preset and len(options.bonds.get(options.inside, [])) != WANG_NICS,
         f"wang: --in is a bond of {WANG_NICS} NICs"),
    ):  # fmt: skip
        if is_wrong:
            raise UsageError(text)
    if options.preset:
        options.pattern, options.queues = "syn", options.queues or WANG_QUEUES
    by_default = ["flood"] if options.preset else [name for name in MEASURES if name != "throughput"]
    options.measures, options.engines = options.measure or by_default, options.engine or list(ENGINES)
    options.churn = options.churn or [CHURN]


def run(options: argparse.Namespace) -> None:
    """Print the rows of all that was measured, also after an interrupt or an error."""
    finish(options)
    need_root("bench nic")
    if options.check:
        with lab_errors(), Lab():
            devices.check(options)
            for dev in options.devs:
                steps = devices.device_steps(devices.find(dev), options)
                print("\n\t".join([f"{dev}:", *(line for line, _undo in steps)]))
        return
    (table,) = tables.make(options.tables, options.seed)
    check_memory(f"table {table.name}: its routes", "the kernel, sixlaned and the maps", len(table) * BYTES_OF_ROUTE)
    results = Results(options.preset or "nic", options)
    # A generator on this machine reads the table from this process's memory.
    file = os.memfd_create("prefixes")
    os.write(file, "".join(prefix + "\n" for prefix in table.prefixes()).encode())
    options.prefixes = options.prefixes or f"/proc/{os.getpid()}/fd/{file}"
    # The agent must start before the Lab: that hides the names of network namespaces.
    with lab_errors(), Agent(options.generator) as agent, Lab(limits_answers=True) as lab:
        devices.check(options)
        hello = agent.hello()
        sizes = options.sizes or [hello["least_syn_bytes" if options.pattern == "syn" else "least_frame_bytes"]]
        options.driver = devices.driver_of(options.devs[0])
        options.is_veth = "veth" in map(devices.driver_of, options.devs)
        with devices.Setup(options) as setup:
            setup.callback(agent.close)  # so that it sends no more while the devices are restored
            # If this process was killed, the agent gets a moment to end by itself.
            setup.keep("", f"kill -s 0 -- -{agent.pid} && sleep 2 && kill -s KILL -- -{agent.pid} || :")
            setup.open(lab)
            options.used_queues = devices.queues(devices.find(options.devs[-1]), "rx")
            with results.reported():
                router = NicRouter(setup.netns, (options.inside, options.outside), table.prefixes(),
                                   hello["ports"]["rx"], options.is_veth)  # fmt: skip
                bench = Measurement(options, setup, agent, hello, router)
                try:
                    bench.run(sizes)
                finally:
                    bench.report(results, table)
