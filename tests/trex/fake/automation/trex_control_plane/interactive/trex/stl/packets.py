# SPDX-License-Identifier: GPL-2.0-only
"""A stand-in for what TRex's API builds packets and field engines with, for tests without TRex.

Names and parameters are those of TRex v3.08, so that a wrong one fails here as it would there. In the
place of a server that sends, FieldEngine makes the packets. It keeps the server's limits that profiles
run into: random numbers of 15 bits, lists, the memory of variables, how far into a packet it writes.
"""

import copy
import random

from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet

LIST_MAX = 0xFFFF
VARIABLES_BYTES = 64
WRITE_MAX = 512
MACS = {"dst": "00:00:00:01:00:00", "src": "00:00:00:02:00:00"}
LAYERS = {"Ethernet": Ether, "Ether": Ether, "IPv6": IPv6, "UDP": UDP, "TCP": TCP}


class CTRexPacketBuildException(Exception):
    def __init__(self, code, message):
        super().__init__(code, message)


def require(condition, message):
    if not condition:
        raise CTRexPacketBuildException(-11, message)


class CTRexVmInsFixHwCs:
    L4_TYPE_UDP = 11
    L4_TYPE_TCP = 13
    L4_TYPE_IP = 17


class STLVmFlowVar:
    def __init__(self, name, init_value=None, min_value=0, max_value=255, size=4, step=1, op="inc",
                 value_list=None, split_to_cores=True, next_var=None):  # fmt: skip
        require(isinstance(name, str), "the name is a string")
        require(size in (1, 2, 4, 8), "size %r" % size)
        require(op in ("inc", "dec", "random"), "op %r" % op)
        require(isinstance(split_to_cores, bool), "split_to_cores is a bool")
        require(
            op != "dec" and step == 1 and next_var is None,
            "the stand-in has no dec, steps, next_var",
        )
        self.name, self.size, self.op, self.values = name, size, op, value_list
        if value_list is None:
            self.low, self.high = min_value, max_value
            self.init = min_value if init_value is None else init_value
            require(0 <= self.low <= self.init <= self.high < 1 << 8 * size, "range of " + name)
        else:
            require(isinstance(value_list, list) and value_list, "value_list of " + name)
            require(len(value_list) <= LIST_MAX, "value_list of %s: too long" % name)
            require(all(0 <= value < 1 << 8 * size for value in value_list), "value of " + name)

    def next(self, state, draw):
        """(value, state for the next packet); state is None at first."""
        if self.op == "random":
            if self.values is not None:
                return self.values[draw(2) % len(self.values)], None
            return self.low + draw(self.size) % (self.high - self.low + 1), None
        if self.values is not None:
            at = state or 0
            return self.values[at], (at + 1) % len(self.values)
        value = self.init if state is None else state
        return value, self.low if value == self.high else value + 1


class STLVmWrFlowVar:
    def __init__(self, fv_name, pkt_offset, offset_fixup=0, add_val=0, is_big=True):
        require(isinstance(fv_name, str) and isinstance(is_big, bool), "write")
        require(isinstance(offset_fixup, int) and isinstance(add_val, int), "write")
        require(add_val == 0 and is_big, "the stand-in writes values as they are")
        self.name, self.where, self.fixup = fv_name, pkt_offset, offset_fixup

    def run(self, frame, at, value, size):
        frame[at : at + size] = value.to_bytes(size, "big")

    def width(self, size):
        return size


class STLVmWrMaskFlowVar:
    def __init__(self, fv_name, pkt_offset, pkt_cast_size=1, mask=0xFF, shift=0, add_value=0,
                 offset_fixup=0, is_big=True):  # fmt: skip
        require(pkt_cast_size in (1, 2, 4), "pkt_cast_size")
        require(all(isinstance(word, int) for word in (mask, shift, add_value)), "write_mask")
        require(add_value == 0 and is_big, "the stand-in writes values as they are")
        self.name, self.where, self.fixup = fv_name, pkt_offset, offset_fixup
        self.bytes, self.mask, self.shift = pkt_cast_size, mask, shift

    def run(self, frame, at, value, size):
        # of 64 bits, TRex takes the upper half where it means the lower
        require(size < 8, "mask of a 64-bit variable")
        value = value << self.shift if self.shift > 0 else value >> -self.shift
        old = int.from_bytes(frame[at : at + self.bytes], "big")
        frame[at : at + self.bytes] = (old & ~self.mask | value & self.mask).to_bytes(
            self.bytes, "big"
        )

    def width(self, _size):
        return self.bytes


class STLVmFixChecksumHw:
    def __init__(self, l3_offset, l4_offset, l4_type):
        self.l3, self.l4, self.type = l3_offset, l4_offset, l4_type


class STLScVmRaw:
    def __init__(self, list_of_commands=None, cache_size=None):
        self.commands = list_of_commands or []
        self.cache_size = cache_size

    def clone(self):
        return copy.deepcopy(self)


