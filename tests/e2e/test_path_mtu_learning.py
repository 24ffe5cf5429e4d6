# SPDX-License-Identifier: GPL-2.0-only
"""What a Packet Too Big has to be like for the kernel to learn of it; sixlane learns what it learnt.

That something was not learnt is known once a later message has been.
"""

import socket
import time

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
)
from scapy.packet import Raw
from topology import FAR, HOST_MAC, PORT_MAC, host_addr, host_ll, router_addr

LATER = "2001:db8:f00::1:a7e2"
OWN = router_addr("b")


@pytest.fixture
def net(net):
    ex.prepare(net, ex.BY_B)
    net.sync()
    return net


def after_all(net):
    """All messages so far have been heard, and asked about."""
    ex.learn(net, 1281, LATER)
    ex.wait_shown(net, LATER, mtu=1281)
    ex.forget(net, LATER)


def assert_learnt(net, mtu, dst=FAR):
    assert ex.in_kernel(net, dst), "the kernel has not learnt it"
    row = ex.wait_shown(net, dst, mtu=mtu)
    assert row["origin"] == "kernel", row
    net.assert_answered([fr.udp(dst, size=mtu + 1)], mtu)
    net.assert_forwarded([fr.udp(dst, size=mtu)], to="b")


def assert_not_learnt(net, dst=FAR):
    after_all(net)
    assert not ex.in_kernel(net, dst), "the kernel has learnt it"
    assert dst not in ex.shown(net)
    net.assert_forwarded([fr.udp(dst, size=1500)], to="b")


# --- learnt ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mtu", [1280, 1281, 1400, 1499])
def test_of_an_echo(net, mtu):
    ex.learn(net, mtu)
    assert_learnt(net, mtu)


def test_by_a_hint_alone(idle):
    """The daemon is told of the message, and need not read all that the kernel has, which it would
    not do for minutes."""
    net = ex.start(idle, "--poll-ms", 60000)
    ex.learn(net, 1300)
    assert_learnt(net, 1300)
    ex.learn(net, 1290)
    assert_learnt(net, 1290)


def test_to_the_link_local_address(net):
    ex.learn(net, 1300, quoted=ex.echo("fe80::1", FAR), to="fe80::1", src=host_ll("b"))
    assert_learnt(net, 1300)


def test_from_a_router_far_away(net):
    """Any router on the way may send it, and it may come in by any port."""
    for by, dst in (("a", FAR), ("c", "2001:db8:f00::2")):
        ex.learn(net, 1300, dst, by=by, src="2001:db8:77::1")
        assert_learnt(net, 1300, dst)


def test_of_udp(net):
    """Only of a socket that there is."""
    sock = net.r.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.bind((OWN, 4567))
    sock.connect((FAR, 5000))
    quoted = IPv6(src=OWN, dst=FAR) / UDP(sport=4568, dport=5000) / Raw(bytes(100))
    ex.learn(net, 1300, quoted=quoted)
    assert_not_learnt(net)
    quoted[UDP].sport = 4567
    ex.learn(net, 1300, quoted=quoted)
    assert_learnt(net, 1300)


def test_of_tcp(net):
    """Of a connection, which the far host accepts; its sequence number must be one in flight."""
    net.host["b"].addr("lo", FAR + "/128")
    server = net.host["b"].socket(socket.AF_INET6, socket.SOCK_STREAM)
    server.bind((FAR, 7001))
    server.listen()
    client = net.r.socket(socket.AF_INET6, socket.SOCK_STREAM)
    client.settimeout(10)
    client.bind((OWN, 0))
    client.connect((FAR, 7001))
    net.clear()
    # Nobody answers any more: what is sent now is in flight.
    net.host["b"].ip("link set dev lo down")
    net.host["b"].ip("addr del", FAR + "/128 dev lo", check=False)
    client.send(bytes(1400))
    net.tap["b"].wait(lambda frames: [f for f in frames if len(f) > 1400])
    sent = [f for f in net.tap["b"].drain() if len(f) > 1400][0]
    packet = IPv6(sent[fr.ETH_LEN :])
    wrong = packet.copy()
    wrong[TCP].seq = (packet[TCP].seq + 0x10000000) & 0xFFFFFFFF
    ex.learn(net, 1300, quoted=Raw(bytes(wrong)[:1232]))
    assert_not_learnt(net)
    ex.learn(net, 1300, quoted=Raw(bytes(packet)[:1232]))
    assert_learnt(net, 1300)


