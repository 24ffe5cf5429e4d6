# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench generator`: the agent that sends and counts the packets of `bench nic`. Requests are lines of JSON:
{"do": "hello"}, "run" with the fields of Traffic, and "stop". A further line, or the end of the input, ends a run,
which is answered first. Frames are sent by bench-packets as XDP frames, by the kernel's pktgen, or by TRex."""

from __future__ import annotations

import argparse
import contextlib
import functools
import ipaddress
import json
import math
import pathlib
import re
import select
import socket
import struct
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable

import nic_devices as devices
import numpy as np
import packets as pk
import tables
from common import BenchError, Interrupted, UsageError, check_interrupt, cpus, need_root, wait_for
from engine import Engine
from netns import PATIENCE

HELP = "Send packets and count them, by lines of JSON on the standard input."
STRAGGLERS_S, CARRIER_S, POLL_S = 2 * PATIENCE, 10 * PATIENCE, 0.02  # the first is RFC 2544's (23)
PROBE_S, TARGETS = 0.001, 4096  # between frames with timestamps; destinations of them, and of a CPU
MR_PROMISC, ADD_MEMBERSHIP, SOL_PACKET = 1, 1, 263
read_table = functools.lru_cache(1)(functools.partial(tables.of_file, seed=1))  # a full view takes a second


@dataclass
class Traffic:
    """A request to run: the frames, the same by all ports."""

    dst_macs: list[str]  # one a port
    src: str
    prefixes: str  # the file of a table, on this machine
    pattern: str  # of the destinations: "random" or "flow"; or "syn", random from random hosts of the source's /64
    frame_bytes: int  # with FCS
    seed: int = 1
    rate_pps: float = 0  # of all ports; 0: no limit
    seconds: float = 0  # 0: until a further line
    hops: int = 1  # routers between generator and sink
    latency: bool = False

    def draw(self, count: int, place: int = 0) -> np.ndarray:
        """Destinations of the port at this place, n × 16 bytes; of a flow, one. Raises BenchError and OSError."""
        return tables.draw(read_table(self.prefixes), self.pattern.replace("syn", "random"), count, self.seed + place)

    def template(self, src_mac: str, place: int = 0, stamp: int = 0) -> pk.Template:
        """Frames of the port at this place. stamp: bytes of a timestamp, which is in UDP. Raises BenchError."""
        protocol = pk.TCP if self.pattern == "syn" and not stamp else pk.UDP
        size = max(self.frame_bytes, pk.IP6 + pk.L4_BYTES[protocol] + stamp + pk.FCS)
        return pk.template(size, self.dst_macs[place], src_mac, self.src, protocol)


@dataclass
class Result:
    """The answer to a run."""

    sent: int
    elapsed_ns: int  # from the first frame to the last
    received: int | None = None  # None: nobody counts
    latency_ns: dict[str, Any] | None = None  # of further frames: how many were "sent", "n" of them back; p50, p99, max
    errors: list[str] = field(default_factory=list)  # for which the counts may be wrong


@dataclass
class Port:
    name: str
    number: int  # its ifindex, or TRex's number
    mac: str
    queues: int = 0  # tx queues


def latencies(sent: int, times: Counter[float]) -> dict[str, Any]:
    """Result.latency_ns of so many frames that were sent. times: how many that came back took so many ns."""
    found = {"sent": sent, "n": times.total()}
    if times:
        all_ns = np.repeat([*times], [*times.values()])
        found |= zip(("p50", "p99", "max"), np.quantile(all_ns, (0.5, 0.99, 1), method="inverted_cdf").tolist())
    return found


