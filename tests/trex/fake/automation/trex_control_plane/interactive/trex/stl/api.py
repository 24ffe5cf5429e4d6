# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A stand-in for the module of this name that TRex brings: what user/bench/generator.py uses of it, with a router
behind it that loses what it is told. Names and parameters are those of TRex v3.08, so that a wrong one fails here as it
would there; limits of its server are kept, too. STLStream.packets() is what it would send."""

import base64
import json
import random
from collections import namedtuple

from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

LIST_MAX, MESSAGE_MAX, STAMP, LINE_PPS = 0xFFFF, 1_000_000, 16, 5_000_000
DEFAULTS = {"ports": 2, "loss": 0, "late": 0, "histogram": {0: 1990, 20: 10}, "total_max": 25, "sent_when_stopped": 0,
            "port_errors": 0}  # fmt: skip

STLVmFixChecksumHw = namedtuple("STLVmFixChecksumHw", "l3_offset l4_offset l4_type")
STLScVmRaw = namedtuple("STLScVmRaw", "list_of_commands cache_size", defaults=[None, None])
STLTXCont = namedtuple("STLTXCont", "pps percentage", defaults=[None, None])
STLFlowLatencyStats = namedtuple("STLFlowLatencyStats", "pg_id")


class STLError(Exception):
    pass


def require(condition, message):
    if not condition:
        raise STLError(message)


class STLVmFlowVar:
    def __init__(self, name, init_value=None, min_value=0, max_value=255, size=4, step=1, op="inc", value_list=None):
        require(size in (1, 2, 4, 8) and op in ("inc", "random") and step == 1 and init_value is None, "variable " + name)
        self.name, self.size, self.op, self.values, self.low, self.high = name, size, op, value_list, min_value, max_value
        for value in value_list or (min_value, max_value):
            require(isinstance(value, int) and 0 <= value < 1 << 8 * size, "value of " + name)
        require(len(value_list or ()) <= LIST_MAX and (value_list is None or op == "inc"), "list of " + name)

    def value(self, number, draw):
        if self.values:
            return self.values[number % len(self.values)]
        return self.low + (draw(self.size) if self.op == "random" else number) % (self.high - self.low + 1)


class STLVmWrFlowVar:
    def __init__(self, fv_name, pkt_offset, offset_fixup=0, add_val=0, is_big=True):
        require(isinstance(pkt_offset, int) and not offset_fixup and not add_val and is_big, "the stand-in takes offsets")
        self.name, self.at = fv_name, pkt_offset


class STLPktBuilder:
    def __init__(self, pkt=None, pkt_buffer=None, vm=None):
        require(isinstance(pkt, Ether) and pkt_buffer is None and isinstance(vm, STLScVmRaw), "pkt, vm")
        *self.commands, fix = vm.list_of_commands
        self.pkt, self.frame = pkt, bytes(pkt)
        self.variables = {one.name: one for one in self.commands if isinstance(one, STLVmFlowVar)}
        has_layers = pkt.haslayer(fix.l3_offset) and pkt.haslayer(fix.l4_offset)
        require(has_layers and fix.l4_type == {"UDP": 11, "TCP": 13}[fix.l4_offset], "checksum, the last one")


class STLStream:
    def __init__(self, packet=None, mode=None, flow_stats=None, random_seed=0):
        self.pps = mode.pps or LINE_PPS * (mode.percentage or 0) / 100
        require(isinstance(packet, STLPktBuilder) and self.pps > 0 and 0 < random_seed < 1 << 32, "stream")
        require(not flow_stats or len(packet.pkt.lastlayer()) >= STAMP, "16 bytes of payload for the stamp")
        require(packet.pkt[IPv6].fl < 0xFF00, "a flow label of TRex's own")
        self.packet, self.mode, self.flow_stats, self.random = packet, mode, flow_stats, random.Random(random_seed)

    def message_bytes(self):
        """About how long it is as JSON."""
        lists = [variable.values for variable in self.packet.variables.values()]
        return len(json.dumps([base64.b64encode(self.packet.frame).decode(), lists])) + 2000

    def draw(self, size):
        """15 bits at a time: half of each 16 is never drawn."""
        words = [self.random.getrandbits(15) for _ in range(max(1, size // 2))]
        return sum(word << 16 * place for place, word in enumerate(words))

    def packets(self, count):
        found = []
        for number in range(count):
            frame = bytearray(self.packet.frame)
            for command in self.packet.commands:
                if isinstance(command, STLVmWrFlowVar):
                    variable = self.packet.variables[command.name]
                    value = variable.value(number, self.draw).to_bytes(variable.size, "big")
                    frame[command.at : command.at + variable.size] = value
            packet = Ether(bytes(frame))
            del packet[TCP if packet.haslayer(TCP) else UDP].chksum
            found.append(bytes(packet))
        return found


class STLClient:
    settings, last = DEFAULTS, None  # what it answers with, and who was asked

    def __init__(self, username="", server="localhost", sync_port=4501, async_port=4500, verbose_level="error"):
        STLClient.last, self.connected, self.late = self, False, self.settings["late"]
        self.ports = list(range(self.settings["ports"]))

    def connect(self):
        print("chatter of connect")  # which may not be among the replies
        require(self.settings["ports"], "no server")
        self.connected = True

    def disconnect(self, stop_traffic=True, release_ports=True):
        self.connected = False

    def get_all_ports(self):
        return self.ports

    def get_port_info(self, ports=None):
        return [{"src_mac": "02:00:00:00:00:%02x" % port} for port in ports]

    def reset(self, ports=None, restart=False):
        self.streams, self.active, self.promiscuous = {port: [] for port in ports}, set(), []
        self.sent, self.probes = (dict.fromkeys(self.ports, 0) for _ in "12")

    def set_port_attr(self, ports=None, promiscuous=None):
        self.promiscuous = ports if promiscuous else []

    def add_streams(self, streams, ports=None):
        for stream in streams:
            require(stream.message_bytes() <= MESSAGE_MAX, "Request is too large")
        for port in ports:
            self.streams[port] += streams

    def start(self, ports=None, mult="1", force=False, duration=-1):
        self.started = (ports, duration)
        for port in ports:
            for stream in self.streams[port]:
                self.sent[port] += round(stream.pps * duration)
                self.probes[port] += round(stream.pps * duration) * bool(stream.flow_stats)
        self.active = set(ports) if self.settings["sent_when_stopped"] else set()

    def is_traffic_active(self, ports=None):
        return self.active & set(ports)

    def stop(self, ports=None, rx_delay_ms=None):
        self.sent.update(dict.fromkeys(self.active & set(ports), self.settings["sent_when_stopped"]))
        self.active = set()

    def arrived(self, sent, port):
        """Of what the ports sent, as much as arrives at this one."""
        return round(sent[port ^ 1] * (1 - self.settings["loss"]))

    def get_stats(self):
        self.late -= 1
        return {port: {"opackets": self.sent[port], "ipackets": 0 if self.late >= 0 else self.arrived(self.sent, port),
                       "oerrors": self.settings["port_errors"], "ierrors": 0} for port in self.ports}  # fmt: skip

    def get_pgid_stats(self, pgid_list=()):
        one = {"latency": {"histogram": self.settings["histogram"], "total_max": self.settings["total_max"]}}
        flows = {}
        for pg_id in pgid_list:
            senders = [port for port in self.streams for stream in self.streams[port]
                       if stream.flow_stats and stream.flow_stats.pg_id == pg_id]  # fmt: skip
            flows[pg_id] = {"tx_pkts": {"total": sum(self.probes[port] for port in senders)}}
        return {"latency": {"global": {}, **dict.fromkeys(pgid_list, one)}, "flow_stats": {"global": {}, **flows}}