def layer_at(packet, name):
    """Offset of a layer's first byte."""
    at = 0
    while packet and packet.__class__.__name__ != "NoPayload":
        if isinstance(packet, LAYERS.get(name, ())):
            return at
        at += len(packet) - len(packet.payload)
        packet = packet.payload
    raise CTRexPacketBuildException(-11, "no layer %s" % name)


def field_at(packet, words):
    """Offset of "IPv6.dst" and the like."""
    if isinstance(words, int):
        return words
    layer, field = words.split(".")
    bits = 8 * layer_at(packet, layer)
    for each in LAYERS[layer].fields_desc:
        if each.name == field:
            return bits // 8
        bits += each.size if hasattr(each, "size") else int(8 * each.sz)
    raise CTRexPacketBuildException(-11, "no field %s" % words)


class STLPktBuilder:
    def __init__(self, pkt=None, pkt_buffer=None, vm=None, path_relative_to_profile=False,
                 build_raw=False, remove_fcs=True):  # fmt: skip
        require(
            isinstance(pkt, Packet) and isinstance(pkt, Ether), "the stand-in takes scapy's packets"
        )
        require(pkt_buffer is None and not path_relative_to_profile and not build_raw, "pkt only")
        require(vm is None or isinstance(vm, (STLScVmRaw, list)), "vm")
        self.is_default = {name: name not in pkt.fields for name in MACS}
        self.pkt = pkt.copy()
        for name, mac in MACS.items():
            # else scapy would ask the network for it
            if self.is_default[name]:
                setattr(self.pkt, name, mac)
        raw = vm if isinstance(vm, STLScVmRaw) else STLScVmRaw(vm)
        self.commands = raw.clone().commands
        self.frame = bytes(self.pkt)
        self.check()

    def check(self):
        """What the server refuses."""
        self.variables = {}
        room = 4  # the random state
        for command in self.commands:
            if isinstance(command, STLVmFlowVar):
                require(command.name not in self.variables, "%s is there twice" % command.name)
                self.variables[command.name] = command
                room += command.size
        require(room <= VARIABLES_BYTES, "%d bytes of variables" % room)
        for command in self.commands:
            if isinstance(command, (STLVmWrFlowVar, STLVmWrMaskFlowVar)):
                require(command.name in self.variables, "no variable %s" % command.name)
                command.at = field_at(self.pkt, command.where) + command.fixup
                end = command.at + command.width(self.variables[command.name].size)
                require(end <= min(len(self.frame), WRITE_MAX), "write behind the packet")
            elif isinstance(command, STLVmFixChecksumHw):
                command.l3_at, command.l4_at = layer_at(self.pkt, command.l3), layer_at(
                    self.pkt, command.l4
                )
            else:
                require(isinstance(command, STLVmFlowVar), "no command: %r" % (command,))


def ones_sum(data):
    data = bytes(data) + b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class FieldEngine:
    """The packets of a stream, one after the other, as they leave the port (without FCS)."""

    def __init__(self, builder, seed):
        self.builder, self.rng = builder, random.Random(seed)
        self.state = {}

    def draw(self, size):
        """15 bits at a time, as TRex does: half of each 16 is never drawn."""
        if size <= 2:
            return self.rng.getrandbits(15)
        half = size // 2
        return self.draw(half) << 8 * half | self.draw(half)

    def packet(self, stamp=b""):
        """stamp: what takes the last bytes before the NIC makes the checksum."""
        frame = bytearray(self.builder.frame)
        values, offload = {}, None
        for variable in self.builder.variables.values():
            values[variable.name], self.state[variable.name] = variable.next(
                self.state.get(variable.name), self.draw
            )
        for command in self.builder.commands:
            if isinstance(command, (STLVmWrFlowVar, STLVmWrMaskFlowVar)):
                command.run(
                    frame,
                    command.at,
                    values[command.name],
                    self.builder.variables[command.name].size,
                )
            elif isinstance(command, STLVmFixChecksumHw):
                offload = self.prepare(frame, command)
        if stamp:
            frame[-len(stamp) :] = stamp
        if offload:
            l4, at = offload
            total = 0xFFFF - ones_sum(frame[l4:])
            frame[at : at + 2] = (total or 0xFFFF).to_bytes(2, "big")
        return bytes(frame)

    @staticmethod
    def prepare(frame, command):
        """The sum of the pseudo header, as the addresses are now; the NIC adds the rest."""
        l3, l4 = command.l3_at, command.l4_at
        require(frame[l3] >> 4 == 6, "the stand-in knows IPv6 only")
        kind, field = {11: (17, 6), 13: (6, 16)}[command.type]
        require(frame[l3 + 6] == kind, "checksum of another protocol than the packet's")
        length = len(frame) - l4
        pseudo = bytes(frame[l3 + 8 : l3 + 40]) + length.to_bytes(4, "big") + bytes((0, 0, 0, kind))
        frame[l4 + field : l4 + field + 2] = ones_sum(pseudo).to_bytes(2, "big")
        return l4, l4 + field