def settle(count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Wait for frames under way. count: frames sent and received, which are returned."""
    deadline = time.monotonic() + STRAGGLERS_S
    while (found := count())[0] > found[1] and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return found


def is_over() -> bool:
    """Whether a run must end now: by a further request, the end of the input, or a signal."""
    with contextlib.suppress(Interrupted):
        check_interrupt()
        return bool(select.select([0], [], [], 0)[0])
    return True


class LocalSource:
    """Sends by devices of this machine, and counts at others by a sink. Subclasses have send(traffic), their `name`,
    and the `least` frame bytes of each pattern."""

    hop_limit = pk.HOP_LIMIT

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """stack: ends what this begins. Raises BenchError."""
        need_root("bench generator")
        self.tx, self.rx = ([self._open(name) for name in names] for names in (options.tx, options.rx))
        for port in self.rx:  # a bond hashes frames for one next hop's MAC to any port
            sock = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
            sock.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("iH10x", port.number, MR_PROMISC))
        self.engine = stack.enter_context(Engine("bench-packets"))
        self.sink = pk.Sink(self.engine, [port.name for port in self.rx], [])

    @staticmethod
    def _open(name: str) -> Port:
        link = devices.find(name)
        channels = devices.numbers("-l", link["ifname"])
        queues = channels.get("combined", 0) + channels.get("tx", 0) or 1
        return Port(link["ifname"], link["ifindex"], link["address"], queues)

    def run(self, traffic: Traffic) -> Result:
        """Send, and count what arrives. Raises BenchError, Interrupted, OSError and ValueError."""
        for port in self.tx + self.rx:  # many NICs lose their link when they get an XDP program
            wait_for(lambda: "LOWER_UP" in devices.find(port.name)["flags"], CARRIER_S,
                     f"a link of {port.name}: `ip link set {port.name} up`, and the same of its other end")  # fmt: skip
        hops, mac = traffic.hops + pk.HOP_LIMIT - self.hop_limit, self.tx[0].mac
        probes = replace(traffic, src=str(ipaddress.IPv6Address(traffic.src) + 1))  # tells them from other frames
        self.sink.expect([pk.Flow(traffic.template(mac), hops, 64 if traffic.pattern == "syn" else 128),
                          pk.Flow(probes.template(mac, stamp=pk.STAMP), hops, stamped=True)])  # fmt: skip
        before, earlier, is_sent = self._counts(), self.sink.latencies(), threading.Event()
        with ThreadPoolExecutor() as pool:
            probing = pool.submit(self._probe, probes, is_sent)
            try:
                result = self.send(traffic)
            finally:
                is_sent.set()
        sent = result.sent + probing.result() if self.rx else 0
        settle(lambda: (sent, (self._counts() - before)[:, 0].sum()))
        packets, wrong = (self._counts() - before)[0].tolist()
        if traffic.latency:
            buckets = self.sink.latencies() - earlier
            times = Counter({pk.latency_ns(bucket): n for bucket, n in buckets.items()})
            result.latency_ns = latencies(probing.result(), times)
        result.received = packets if self.rx else None
        if wrong:
            result.errors.append(f"{wrong} frames arrived with another hop limit than {pk.HOP_LIMIT - hops}")
        return result

    def _counts(self) -> np.ndarray:
        """[flow], summed over all ports: packets, and those with a wrong hop limit."""
        return self.sink.counts().sum(axis=0)

    def _probe(self, traffic: Traffic, is_sent: threading.Event) -> int:
        """Send frames with timestamps beside those of send(), if they are wanted. Returns their number."""
        n, links, dsts = 0, list(zip(self.tx, traffic.dst_macs)), traffic.draw(TARGETS)
        frames = traffic.template(self.tx[0].mac, stamp=pk.STAMP)
        length = frames.bytes - pk.IP6
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            while traffic.latency and not is_sent.wait(PROBE_S):
                port, dst_mac = links[n % len(links)]
                now = time.monotonic_ns()
                udp = struct.pack(">HHHH", 1024 + n % 64512, pk.DISCARD, length, 0)
                udp += struct.pack("=HHH", *(now >> shift & 0xFFFF for shift in (0, 16, 32)))
                packet = pk.ip6(frames.header[22:38], dsts[n % TARGETS].tobytes(), pk.UDP, udp.ljust(length, b"\0"))
                with contextlib.suppress(OSError):  # the queue is full
                    sock.sendto(pk.ethernet(dst_mac, port.mac, packet), (port.name, 0))
                    n += 1
        return n


class XdpSource(LocalSource):
    """Live frames of bench-packets (Linux 5.18), from each CPU."""

    name, least = "xdp", {"random": 66, "flow": 66, "syn": 78}

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """Raises BenchError."""
        super().__init__(options, stack)
        for port in self.tx:  # without a program, which may be there, many drivers have no tx queues for XDP frames
            pk.load(self.engine, f"pass {port.name}", "bench-packets_sink.bpf.o")
            self.engine.do("attach", device=port.name, program=f"pass {port.name}.packets_sink")

    def send(self, traffic: Traffic) -> Result:
        """Send by a lane on each CPU, or by fewer, so that all ports have as many. Raises BenchError."""
        ports, lanes = len(self.tx), []
        each = max(1, len(cpus()) // ports)
        for place, port in enumerate(self.tx):
            made = pk.Generator(self.engine, f"send {port.name}", traffic.template(port.mac, place), each, TARGETS,
                                port.number, random_hosts=traffic.pattern == "syn")  # fmt: skip
            made.aim(traffic.draw(TARGETS * each, place))
            lanes += [made.lane(lane, lane * ports + place, 2**62) for lane in range(each)]
        self.engine.ask("run", lanes=lanes, bytes=made.frames.bytes, rate=traffic.rate_pps,
                        ns=int(traffic.seconds * 1e9), ports=1 if traffic.pattern == "flow" else pk.PORTS)  # fmt: skip
        while not select.select([self.engine], [], [], POLL_S)[0] and not is_over():
            pass
        self.engine.ask("stop")  # any further line ends a run; this one is answered by an error
        done = [pk.Lane(*lane) for lane in self.engine.answer()["lanes"]]
        with contextlib.suppress(BenchError):
            self.engine.answer()
        sent = sum(lane.sent for lane in done)
        if not sent and any(lane.refused for lane in done):
            raise BenchError("the driver takes no XDP frames (a veth's other end needs an XDP program, or GRO)")
        begun = [lane for lane in done if lane.first_ns and lane.last_ns]
        elapsed_ns = max(lane.last_ns for lane in begun) - min(lane.first_ns for lane in begun) if begun else 0
        return Result(sent, elapsed_ns)


PKTGEN = pathlib.Path("/proc/net/pktgen")
ENTRIES, MOST_ENTRIES = 16, 512  # of a queue; of all
MOST_PPS = 50_000_000  # of a thread, more than it can send: as good as no delay
# What an entry's file shows after a run; before, its result is that of the last command.
FINAL = r"(?s)pkts-sofar: (\d+)\s+errors: (\d+).*?started: (\d+)us\s+stopped: (\d+)us.*Result: OK: \d+\(c\d+"


def _write(file: str, *commands: str) -> None:
    """Write each command by one write(). pktgen takes the last byte for the end of the line. Raises BenchError."""
    for command in commands:
        try:
            (PKTGEN / file).write_bytes(command.encode() + b"\n")
        except OSError as error:
            raise BenchError(f'pktgen refuses "{command}" for {file}: {error.strerror}') from None


def _is_any(state: str) -> bool:
    """Whether an entry of any thread is in this state: "Running", "Stopped", or one of both with "|" between."""
    return any(re.search(rf"(?m)^(?:{state}): *\w", file.read_text()) for file in PKTGEN.glob("kpktgend_*"))


def _clear() -> None:
    """Remove all entries. The threads do that later, and the kernel hardly waits for them."""
    _write("pgctrl", "reset")
    while _is_any("Running|Stopped"):
        time.sleep(POLL_S)


class PktgenSource(LocalSource):
    """The kernel's pktgen, by its files. Each queue has entries "DEVICE@QUEUE.N", on the thread of one CPU. Limits
    (net/core/pktgen.c; seen in Linux 6.1 and 6.12):

    - An IPv6 destination is (random | dst6_min) & dst6_max, one prefix. An entry takes 1.5 MB of the kernel's memory.
    - 16 bytes behind the UDP header belong to pktgen. Its timestamp is older than the wait for an entry's turn.
    - The entries of a thread take turns by the time of their next frames. Without a delay that time does not move, and
      only the entry that was added last sends.
    - A thread reads commands ten times a second. If it sees "start" and "stop" at once, it stops, then starts.
    """

    name, hop_limit, least = "pktgen", 32, {"random": 82, "flow": 82}

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """Take pktgen from whoever has it. Raises BenchError."""
        if not PKTGEN.exists():
            raise BenchError("the kernel has no pktgen: `modprobe pktgen` (CONFIG_NET_PKTGEN; outside of a container)")
        super().__init__(options, stack)
        _clear()

    def send(self, traffic: Traffic) -> Result:
        """Send by all queues of the ports. Raises BenchError."""
        # This write returns at the end, or too early if a thread needs more than an eighth of a second to begin.
        start, end = threading.Thread(target=_write, args=("pgctrl", "start")), math.inf
        try:
            entries = self._set_up(traffic)
            start.start()
            while not is_over() and time.monotonic() < end:
                if traffic.seconds and end == math.inf and not _is_any("Stopped"):  # all have begun
                    end = time.monotonic() + traffic.seconds
                time.sleep(POLL_S)
            while start.is_alive() or _is_any("Running"):
                _write("pgctrl", "stop")
                time.sleep(POLL_S)
            found = [re.search(FINAL, (PKTGEN / entry).read_text()) for entry in entries]
        finally:
            _clear()
        # Without a result, an entry ended before it began.
        results = [list(map(int, result.groups())) for result in found if result] or [[0] * 4]
        frames, errors, starts, ends = zip(*results)
        return Result(sum(frames), (max(ends) - min(starts)) * 1000,
                      errors=[f"drivers refused {sum(errors)} frames"] if any(errors) else [])  # fmt: skip

    def _set_up(self, traffic: Traffic) -> list[str]:
        """Make the entries, and return their names."""
        known, is_flow = cpus(), traffic.pattern == "flow"
        pps = traffic.rate_pps or MOST_PPS * len(known)
        queues = [(port, mac, queue) for port, mac in zip(self.tx, traffic.dst_macs) for queue in range(port.queues)]
        # An entry sends at least one frame a second: a slower one may miss a short run.
        queues *= max(1, min(1 if is_flow else ENTRIES, MOST_ENTRIES // len(queues), int(pps) // len(queues)))
        dsts, table = traffic.draw(len(queues)), read_table(traffic.prefixes)
        # The prefix that each is under; routers forward nothing outside of 2000::/3.
        length = [128] if is_flow else np.maximum(table.length[table.match(dsts) - 1], tables.GLOBAL[1])
        masks, delay = tables.MASKS[length], round(len(queues) * 1e9 / pps)
        low, high = dsts & masks, dsts | ~masks
        most_port, *flags = [1024] if is_flow else [65535, "flag UDPSRC_RND"]  # hashes spread these
        made = []
        for place, (port, mac, queue) in enumerate(queues):
            made.append(f"{port.name}@{queue}.{place}")
            _write(f"kpktgend_{known[queue % len(known)]}", f"add_device {made[-1]}")
            _write(made[-1], "count 0", f"delay {delay}", f"pkt_size {traffic.frame_bytes - pk.FCS}", f"dst_mac {mac}",
                   f"queue_map_min {queue}", f"queue_map_max {queue}", "flag UDPCSUM", "flag NO_TIMESTAMP",
                   f"src6 {traffic.src}", f"dst6_min {ipaddress.IPv6Address(low[place].tobytes())}",
                   f"dst6_max {ipaddress.IPv6Address(high[place].tobytes())}", "udp_src_min 1024",
                   f"udp_src_max {most_port}", *flags)  # fmt: skip
        return made


class TrexSource:
    """TRex, by the Python API that it brings (seen in v3.08). It counts by itself, but checks no hop limit. Its ports
    are pairs: 0, 2, … send, and 1, 3, … receive."""

    name, least = "trex", {"random": 66, "flow": 66, "syn": 78}
    folder = "automation/trex_control_plane/interactive"
    latency_pps, pg_id, stamp = 1000, 6000, 16  # a port, at most a tenth of its rate; bytes of a timestamp
    # Of a port: as many as a message of a million bytes holds. They are a list that is walked in order, since TRex's
    # random numbers have 15 bits each, and reach no more than 32,768 entries of a list.
    destinations = 16384
    checksums = {pk.UDP: ("UDP", 11), pk.TCP: ("TCP", 13)}  # CTRexVmInsFixHwCs

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """Connect. Raises BenchError."""
        sys.path.insert(0, str(pathlib.Path(options.trex, self.folder)))
        try:
            import trex.stl.api as api

            self.api, self._client = api, api.STLClient(server=options.server, verbose_level="none")
            self._client.connect()
        except Exception as error:  # the client and its own imports fail in many ways
            raise BenchError(f"TRex at {options.server}: {error} ({type(error).__name__}): start it there with "
                             "./t-rex-64 -i, or give another --server") from None  # fmt: skip
        stack.callback(self._client.disconnect)  # which also stops what it sends
        self._all = list(self._client.get_all_ports())
        ports = [Port(str(number), number, info["src_mac"])
                 for number, info in zip(self._all, self._client.get_port_info(self._all))]  # fmt: skip
        self.tx, self.rx = ports[::2], ports[1::2]

    def run(self, traffic: Traffic) -> Result:
        """Send, and count what arrives. Raises BenchError, OSError, and what TRex's client raises."""
        client, senders, pps = self._client, self._all[::2], traffic.rate_pps / len(self.tx)
        client.reset(self._all)  # counters, too
        client.set_port_attr(ports=self._all[1::2], promiscuous=True)  # a bond hashes frames for one MAC to any port
        for place, number in enumerate(senders):
            streams = [self._stream(traffic, place, **{"pps": pps} if pps else {"percentage": 100})]
            if traffic.latency:
                streams.append(self._stream(traffic, place, self.stamp, pps=min(self.latency_pps, pps / 10)))
            client.add_streams(streams, ports=[number])
        client.start(ports=senders, duration=traffic.seconds or -1)
        begun, is_ended = time.monotonic(), False
        while client.is_traffic_active(ports=senders) and not (is_ended := is_over()):
            time.sleep(POLL_S)
        seconds = time.monotonic() - begun if is_ended else traffic.seconds
        client.stop(ports=senders, rx_delay_ms=1000 * STRAGGLERS_S)  # until then, latency of frames under way counts
        sent, received = settle(self._counts)
        stats = client.get_stats()
        errors = [f"TRex's port {number}: {stats[number][name]} {name}"
                  for number in self._all for name in ("oerrors", "ierrors") if stats[number][name]]  # fmt: skip
        latency = self._latency() if traffic.latency else None
        apart = latency or {"sent": 0, "n": 0}  # ports count these frames with the others
        return Result(sent - apart["sent"], round(seconds * 1e9), received - apart["n"], latency, errors)

    def _counts(self) -> tuple[int, int]:
        """Frames sent and received, with those for latency."""
        stats = self._client.get_stats()
        return (sum(stats[port.number]["opackets"] for port in self.tx),
                sum(stats[port.number]["ipackets"] for port in self.rx))  # fmt: skip

    def _latency(self) -> dict[str, Any]:
        """The histogram's buckets, in us, are 10 wide up to 100, then 100 up to 1000, and so on. A bucket counts as its
        upper end, but not above the maximum."""
        groups, times = [self.pg_id + place for place in range(len(self.tx))], Counter()
        stats = self._client.get_pgid_stats(groups)
        for found in (stats["latency"][group]["latency"] for group in groups):
            for low, count in found["histogram"].items():
                times[1000 * min(low + 10 ** max(1, len(str(low)) - 1), found["total_max"])] += count
        return latencies(sum(stats["flow_stats"][group]["tx_pkts"]["total"] for group in groups), times)

    def _stream(self, traffic: Traffic, place: int, stamp: int = 0, **rate: float) -> Any:
        """A stream of a port, for latency if its frames have a timestamp. rate: of STLTXCont."""
        from scapy.layers.l2 import Ether  # TRex brings its own

        api, is_flow = self.api, traffic.pattern == "flow"
        dsts, frames = traffic.draw(self.destinations, place), traffic.template(self.tx[place].mac, place, stamp)
        # As of a flow: the first destination, and a source port.
        header = frames.header[:38] + dsts[0].tobytes() + b"\4\0" + frames.header[pk.IP6 + 2 :]
        # What differs: name, offset, bytes, values. Both lists step together, so the halves stay together.
        high, low = dsts.view(">u8").T.tolist()
        fields = [("high", 38, 8, {"value_list": high}), ("low", 46, 8, {"value_list": low}),
                  ("port", pk.IP6, 2, {"min_value": 1024, "max_value": 33791}),
                  ("host", 30, 8, {"min_value": 0, "max_value": 2**64 - 1, "op": "random"})]  # fmt: skip
        fields = [] if is_flow else fields if traffic.pattern == "syn" else fields[:3]
        commands = [command for name, at, size, values in fields
                    for command in (api.STLVmFlowVar(name=name, size=size, **values),
                                    api.STLVmWrFlowVar(fv_name=name, pkt_offset=at))]  # fmt: skip
        # The NIC computes the checksum over the final bytes: the last command.
        l4, number = self.checksums[header[20]]
        commands.append(api.STLVmFixChecksumHw(l3_offset="IPv6", l4_offset=l4, l4_type=number))
        packet = api.STLPktBuilder(pkt=Ether(header.ljust(frames.bytes, b"\0")), vm=api.STLScVmRaw(commands))
        stats = api.STLFlowLatencyStats(pg_id=self.pg_id + place) if stamp else None
        return api.STLStream(packet=packet, mode=api.STLTXCont(**rate), flow_stats=stats,
                             random_seed=1 + traffic.seed % (2**32 - 1))  # fmt: skip


SOURCES = {source.name: source for source in (PktgenSource, XdpSource, TrexSource)}


def _answer(source: Any, request: dict[str, Any]) -> dict[str, Any]:
    verb = request.pop("do", None)
    if verb == "hello":
        ports = [{"role": role, **asdict(port)} for role in ("tx", "rx") for port in getattr(source, role)]
        return {"generator": source.name, "least_frame_bytes": source.least["random"],
                "least_syn_bytes": source.least.get("syn", 0), "ports": ports}  # fmt: skip
    if verb == "stop":  # this line has already ended the run
        return {}
    if verb != "run":
        raise BenchError(f'"do": {json.dumps(verb)} is unknown; there are hello, run and stop')
    traffic = Traffic(**request)
    least = source.least.get(traffic.pattern, math.inf)
    if traffic.frame_bytes < least or len(traffic.dst_macs) != len(source.tx):
        raise BenchError(f'wanted are a "pattern" with its least "frame_bytes" of {json.dumps(source.least)}, and the '
                         f'MAC at the other end of each of {len(source.tx)} ports as "dst_macs"')  # fmt: skip
    return asdict(source.run(traffic))


def add_options(parser: argparse.ArgumentParser) -> None:
    devs, add = functools.partial(str.split, sep=","), parser.add_argument
    add("--tx", type=devs, default=[], metavar="DEV,...", help="devices that send")
    add("--rx", type=devs, default=[], metavar="DEV,...", help="devices that receive and count")
    add("--source", choices=SOURCES, default="pktgen", help="what sends (%(default)s)")
    add("--trex", metavar="DIR", help="TRex's folder, with t-rex-64 in it")
    add("--server", default="127.0.0.1", metavar="HOST", help="where TRex runs (%(default)s)")


def run(options: argparse.Namespace) -> None:
    """Serve the standard input. Raises BenchError, OSError and Interrupted."""
    needed = "trex" if options.source == "trex" else "tx"
    if not getattr(options, needed):
        raise UsageError(f"--source {options.source} needs --{needed}")
    replies, sys.stdout = sys.stdout, sys.stderr  # libraries must not print among the answers
    with contextlib.ExitStack() as stack:
        source = SOURCES[options.source](options, stack)
        requests = open(0, "rb", buffering=0, closefd=False)  # of a buffer, select() would know nothing
        while wait_for(lambda: select.select([requests], [], [], 0.2)[0], math.inf, ""):
            if not (line := requests.readline()):
                return
            try:
                reply = _answer(source, json.loads(line))
            except Exception as error:  # no request, or TRex's client, which fails in many ways
                check_interrupt()
                reply = {"error": str(error) if isinstance(error, BenchError) else f"{error} ({type(error).__name__})"}
            print(json.dumps(reply), file=replies, flush=True)
            check_interrupt()  # before the end of the input is seen
