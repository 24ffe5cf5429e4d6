# SPDX-License-Identifier: GPL-2.0-only
"""Streams of IPv6 packets for TRex: what sixlane_udp.py and sixlane_syn.py have in common.

Sizes are those of RFC 2544, with the four bytes of the FCS, which TRex does not count. Three limits
of TRex (read in v3.08) shape what is here:
- its random numbers are made of 15 bits each: a 64-bit variable has bits 15, 31, 47 and 63 always
  zero, and half of all prefixes would get no packet. Those bits come from a variable of their own.
- a random choice from a list reaches its first 32,768 entries only: lists are shuffled beforehand
  and walked through in order.
- flow labels from 0xff00 on mark its own packets; a label there is changed, and loses what is above
  16 bits.
"""

import random

from trex.stl.api import (
    CTRexVmInsFixHwCs,
    STLFlowLatencyStats,
    STLPktBuilder,
    STLScVmRaw,
    STLStream,
    STLTXCont,
    STLTXSingleBurst,
    STLVmFixChecksumHw,
    STLVmFlowVar,
    STLVmWrFlowVar,
    STLVmWrMaskFlowVar,
)
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import sixlane_table as table
from sixlane_table import TableError
from sixlane_tunables import PORT_MIN

FCS_BYTES = 4
IP_AT = 14
L4_AT = IP_AT + 40
L4_BYTES = {"udp": 8, "tcp": 20}
NO_NEXT_HEADER = 59
# TRex puts time and sequence number into the last bytes of a packet whose latency it measures.
STAMP_BYTES = 16
DEAD_BITS = (15, 31, 47, 63)
FILLER = b"sixlane "


# --- the packet -------------------------------------------------------------------------


def least_size(kind):
    """Of a frame with such a header and nothing behind it."""
    return L4_AT + L4_BYTES[kind] + FCS_BYTES


def l4_of(kind, size):
    """The kind, or None for frames of 64 and 65 bytes: IPv6 and UDP need 66. They have no next header."""
    if size >= least_size(kind):
        return kind
    if kind == "tcp":
        raise TableError(
            "frames of %d bytes are too short for IPv6 and TCP: take %d or more"
            % (size, least_size(kind))
        )
    return None


