# SPDX-License-Identifier: GPL-2.0-only
"""The stand-in for TRex refuses what TRex refuses, and spoils what it spoils: else it proves nothing."""

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from sent import ROUTER, read
from trex.stl import api


def variable(**kwargs):
    return api.STLVmFlowVar(name="v", **kwargs)


def build(*commands, size=62):
    packet = (
        Ether(dst=ROUTER, src=ROUTER)
        / IPv6(src="2001:db8::1", dst="2001:db8::2")
        / UDP()
        / (b"x" * (size - 62))
    )
    return api.STLPktBuilder(pkt=packet, vm=api.STLScVmRaw(list(commands)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: variable(minimum=1),
        lambda: variable(size=3),
        lambda: variable(op="rand"),
        lambda: variable(min_value=0, max_value=256, size=1),
        lambda: variable(value_list=list(range(65536))),
        lambda: build(variable(), variable()),
        lambda: build(api.STLVmWrFlowVar(fv_name="w", pkt_offset="IPv6.dst")),
        lambda: build(
            variable(size=8),
            api.STLVmWrFlowVar(fv_name="v", pkt_offset="UDP.sport", offset_fixup=4),
        ),
        lambda: build(variable(), api.STLVmWrFlowVar(fv_name="v", pkt_offset=510), size=600),
        lambda: build(variable(), api.STLVmWrFlowVar(fv_name="v", pkt_offset="UDP.port")),
        lambda: build(api.STLVmFixChecksumHw(l3_offset="IPv6", l4_offset="TCP", l4_type=13)),
        lambda: build(*(api.STLVmFlowVar(name=str(i), size=8) for i in range(8))),
        lambda: api.STLStream(packet=build(), mode=api.STLTXCont(pps=1, percentage=1)),
        lambda: api.STLStream(
            packet=build(), random_seed=1, flow_stats=api.STLFlowLatencyStats(pg_id=1)
        ),
    ],
)
def test_stand_in_refuses(wrong):
    """What TRex would refuse, or do otherwise than meant."""
    with pytest.raises((TypeError, api.CTRexPacketBuildException)):
        wrong()


def test_stand_in_spoils_labels():
    packet = Ether(dst=ROUTER, src=ROUTER) / IPv6(src="::1", dst="::2", fl=0x12345) / UDP()
    stream = api.STLStream(packet=api.STLPktBuilder(pkt=packet), random_seed=1)
    assert Ether(stream.packets(1)[0])[IPv6].fl == 0x2345


def test_stand_in_refuses_messages():
    several = []
    for count in (23000, 26000):
        values = list(range(1 << 63, (1 << 63) + count))
        packet = build(variable(value_list=values, size=8))
        several.append(api.STLStream(packet=packet, random_seed=1))
    client = api.STLClient()
    client.connect()
    client.add_streams(several[:1], ports=[0])
    with pytest.raises(api.TRexError, match="too large"):
        client.add_streams(several, ports=[0])


def test_stand_in_makes_the_checksum_last():
    """An address that is written behind the command for the checksum makes a wrong one."""
    write = api.STLVmWrFlowVar(fv_name="v", pkt_offset="IPv6.dst", offset_fixup=12)
    fix = api.STLVmFixChecksumHw(l3_offset="IPv6", l4_offset="UDP", l4_type=11)
    draw = variable(min_value=5, max_value=9, op="random")
    right, wrong = (
        api.STLStream(packet=build(draw, *commands), random_seed=1).packets(3)
        for commands in ((write, fix), (fix, write))
    )
    for frame in right:
        read(frame, UDP, 66)
    with pytest.raises(AssertionError):
        for frame in wrong:
            read(frame, UDP, 66)