def test_quoted_with_extension_headers(net):
    inner = IPv6(src=OWN, dst=FAR) / IPv6ExtHdrDestOpt() / ICMPv6EchoRequest(data=bytes(60))
    ex.learn(net, 1300, quoted=inner)
    assert_learnt(net, 1300)
    second = "2001:db8:f00::2"
    inner = IPv6(src=OWN, dst=second) / IPv6ExtHdrFragment(m=1) / ICMPv6EchoRequest(data=bytes(60))
    ex.learn(net, 1300, quoted=inner)
    assert_learnt(net, 1300, second)


def test_behind_an_extension_header(net):
    """The message itself has one: XDP does not look behind it, and what is learnt is found later."""
    ex.learn(net, 1281, LATER)
    ex.wait_shown(net, LATER)
    frame = ex.too_big(1300)
    packet = IPv6(frame[fr.ETH_LEN :])
    payload = packet.payload
    head = IPv6(src=packet.src, dst=packet.dst) / IPv6ExtHdrDestOpt() / payload
    ex.hear(net, frame[: fr.ETH_LEN] + bytes(head))
    assert ex.in_kernel(net)
    ex.wait_shown(net, FAR, mtu=1300, timeout=15)


def test_in_fragments(net):
    """No fragment is a whole message."""
    ex.learn(net, 1281, LATER)
    ex.wait_shown(net, LATER)
    frame = ex.too_big(1300, quoted=ex.echo(OWN, FAR, 1200))
    message = frame[fr.ETH_LEN + fr.IPV6_LEN :]
    head = IPv6(frame[fr.ETH_LEN :])
    parts = []
    for at, more in ((0, 1), (1000, 0)):
        part = IPv6(src=head.src, dst=head.dst) / IPv6ExtHdrFragment(
            nh=58, offset=at // 8, m=more, id=99
        )
        piece = message[at : at + 1000] if more else message[at:]
        parts.append(frame[: fr.ETH_LEN] + bytes(part / Raw(piece)))
    ex.hear(net, *parts)
    assert ex.in_kernel(net)
    ex.wait_shown(net, FAR, mtu=1300, timeout=15)


# --- ignored --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mtu", [0, 1, 68, 576, 1279, 1500, 1501, 65535, 2**32 - 1])
def test_mtus_that_say_nothing(net, mtu):
    """Below the least that IPv6 allows, or no less than what was known."""
    ex.learn(net, mtu)
    assert_not_learnt(net)


def inner(size=None, **fields):
    packet = bytes(IPv6(src=OWN, dst=FAR, **fields) / ICMPv6EchoRequest(data=bytes(60)))
    return Raw(packet[:size])


MALFORMED = {
    "nothing quoted": Raw(b""),
    "a byte": inner(1),
    "half a header": inner(20),
    "a header less one byte": inner(39),
    "a header only": inner(40),
    "half an echo": inner(44),
    "version 4": inner(version=4),
    "version 0": inner(version=0),
    "of no protocol": inner(nh=59),
    "of an unknown protocol": inner(nh=253),
    "of TCP without a socket": Raw(bytes(IPv6(src=OWN, dst=FAR) / TCP(sport=9, dport=9))),
    "of UDP without a socket": Raw(bytes(IPv6(src=OWN, dst=FAR) / UDP(sport=9, dport=9))),
    "options beyond its end": Raw(bytes(IPv6(src=OWN, dst=FAR, nh=60)) + bytes([58, 255]) + bytes(6)),
}  # fmt: skip


