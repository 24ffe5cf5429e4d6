# SPDX-License-Identifier: GPL-2.0-only
"""Single packets, well-formed and not: forwarded untouched, or left to the kernel unchanged."""

import struct

import frames as fr
import pytest
from topology import FAR, FOREIGN_MAC, HOST_MAC, PORT_MAC, host_addr, router_addr

B = host_addr("b")


@pytest.fixture
def far(net):
    net.route("add 2001:db8:f00::/40 via", B)
    return net


@pytest.fixture
def far_twins(twins):
    twins.each(lambda net: net.r.route("add 2001:db8:f00::/40 via", B))
    twins.fast.sync()
    return twins


# --- forwarded, and nothing touched ---------------------------------------------------------


def test_flow_label_and_traffic_class(far):
    """xdp-forward masks the label to 4 bits."""
    labels = [0, 1, 0xF, 0x10, 0xFFFF, 0x10000, 0x80000, 0xABCDE, 0xFFFFF]
    frames = [fr.udp(FAR, fl=label, tc=tc) for label in labels for tc in (0, 1, 0x28, 0xB8, 0xFF)]
    far.assert_forwarded(frames, to="b")


def test_hop_limits(far):
    far.assert_forwarded([fr.udp(FAR, hop_limit=h) for h in (2, 3, 64, 128, 255)], to="b")


@pytest.mark.parametrize("hop_limit", [0, 1])
def test_hop_limit_is_used_up(far, hop_limit):
    far.assert_icmp_error([fr.udp(FAR, hop_limit=hop_limit)] * 3, "pass_hop_limit", 3, 0)


def test_any_next_header(far):
    """By XDP what has no checksum that a veth's sender may leave open, by the kernel the others."""
    frames = {header: fr.udp(FAR, nh=header) for header in range(1, 256)}
    ours = [frames.pop(header) for header in (6, 17, 50, 58, 59)]
    far.assert_forwarded(ours, to="b")
    far.assert_kernel_forwards(list(frames.values()), "pass_checksum")


def cut(next_header, length):
    """With so many bytes behind the IPv6 header."""
    frame = fr.udp(FAR, nh=next_header)[: 14 + 40 + length]
    return frame[: 14 + 4] + struct.pack("!H", length) + frame[14 + 6 :]


def test_no_payload(far):
    far.assert_forwarded([cut(header, 0) for header in (50, 58, 59)], to="b")
    # where a checksum must be
    far.assert_kernel_forwards([cut(header, 0) for header in (6, 17)], "pass_checksum")


def test_payload_that_ends_in_its_checksum(far):
    far.assert_forwarded([cut(17, 8), cut(6, 18)], to="b")
    far.assert_kernel_forwards([cut(17, 7), cut(6, 17)], "pass_checksum")


@pytest.mark.parametrize("padding", [1, 2, 3, 6, 18, 100])
def test_padding_is_trimmed(far, padding):
    far.assert_forwarded([fr.udp(FAR, number=i) + b"\xa5" * padding for i in range(5)], to="b")


def test_wrong_transport_checksum_is_not_our_business(far):
    frame = bytearray(fr.udp(FAR))
    frame[14 + 40 + 6] ^= 0x55
    far.assert_forwarded([bytes(frame)], to="b")


# --- left to the kernel ---------------------------------------------------------------------


def test_foreign_destination_mac(far):
    """xdp-forward does not look at it."""
    for mac in (FOREIGN_MAC, PORT_MAC["b"], HOST_MAC["a"]):
        far.assert_dropped([fr.with_mac(fr.udp(FAR), mac)] * 3, "pass_other_mac")


@pytest.mark.parametrize("mac", ["ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"])
def test_group_destination_mac(far, mac):
    far.assert_dropped([fr.with_mac(fr.udp(FAR), mac)] * 3, "pass_other_mac")


def test_hop_by_hop(far):
    far.assert_kernel_forwards([fr.hop_by_hop(FAR)], "pass_hop_by_hop")


@pytest.mark.parametrize("vids", [(5,), (4095,), (5, 6), (0, 5)])
def test_vlan_tag(far, vids):
    """No device here takes it."""
    far.assert_dropped([fr.tagged(fr.udp(FAR), *vids)] * 3, "pass_vlan_unknown")


def test_three_tags(far):
    far.assert_passed([fr.tagged(fr.udp(FAR), 0, 0, 0)] * 3, "punt_vlan_depth")


@pytest.mark.parametrize("vids", [(0,), (0, 0)])
def test_priority_tag_counts_for_none(far, vids):
    frames = [fr.tagged(fr.udp(FAR), *vids)]
    got, rise = far.counted(lambda: far.exchange(frames))
    assert fr.show(got["b"]) == fr.show([fr.forwarded(fr.udp(FAR), HOST_MAC["b"], PORT_MAC["b"])])
    assert rise["forward"] == 1, rise


