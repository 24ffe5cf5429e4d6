# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench nic`: prepare devices for a measurement, and measure them. --check only says whether that can be done,
and how. --hold keeps them prepared until Ctrl-C, for a generator that is started by hand."""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from contextlib import ExitStack
from typing import Any

import memory
import nic_counts as counts
import nic_devices as devices
import tables
from common import BenchError, Interrupted, UsageError, check_interrupt, cpus, need_root, warn
from lab import Lab
from nic_agent import Agent
from nic_check import Asked, check
from nic_devices import Bond, Want, text_of
from nic_measure import MEASURES, Measurement
from nic_router import NicRouter
from nic_setup import Setup
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

# --- the command line -----------------------------------------------------------------------------


def real(least: float, most: float) -> Any:
    """An argparse type: a number in this range."""

    def parse(word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f'a number from {least:g} to {most:g} is wanted, not "{word}"')
        return value

    return parse


def bond(word: str) -> Bond:
    name, _, devs = word.partition("=")
    if not name or not all(devs.split(",")):
        raise argparse.ArgumentTypeError(f'"{word}" is not of the form NAME=DEV,DEV...')
    return Bond(name, [own_name(dev) for dev in devs.split(",")])


def own_name(dev: str) -> str:
    """The name of a device that may be given by an alternative name."""
    return (devices.find(dev) or {"ifname": dev})["ifname"]


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("devs", nargs="*", metavar="DEV", help="devices that are in no --bond; before them, wang: an experiment of "
        "2017, a flood of SYNs into a bond of two NICs with eight queues each")  # fmt: skip
    add("--check", action="store_true", help="say whether they may be measured, and how they would be set up")
    add("--hold", action="store_true", help="set them up until an interrupt, and count")
    add("--isolate", action="store_true", help="in a network namespace of their own, as a measurement does")
    add("--bond", dest="bonds", type=bond, action="append", default=[], metavar="NAME=DEV,DEV...", help="make a bond")
    add("--mode", choices=devices.MODES, default="balance-xor", help="of bonds (%(default)s)")
    add("--hash", choices=devices.HASHES, default="layer3+4", help="of bonds (%(default)s)")
    add("--queues", type=number(1, 256), metavar="N", help="of each device")
    add("--ring", type=number(1, 65536), metavar="N", help="descriptors of each device")
    add("--usecs", type=number(0, 10000), metavar="N", help="interrupt coalescing, then not adaptive")
    add("--mtu", type=number(LEAST_MTU, 65535), metavar="N", help="of each device")
    add("--force", action="store_true", help="take a device that has addresses or routes")
    add("--force-login", action="store_true", help="take a device that this login comes by")
    add("--in", dest="inside", type=own_name, metavar="DEV", help="the device or bond that the generator sends into")
    add("--out", dest="outside", type=own_name, metavar="DEV", help="the one that packets leave by")
    add("--generator", metavar="COMMAND", help='"sixlane bench generator --tx DEV --rx DEV", here or by ssh')
    add("--prefixes", metavar="FILE", help="the table's file on the generator's machine, if its name differs")
    add_words(parser, "--engine", ENGINES, "what forwards")
    add_words(parser, "--measure", MEASURES, "what is measured")
    add("--size", dest="sizes", action=Once, type=number(*FRAMES), metavar="BYTES", help="of frames; repeatable")
    add("--pattern", choices=PATTERNS, help="what is sent (random)")
    add("--trial", type=real(0.01, 3600), default=TRIAL_S, metavar="S", help="seconds of a trial (%(default)s)")
    add("--sum", type=real(0.01, 3600), metavar="S", help=f"seconds at one rate, in trials ({TRIALS_OF_A_RATE} trials)")
    add("--width", type=real(0.01, 50), default=WIDTH, metavar="PERCENT", help="of the search's end (%(default)s)")
    add("--rate", type=real(1, 1e9), default=0, metavar="PPS", help="the highest, of all ports; what can be sent")
    add("--churn", action=Once, type=number(1, 100000), metavar="N", help=f"changes a second ({CHURN}); repeatable")
    add("--hidden-losses", action="store_true", help="a switch in between loses frames uncounted")
    add_tables(parser)
    add_common(parser, ROUNDS)


def refuse(*problems: tuple[Any, str]) -> None:
    """Raise UsageError for the first problem that exists."""
    for is_there, text in problems:
        if is_there:
            raise UsageError(text)


def finish(options: argparse.Namespace) -> None:
    """Check the options together, and set defaults. Raises UsageError."""
    options.preset = options.devs[:1] == ["wang"] and options.devs.pop(0)
    options.devs = [dev for bond in options.bonds for dev in bond.slaves] + list(map(own_name, options.devs))
    measures = options.preset or any(getattr(options, name) for name in (
        "inside", "outside", "generator", "prefixes", "engine", "measure", "sizes", "pattern", "sum", "rate", "churn",
        "hidden_losses", "tables", "output"))  # fmt: skip
    refuse((not options.devs, "devices are needed"),
           (len(set(options.devs)) < len(options.devs), "a device is named twice"),
           (options.check + options.hold + bool(measures) > 1,
            "one of --check, --hold, or the options of a measurement is needed"))  # fmt: skip
    if not options.check and not options.hold:
        finish_measurement(options)


def finish_measurement(options: argparse.Namespace) -> None:
    slaves = {bond.name: bond.slaves for bond in options.bonds}
    ports = {*slaves, *options.devs} - {dev for bond in options.bonds for dev in bond.slaves}
    for option, name in (("--in", options.inside), ("--out", options.outside)):
        refuse((not name, f"{option} needs a device or bond"),
               (name not in ports, f"{option} {name}: not a --bond of this command, nor one of its DEVs"))  # fmt: skip
    losing = [bond for name in (options.outside, options.inside) for bond in options.bonds
              if bond.name == name and len(bond.slaves) > 1]  # fmt: skip
    wanted = options.measure or []
    refuse((options.inside == options.outside, "--in and --out are the same"),
           (not options.generator, "--generator is needed: the command that sends and counts"),
           (options.sum and options.sum < options.trial, "--sum is less than one --trial"),
           (options.isolate, "--isolate: a measurement does so in any case"),
           (len(options.tables or []) > 1, "more than one table"),
           (options.preset and len(slaves.get(options.inside, [])) != WANG_NICS,
            f"wang: --in is a bond of {WANG_NICS} NICs"),
           (options.preset and options.pattern, "wang: its pattern is syn"),
           ("slave" in wanted and not losing, "slave: neither --in nor --out is a bond of two devices or more"),
           ("restart" in wanted and options.engine == ["kernel"], "restart: of no engine but sixlane's"))  # fmt: skip
    if options.preset:
        options.pattern, options.queues, wanted = "syn", options.queues or WANG_QUEUES, wanted or ["flood"]
    options.losing = losing[0] if losing else None  # the bond of the measure "slave"
    options.measures = wanted or [name for name in MEASURES if name != "throughput"]
    options.engines, options.pattern = options.engine or list(ENGINES), options.pattern or "random"
    options.sum, options.churn = options.sum or TRIALS_OF_A_RATE * options.trial, options.churn or [CHURN]
    options.isolate, options.width = True, options.width / 100


# --- what is done ---------------------------------------------------------------------------------


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
        slaves = {dev for bond in options.bonds for dev in bond.slaves}
        asked = Asked(options.queues, False, options.isolate, options.force, options.force_login)
        check(options.devs, slaves, [bond.name for bond in options.bonds], asked)
        want = Want(options.queues, options.ring, options.mtu, options.usecs, cpus())
        if options.check:
            show_plan(options, want)
            return
        hello = agent.hello() if options.generator else {}
        options.driver = devices.driver_of(options.devs[0])
        options.is_veth = "veth" in map(devices.driver_of, options.devs)
        with Setup(lab, options.devs, options.bonds, want, options.isolate) as setup:
            if options.generator:
                setup.undo.keep("", ("sh", "-c", f"kill -KILL -- -{agent.group} 2>/dev/null || :"))
            setup.open(options.mode, options.hash)
            if options.generator:
                measure(options, setup, agent, hello, table, results)
                agent.close()  # before it is killed, so that it leaves nothing
            else:
                hold(setup)


def show_plan(options: argparse.Namespace, want: Want) -> None:
    """Print the commands. Their interrupts are the present ones, which may change with the number of queues."""
    links, plan = devices.links(), []
    for dev in options.devs:
        state = devices.State(dev, links[dev])
        state.is_up &= not options.isolate  # moving a device takes it down
        steps = [*devices.device_steps(state, want),
                 *devices.file_steps(dev, devices.queue_files(state, want, devices.irqs_of(dev)))]  # fmt: skip
        words = [("ip", "link", "set", "dev", dev, "netns", "NETNS")] if options.isolate else []
        plan.append({"device": dev, "driver": devices.driver_of(dev), "max_queues": state.most_queues(),
                     "commands": [text_of(each) for each in [*words, *(step.words for step in steps)]]})  # fmt: skip
    for each in options.bonds:
        link = f"ip link set dev {each.name}"
        commands = [text_of(devices.bond_step(each, options.mode, options.hash).words)]
        for dev in each.slaves:
            commands += [f"ip link set dev {dev} down", f"ip link set dev {dev} master {each.name}"]
        commands += [f"{link} mtu {want.mtu}"] if want.mtu else []
        plan.append({"device": each.name, "commands": [*commands, f"{link} up"]})
    if options.json:
        print(json.dumps(plan, indent=1 if options.pretty else None))
    else:
        for each in plan:
            print("\n\t".join([each["device"] + ":", *each["commands"]]))


def hold(setup: Setup) -> None:
    """Wait for Ctrl-C, then print what the devices received and sent meanwhile."""

    def count() -> counts.Run:
        of = {dev: bond.name for bond in setup.bonds for dev in bond.slaves}
        names = [bond.name for bond in setup.bonds] + setup.devs
        found = counts.Run({name: counts.Port(name, of.get(name, ""), name not in setup.devs) for name in names})
        counts.read(found.ports)
        return found

    before = count()
    print("ready; Ctrl-C sets all back", flush=True)
    try:
        while True:
            time.sleep(0.1)
            check_interrupt()
    except Interrupted:
        after = count()
        back = after.since(before)
        if back:
            raise BenchError(f"{back}: its counters went back meanwhile") from None
        print(f"{'device':<15} {'received':>14} {'missed':>14} {'sent':>14}")
        for port in after.ports.values():
            n = port.counts
            print(f"{port.name:<15} {n['rx'] + n['xdp_rx']:>14} {n['missed']:>14} {n['tx'] + n['xdp_tx']:>14}")
        for text in counts.check(after):
            warn(f"counts do not add up: {text}")
        raise


def measure(options: argparse.Namespace, setup: Setup, agent: Agent, hello: dict[str, Any], table: tables.Table,
            results: Results) -> None:  # fmt: skip
    """Measure, and print the rows of all that was measured, also after an interrupt or an error."""
    sizes = options.sizes or [hello["least_syn_bytes" if options.pattern == "syn" else "least_frame_bytes"]]
    if not all(sizes):
        raise BenchError("the generator does not say which frames are its least: --size")
    for dev in options.devs:
        state = setup.state(dev)
        options.used_queues = state.queues("rx")
        if max(options.sizes or [0]) > state.mtu + ETHERNET:
            raise BenchError(f"{dev}: its MTU of {state.mtu} is too small; use --mtu {max(sizes) - ETHERNET}")
    with results.reported(), tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="ascii") as file:
        # For a generator on this machine.
        is_file, name = (options.tables or [(False, "")])[0]
        options.prefixes = options.prefixes or (os.path.abspath(name) if is_file and name != "-" else file.name)
        file.write("".join(prefix + "\n" for prefix in table.prefixes()))
        file.flush()
        router = NicRouter(setup.netns, (options.inside, options.outside), table.prefixes(), hello["ports"]["rx"],
                           options.is_veth)  # fmt: skip
        bench = Measurement(options, setup, agent, hello, router)
        try:
            bench.run(sizes)
        finally:
            bench.report(results, table)