@pytest.mark.parametrize("quoted", MALFORMED.values(), ids=list(MALFORMED))
def test_malformed_quotes(net, quoted):
    """As the kernel takes them, whatever that is."""
    ex.learn(net, 1300, quoted=quoted)
    after_all(net)
    learnt = ex.in_kernel(net) is not None
    ex.wait_as_kernel(net)
    assert (FAR in ex.shown(net)) == learnt


def test_every_length(net):
    """Cut off at every byte, in the frame and as its header says."""
    frame = ex.too_big(1300)
    for length in range(fr.ETH_LEN + fr.IPV6_LEN, len(frame)):
        cut = bytearray(frame[:length])
        cut[18:20] = (length - fr.ETH_LEN - fr.IPV6_LEN).to_bytes(2, "big")
        ex.hear(net, frame[:length], bytes(cut))
    assert_not_learnt(net)


def test_wrong_checksum(net):
    ex.hear(net, ex.with_wrong_checksum(ex.too_big(1300)))
    assert_not_learnt(net)


@pytest.mark.parametrize("dst", ["ff0e::1", "ff02::1", "::", "::1", OWN, router_addr("a"), "fe80::5"])
def test_destinations_that_have_none(net, dst):
    """What is quoted was sent to no one host elsewhere."""
    ex.learn(net, 1300, dst)
    after_all(net)
    ex.wait_as_kernel(net)


def test_not_to_this_machine(net):
    """Those that are forwarded are nobody's business here."""
    ex.hear(net, ex.too_big(1300, quoted=ex.echo(host_addr("a"), FAR), to=host_addr("a")))
    assert_not_learnt(net)
    assert net.router.stats()["forward"] >= 1


def test_to_another_mac(net):
    frame = ex.too_big(1300)
    ex.hear(net, fr.with_mac(frame, HOST_MAC["a"]), fr.with_mac(frame, PORT_MAC["a"]))
    assert_not_learnt(net)


def test_no_route(net):
    """The kernel has nothing to hang it on."""
    ex.learn(net, 1300, "2001:4860::1")
    after_all(net)
    assert not ex.in_kernel(net, "2001:4860::1") and "2001:4860::1" not in ex.shown(net)


# --- whose word counts ----------------------------------------------------------------------------


def test_observe(idle):
    """Counted, and not applied."""
    net = ex.start(idle, "--exceptions", "observe")
    ex.learn(net, 1300)
    before = ex.wait_shown(net, FAR, mtu=1300)["hits"]
    net.assert_forwarded([fr.udp(FAR, size=size) for size in (1300, 1301, 1500)], to="b")
    assert ex.shown(net)[FAR]["hits"] == before + 3


@pytest.mark.parametrize("mode", ["kernel", "always"])
def test_modes_that_apply(idle, mode):
    net = ex.start(idle, "--exceptions", mode)
    ex.learn(net, 1300)
    assert_learnt(net, 1300)


def test_hits(net):
    """Packets and bytes of both fates, and when the last was."""
    ex.learn(net, 1300)
    before = ex.wait_shown(net, FAR, mtu=1300)
    # Then the two times cannot be taken for each other.
    wait_until(lambda: ex.shown(net)[FAR]["age_s"] > 1, 10, "a second old")
    frames = [fr.udp(FAR, size=size, number=n) for n, size in enumerate((100, 1300, 1301, 1500))]
    begin = time.monotonic()
    net.exchange(frames)
    net.exchange([fr.udp("2001:db8:f00::2", size=1500)])
    after = ex.shown(net)[FAR]
    # XDP's clock stands still for up to a tick.
    assert 0 <= after["used_s"] < time.monotonic() - begin + 0.1, after
    assert after["used_s"] < after["age_s"] - 0.5, after
    assert after["hits"] - before["hits"] == len(frames)
    assert after["bytes"] - before["bytes"] == sum(map(len, frames))
