# SPDX-License-Identifier: GPL-2.0-only
"""A stand-in for TRex's client, see packets.py: ports in pairs, and a router that loses what it is told.

SIXLANE_FAKE_TREX in the environment is JSON: what it answers with, and `record`, a file in which it
leaves what was asked of it.
"""

import getpass
import json
import os

from .packets import require
from .streams import STLStream, STLTXSingleBurst

MESSAGE_MAX = 999999
DEFAULTS = {
    "ports": 2,
    "speed": 25,  # Gbit/s
    "down": [],
    "loss": 0.0,  # of what is sent
    "can_send": 1.0,  # of what is asked for
    "queue_full": 0,
    "warnings": [],
    "bond": False,  # the router's next hop is one port's, its bond leads to several
    "histogram": {"0": 1},
    "total_max": 9,
    "latency_errors": {},
    "raises": {},  # by method
    "hangs": False,  # while it sends, until it is told to stop
    "sent_when_stopped": 0,  # by each port
    "late": 0,  # times that its statistics are read before anything has arrived
    "record": None,
}


class TRexError(Exception):
    pass


class STLClient:
    def __init__(self, username=getpass.getuser(), server="localhost", sync_port=4501, async_port=4500,
                 verbose_level="error", logger=None, sync_timeout=None, async_timeout=None):  # fmt: skip
        require(
            verbose_level in ("none", "critical", "error", "warning", "info", "debug"),
            "verbose_level",
        )
        self.settings = {**DEFAULTS, **json.loads(os.environ.get("SIXLANE_FAKE_TREX", "{}"))}
        self.calls = [["client", server, sync_port, async_port, sync_timeout]]
        self.ports = list(range(self.settings["ports"]))
        self.connected = False
        self.warnings = []
        self.clear()

    def clear(self):
        self.streams = {port: [] for port in self.ports}
        self.sent = {port: 0 for port in self.ports}
        self.sent_for_latency = {port: 0 for port in self.ports}
        self.active = set()
        self.deaf = self.ports

    def called(self, name, *args):
        if self.calls[-1] == [name, *args]:
            # polled
            return
        print("chatter of", name)
        self.calls.append([name, *args])
        if self.settings["record"]:
            with open(self.settings["record"], "w", encoding="ascii") as file:
                json.dump(self.calls, file)
        if name in self.settings["raises"]:
            raise TRexError(self.settings["raises"][name])
        require(self.connected or name in ("connect", "disconnect"), "not connected")

    def connect(self):
        self.called("connect")
        self.connected = True

    def disconnect(self, stop_traffic=True, release_ports=True):
        self.called("disconnect", stop_traffic, release_ports)
        self.connected = False

    def is_connected(self):
        return self.connected

    def get_all_ports(self):
        self.called("get_all_ports")
        return self.ports

    def get_server_version(self):
        return {"version": "v3.08", "build_date": "today", "mode": "STL"}

    def get_port_info(self, ports=None):
        return [
            {
                "src_mac": "02:00:00:00:00:%02x" % port,
                "speed": self.settings["speed"],
                "driver": "net_stand_in",
                "link": "DOWN" if port in self.settings["down"] else "UP",
                "description": "a port",
            }
            for port in (self.ports if ports is None else ports)
        ]

    def reset(self, ports=None, restart=False):
        self.called("reset", ports, restart)
        self.clear()

    def set_port_attr(self, ports=None, promiscuous=None, link_up=None, led_on=None, flow_ctrl=None,
                      multicast=None, vxlan_fs=None):  # fmt: skip
        require(
            (link_up, led_on, flow_ctrl, multicast, vxlan_fs) == (None,) * 5, "promiscuous only"
        )
        self.called("set_port_attr", ports, promiscuous)
        self.deaf = [port for port in self.ports if not (promiscuous and port in ports)]

    def add_streams(self, streams, ports=None):
        require(all(isinstance(stream, STLStream) for stream in streams), "streams")
        for port in ports:
            self.streams[port] += streams
        self.check_messages(streams)
        told = [
            [stream.mode.pps, stream.get_pg_id(), *(frame.hex() for frame in stream.packets(3))]
            for stream in streams
        ]
        self.called("add_streams", ports, told)

    @staticmethod
    def check_messages(streams):
        """Of several streams each, until it is over half of what the server takes."""
        size = 0
        for stream in streams:
            size += stream.message_bytes()
            if size > MESSAGE_MAX:
                raise TRexError("Request is too large (%d bytes)" % size)
            size = size if size <= MESSAGE_MAX / 2 else 0

    def start(self, ports=None, mult="1", force=False, duration=-1, total=False, core_mask=None,
              synchronized=False):  # fmt: skip
        self.called("start", ports, mult, force, duration)
        require(mult == "1" and not total, "the stand-in sends the streams' own rates")
        self.warnings += self.settings["warnings"]
        for port in ports:
            self.sent_for_latency[port] = self.sum_of(port, duration, True)
            self.sent[port] = self.sum_of(port, duration, False) + self.sent_for_latency[port]
        if self.settings["hangs"]:
            self.active = set(ports)

    def sum_of(self, port, duration, for_latency):
        """What of a port's streams it sends."""
        asked = [
            self.count_of(stream.mode, duration)
            for stream in self.streams[port]
            if stream.is_latency() == for_latency
        ]
        return round(sum(asked) * self.settings["can_send"])

    @staticmethod
    def count_of(mode, duration):
        if isinstance(mode, STLTXSingleBurst):
            return mode.count if duration == -1 else min(mode.count, mode.pps * duration)
        require(duration > 0, "this would never end")
        return mode.pps * duration

    def is_traffic_active(self, ports=None):
        self.called("is_traffic_active", ports)
        return self.active & set(ports)

    def stop(self, ports=None, rx_delay_ms=None):
        self.called("stop", ports, rx_delay_ms)
        for port in self.active & set(ports):
            self.sent[port] = self.settings["sent_when_stopped"]
        self.active = set()

    def wait_on_traffic(self, ports=None, timeout=None, rx_delay_ms=None):
        self.called("wait_on_traffic", ports, timeout, rx_delay_ms)
        require(not self.active & set(ports), "the stand-in does not send in the background")

    def clear_stats(self, ports=None, clear_global=True, clear_flow_stats=True,
                    clear_latency_stats=True, clear_xstats=True):  # fmt: skip
        self.called("clear_stats")

    def get_stats(self, ports=None, sync_now=True):
        self.called("get_stats")
        self.settings["late"] -= 1
        stats = {"global": {"queue_full": self.settings["queue_full"]}}
        for port in self.ports:
            stats[port] = {
                "opackets": self.sent[port],
                "ipackets": self.arrived(self.sent, port) if self.settings["late"] < 0 else 0,
                "oerrors": 0,
                "ierrors": 0,
            }
        return stats

    def arrived(self, sent, port):
        """Of what the ports sent, as much as arrives at this one."""
        if self.settings["bond"] and port in self.deaf and port > 1:
            # what the bond sends here is for port 1
            return 0
        return round(sent[port ^ 1] * (1 - self.settings["loss"]))

    def get_pgid_stats(self, pgid_list=[]):
        self.called("get_pgid_stats", pgid_list)
        counters = {"dropped": 0, "dup": 0, "out_of_order": 0, "seq_too_high": 0, "seq_too_low": 0}
        counters.update(self.settings["latency_errors"])
        one = {
            "err_cntrs": counters,
            "latency": {
                "histogram": {int(low): count for low, count in self.settings["histogram"].items()},
                "total_max": self.settings["total_max"],
                "average": 1.0,
                "jitter": 0,
            },
        }
        return {
            "latency": {
                "global": {"bad_hdr": 0, "old_flow": 0},
                **{pg_id: one for pg_id in pgid_list},
            },
            "flow_stats": {
                "global": {"rx_err": {}, "tx_err": {}},
                **{pg_id: self.flow_of(pg_id) for pg_id in pgid_list},
            },
        }

    def flow_of(self, pg_id):
        """Of the one port that sends this stream, but counted by all."""
        sender = next(
            port
            for port in self.ports
            if pg_id in [stream.get_pg_id() for stream in self.streams[port]]
        )
        sent = {port: 0 for port in self.ports}
        sent[sender] = self.sent_for_latency[sender]
        received = {port: self.arrived(sent, port) for port in self.ports}
        return {
            "tx_pkts": {**sent, "total": sum(sent.values())},
            "rx_pkts": {**received, "total": sum(received.values())},
        }

    def get_warnings(self):
        return self.warnings

    def clear_events(self):
        self.warnings = []