def template(kind, size, dst, src, options):
    """The packet as it is before the field engine changes it."""
    macs = {"dst": options.dst_mac, "src": options.src_mac}
    # a MAC in the packet overrides that of TRex's configuration, so it is not there unless given
    packet = Ether(type=0x86DD, **{name: mac for name, mac in macs.items() if mac})
    fields = {"src": table.text(src), "dst": table.text(dst), "hlim": options.hop_limit,
              "fl": options.flow_label}  # fmt: skip
    l4 = l4_of(kind, size)
    room = size - FCS_BYTES - L4_AT
    if l4 == "udp":
        packet = packet / IPv6(nh=17, **fields) / UDP(sport=PORT_MIN, dport=9)
        room -= L4_BYTES["udp"]
    elif l4 == "tcp":
        packet = (
            packet / IPv6(nh=6, **fields) / TCP(sport=PORT_MIN, dport=80, flags="S", window=64240)
        )
        room -= L4_BYTES["tcp"]
    else:
        packet = packet / IPv6(nh=NO_NEXT_HEADER, **fields)
    return packet / Raw((FILLER * (room // len(FILLER) + 1))[:room]) if room else packet


# --- the field engine -------------------------------------------------------------------


def fill(name, field, at, bits):
    """Commands that draw the bits which TRex leaves at zero in the 64 at this place."""
    commands = [STLVmFlowVar(name=name, min_value=0, max_value=255, size=1, op="random")]
    for i, bit in enumerate(bits):
        commands.append(
            STLVmWrMaskFlowVar(
                fv_name=name, pkt_offset=field, offset_fixup=at + 7 - bit // 8, pkt_cast_size=1,
                mask=1 << bit % 8, shift=bit % 8 - i,
            )
        )  # fmt: skip
    return commands


def draw(name, field, at, base, host_bits, every_bit):
    """Commands that draw the lower host_bits of the 64 bits at this place of an address."""
    if not host_bits:
        return []
    top = base | (1 << host_bits) - 1
    commands = [
        STLVmFlowVar(name=name, min_value=base, max_value=top, size=8, op="random"),
        STLVmWrFlowVar(fv_name=name, pkt_offset=field, offset_fixup=at),
    ]
    dead = [bit for bit in DEAD_BITS if bit < host_bits]
    if every_bit and dead:
        commands += fill(name + "_fill", field, at, dead)
    return commands


def draw_under(name, field, prefix):
    """Commands that draw addresses under a prefix. Routes are rarely longer than /64, so that of the
    lower half 60 bits will do, unless the prefix is longer itself."""
    high, low = prefix.base >> 64, prefix.base & table.HALF
    high_bits, low_bits = max(0, 64 - prefix.length), min(64, 128 - prefix.length)
    commands = draw(name + "_high", field, 0, high, high_bits, True)
    return commands + draw(name + "_low", field, 8, low, low_bits, prefix.length > 64)


def walk(destinations):
    """Commands that take the destinations one after the other."""
    commands = []
    halves = [("high", 0, [high for high, _low in destinations])]
    if destinations[0][1] is not None:
        halves.append(("low", 8, [low for _high, low in destinations]))
    for name, at, values in halves:
        # both lists are as long and step alike, on every core, so their halves stay together
        commands += [
            STLVmFlowVar(name="dst_" + name, value_list=values, size=8, op="inc"),
            STLVmWrFlowVar(fv_name="dst_" + name, pkt_offset="IPv6.dst", offset_fixup=at),
        ]
    if destinations[0][1] is None:
        commands += draw("dst_low", "IPv6.dst", 8, 0, 64, False)
    return commands


def spread(l4, flows):
    """Commands that tell flows apart: by source port, or by source address where there are no ports."""
    field, at = {"udp": ("UDP.sport", 0), "tcp": ("TCP.sport", 0), None: ("IPv6.src", 14)}[l4]
    # ports of a SYN flood are random; in turn, each of them is as frequent
    op = "random" if l4 == "tcp" else "inc"
    return [
        STLVmFlowVar(
            name="flow", min_value=PORT_MIN, max_value=PORT_MIN + flows - 1, size=2, op=op
        ),
        STLVmWrFlowVar(fv_name="flow", pkt_offset=field, offset_fixup=at),
    ]


def checksum(l4):
    """The last command: the NIC makes the checksum, from a sum that TRex takes of the addresses now."""
    if l4 is None:
        return []
    kind = {"udp": CTRexVmInsFixHwCs.L4_TYPE_UDP, "tcp": CTRexVmInsFixHwCs.L4_TYPE_TCP}[l4]
    return [STLVmFixChecksumHw(l3_offset="IPv6", l4_offset=l4.upper(), l4_type=kind)]


# --- streams ----------------------------------------------------------------------------


def first_of(destinations):
    high, low = destinations[0]
    return high << 64 | (1 if low is None else low)


def targets(options):
    """[(commands for destinations, one destination, weight)], a stream's each."""
    if options.pattern == "miss" and not options.prefixes:
        raise TableError(
            "--pattern miss needs --prefixes FILE, the routes of the router, to miss them"
        )
    if not options.prefixes:
        prefix = table.within_global(table.parse(options.dst))
        rng = random.Random(options.seed)
        one = prefix.base | rng.getrandbits(128) >> prefix.length
        commands = [] if options.pattern == "flow" else draw_under("dst", "IPv6.dst", prefix)
        return [(commands, one, 1)]
    prefixes = table.read(options.prefixes)
    if options.pattern == "miss":
        groups = table.lists(table.beside(prefixes, table.MISSES, options.seed))
    else:
        groups = [
            chunk for group in table.under(prefixes, options.seed) for chunk in table.lists(group)
        ]
    ones = [first_of(group) for group in groups]
    if options.pattern == "flow":
        return [([], ones[0], 1)]
    return [(walk(group), one, len(group)) for group, one in zip(groups, ones)]


def stream(kind, size, target, options, **kwargs):
    """One TRex stream; kwargs: of STLStream."""
    commands, dst, _weight = target
    l4 = l4_of(kind, size)
    source = table.parse(options.src)
    if kind == "tcp" and options.pattern != "flow":
        commands = [
            *commands,
            *draw_under("src", "IPv6.src", source),
            STLVmFlowVar(name="seq", min_value=0, max_value=(1 << 32) - 1, size=4, op="random"),
            STLVmWrFlowVar(fv_name="seq", pkt_offset="TCP.seq"),
        ]
    if options.pattern != "flow" or "flow_stats" in kwargs:
        flows = 1 if options.pattern == "flow" else options.flows
        commands = [*commands, *spread(l4, flows), *checksum(l4)]
    packet = template(kind, size, dst, source.base, options)
    vm = STLScVmRaw(commands) if commands else None
    return STLStream(packet=STLPktBuilder(pkt=packet, vm=vm), **kwargs)


def seed_of(options, index):
    """TRex takes 0 for none given."""
    return (options.seed + index) % ((1 << 32) - 1) + 1


def load(kind, options, chosen):
    """One stream for each size and list of destinations. Each has its share, to the last packet."""
    parts = [
        (size, target, weight * target[2]) for size, weight in options.size for target in chosen
    ]
    total, before, made = sum(part[2] for part in parts), 0, []
    for index, (size, target, weight) in enumerate(parts):
        pps = options.pps * weight / total
        count = options.count * (before + weight) // total - options.count * before // total
        before += weight
        if not options.count:
            mode = STLTXCont(pps=pps)
        elif count:
            mode = STLTXSingleBurst(total_pkts=count, pps=pps)
        else:
            continue
        seed = seed_of(options, index)
        made.append(stream(kind, size, target, options, mode=mode, random_seed=seed))
    return made


def streams(kind, options, port_id):
    """All streams of a port: the load, and one for latency if that is asked for."""
    chosen = targets(options)
    made = load(kind, options, chosen)
    if options.latency_pps:
        size = max(options.size[0][0], least_size(kind) + STAMP_BYTES)
        stats = STLFlowLatencyStats(pg_id=options.pg_id + port_id)
        mode = STLTXCont(pps=options.latency_pps)
        made.append(
            stream(
                kind, size, chosen[0], options, mode=mode, random_seed=seed_of(options, 0),
                flow_stats=stats,
            )
        )  # fmt: skip
    return made
