# SPDX-License-Identifier: GPL-2.0-only
"""A stand-in for TRex's streams, see packets.py. `packets(n)` is what they would send."""

import base64
import json
import struct

from .packets import FieldEngine, STLPktBuilder, require

LABEL_RESERVED = 0xFF00
LABEL_LATENCY = 0xFFFF
STAMP = b"stand-in stamp.."


class STLTXMode:
    def __init__(self, pps=None, bps_L1=None, bps_L2=None, percentage=None):
        given = [rate for rate in (pps, bps_L1, bps_L2, percentage) if rate is not None]
        require(len(given) <= 1 and all(rate > 0 for rate in given), "one rate above 0")
        self.pps = 1.0 if not given else pps


class STLTXCont(STLTXMode):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)


class STLTXSingleBurst(STLTXMode):
    def __init__(self, total_pkts=1, **kwargs):
        require(isinstance(total_pkts, int) and total_pkts > 0, "total_pkts")
        super().__init__(**kwargs)
        self.count = total_pkts


class STLFlowStats:
    def __init__(self, pg_id, vxlan=False, ieee_1588=False):
        require(isinstance(pg_id, int) and not vxlan and not ieee_1588, "pg_id")
        self.pg_id = pg_id


class STLFlowLatencyStats(STLFlowStats):
    pass


class STLStream:
    def __init__(self, name=None, packet=None, mode=STLTXCont(pps=1), enabled=True, self_start=True,
                 isg=0.0, flow_stats=None, next=None, stream_id=None, action_count=0, random_seed=0,
                 mac_src_override_by_pkt=None, mac_dst_override_mode=None, dummy_stream=False,
                 start_paused=False, core_id=-1):  # fmt: skip
        require(isinstance(packet, STLPktBuilder) and isinstance(mode, STLTXMode), "packet, mode")
        require(isinstance(random_seed, int) and 0 < random_seed < 1 << 32, "random_seed")
        require(flow_stats is None or isinstance(flow_stats, STLFlowStats), "flow_stats")
        require(
            enabled and self_start and not start_paused and not dummy_stream, "streams that send"
        )
        require(isg == 0.0 and next is None and action_count == 0, "streams by themselves")
        require(
            mac_src_override_by_pkt is None and mac_dst_override_mode is None, "MACs of the packet"
        )
        require((name, stream_id, core_id) == (None, None, -1), "streams without names")
        self.builder, self.mode, self.flow_stats, self.seed = packet, mode, flow_stats, random_seed
        if self.is_latency():
            self.check_payload()

    def is_latency(self):
        return isinstance(self.flow_stats, STLFlowLatencyStats)

    def get_pg_id(self):
        return self.flow_stats.pg_id if self.flow_stats else None

    def message_bytes(self):
        """About how long it is as JSON."""
        frame = base64.b64encode(self.builder.frame).decode()
        commands = [vars(command) for command in self.builder.commands]
        return len(json.dumps({"packet": frame, "instructions": commands})) + 1000

    def check_payload(self):
        payload = self.builder.pkt.lastlayer()
        require(
            payload.name == "Raw" and len(payload) >= len(STAMP),
            "16 bytes of payload for the stamp",
        )

    def packets(self, count, port_macs=None):
        """port_macs: {"dst", "src"} of TRex's configuration, where the packet has none of its own."""
        engine = FieldEngine(self.builder, self.seed)
        stamp = STAMP if self.is_latency() else b""
        return [self.as_sent(engine.packet(stamp), port_macs or {}) for _ in range(count)]

    def as_sent(self, frame, port_macs):
        frame = bytearray(frame)
        for name, at in (("dst", 0), ("src", 6)):
            if self.builder.is_default[name] and name in port_macs:
                frame[at : at + 6] = bytes.fromhex(port_macs[name].replace(":", ""))
        word = struct.unpack_from("!I", frame, 14)[0]
        label = word & 0xFFFFF
        if self.is_latency():
            # the lowest bit of the traffic class has it sent to the CPU
            word = word & ~0xFFFFF | LABEL_LATENCY | 1 << 20
        elif label >= LABEL_RESERVED:
            word = word & ~0xFFFFF | label & 0xEFFF
        struct.pack_into("!I", frame, 14, word)
        return bytes(frame)