@pytest.mark.parametrize("ether_type", [b"\x08\x00", b"\x08\x06", b"\x88\x47", b"\x88\x64"])
def test_not_ipv6(far, ether_type):
    frame = fr.udp(FAR)
    far.assert_dropped([frame[:12] + ether_type + frame[14:]] * 3, "pass_not_ipv6")


@pytest.mark.parametrize("version", [0, 4, 5, 7, 15])
def test_wrong_version(far, version):
    far.assert_dropped([fr.udp(FAR, version=version)], "pass_not_ipv6")


@pytest.mark.parametrize("source", ["::", "::1", "ff02::1", "ff0e::1"])
def test_source_that_is_not_forwarded(far, source):
    far.assert_dropped([fr.udp(FAR, src=source)], "pass_source")


def test_link_local_source(far):
    far.assert_icmp_error([fr.udp(FAR, src="fe80::a:2")] * 2, "pass_source", 1, 2)


@pytest.mark.parametrize("target", ["::", "::1", "ff02::1", "ff0e::1:2", "fe80::1234"])
def test_destination_that_is_not_forwarded(far, target):
    got = far.assert_passed([fr.udp(target)], "pass_destination")
    assert not got["b"] and not got["c"]


def test_payload_length_beyond_the_frame(far):
    for more in (1, 8, 100, 60000):
        frame = fr.udp(FAR)
        length = struct.unpack_from("!H", frame, 18)[0] + more
        far.assert_dropped([frame[:18] + struct.pack("!H", length) + frame[20:]], "pass_truncated")


def test_egress_is_ingress(far):
    """The kernel forwards and tells the host of the shorter way."""
    far.route("add 2001:db8:e00::/40 via fe80::9 dev p0")
    far.r.ip("neigh replace fe80::9 lladdr", FOREIGN_MAC, "dev p0 nud permanent")
    far.sync()
    frame = fr.udp("2001:db8:e00::1")
    got = far.assert_passed([frame], "pass_same_port")
    redirects = [f for f in got["a"] if fr.icmp_type(f) == fr.REDIRECT]
    back = [f for f in got["a"] if fr.icmp_type(f) is None]
    assert len(redirects) == 1
    assert back == [fr.forwarded(frame, FOREIGN_MAC, PORT_MAC["a"])]


# --- the kernel is the oracle ---------------------------------------------------------------


def test_truncated_at_every_byte(far_twins):
    frame = fr.udp(FAR, size=90)
    far_twins.assert_same([frame[:length] for length in range(14, len(frame) + 1)])


def test_tagged_and_truncated(far_twins):
    frame = fr.tagged(fr.udp(FAR, size=70), 0)
    far_twins.assert_same([frame[:length] for length in range(14, len(frame) + 1)])


def test_every_value_of_payload_length_near_the_truth(far_twins):
    frame = fr.udp(FAR, size=80)
    frames = [frame[:18] + struct.pack("!H", n) + frame[20:] for n in range(0, 60)]
    far_twins.assert_same(frames)


def test_every_version_and_class_byte(far_twins):
    frame = fr.udp(FAR)
    far_twins.assert_same([frame[:14] + bytes([value]) + frame[15:] for value in range(256)])


def test_addresses_of_every_kind(far_twins):
    addresses = [
        "::", "::1", "::2", "::192.0.2.1", "::ffff:192.0.2.1", "64:ff9b::1", "100::1",
        "fc00::1", "fd12::1", "fe80::a:2", "fe80::99", "febf::1", "fec0::1", "fe00::1", "ff02::1",
        "ff02::2", "ff05::2", "ff0e::5", FAR, "2001:db8:a::2", "2001:db8:b::2", router_addr("a"),
        router_addr("b"), "2001:db8:b::", "2002::1", "3ffe::1", "8000::1",
    ]  # fmt: skip
    for net in (far_twins.plain, far_twins.fast):
        net.r.route("add default via", host_addr("c"))
    far_twins.fast.sync()
    # An absent neighbour on link is answered for seconds later: not a matter of one packet.
    targets = [a for a in addresses if a != "fe80::99"]
    frames = [fr.udp(dst, src=FAR if dst != FAR else B) for dst in targets]
    frames += [fr.udp(FAR, src=src) for src in addresses]
    far_twins.assert_same(frames)


def test_every_next_header(far_twins):
    far_twins.assert_same([fr.udp(FAR, nh=nh) for nh in range(256)])
