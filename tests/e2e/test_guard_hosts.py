# SPDX-License-Identifier: GPL-2.0-only
"""Sockets of two hosts that talk through a router: with a stateful firewall on it, and with checksums that
the hosts leave to their devices. All works as by the kernel alone.
"""

import contextlib
import socket
import threading

import frames as fr
import pytest
from guard_twins import packet, wait_verdict
from topology import PORT, Net, host_addr

TCP_PORT, UDP_PORT = 7777, 7000
STATEFUL = """
table inet fw {
    chain c {
        type filter hook forward priority 0; policy drop
        ct state established,related accept
        iifname "p0" accept
    }
}
"""


class Call:
    """A TCP connection of one host to another, which echoes."""

    def __init__(self, net, source, to):
        server = net.host[to].socket(socket.AF_INET6, socket.SOCK_STREAM)
        self.client = net.host[source].socket(socket.AF_INET6, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("::", TCP_PORT))
        server.listen()
        self.thread = threading.Thread(target=self._answer, args=(server,), daemon=True)
        self.thread.start()
        self.client.settimeout(10)
        self.client.connect((host_addr(to), TCP_PORT))

    @staticmethod
    def _answer(server):
        server.settimeout(10)
        with server:
            peer, _ = server.accept()
        with peer:
            peer.settimeout(10)
            while data := peer.recv(65536):
                peer.sendall(data)

    def say(self):
        """Segments as large as the path takes are among them, put together by the host."""
        for size in [1000] * 50 + [60000]:
            self.client.sendall(b"x" * size)
            while size:
                size -= len(self.client.recv(size))

    def end(self):
        self.client.close()
        self.thread.join()


def tcp(net, source, to):
    call = Call(net, source, to)
    call.say()
    call.end()


def udp(net, source, to, count=20):
    """Each datagram is answered."""
    server = net.host[to].socket(socket.AF_INET6, socket.SOCK_DGRAM)
    client = net.host[source].socket(socket.AF_INET6, socket.SOCK_DGRAM)
    with contextlib.closing(server), contextlib.closing(client):
        server.bind(("::", UDP_PORT))
        for sock in (server, client):
            sock.settimeout(10)
        for number in range(count):
            client.sendto(b"%d" % number, (host_addr(to), UDP_PORT))
            data, peer = server.recvfrom(100)
            server.sendto(data, peer)
            assert client.recv(100) == b"%d" % number


def talk(net, source="a", to="b"):
    tcp(net, source, to)
    udp(net, source, to)


# --- a stateful firewall --------------------------------------------------------------------------------


def assert_unsolicited(net):
    """It does not arrive, and XDP forwards nothing past the firewall."""
    got, rise = net.counted(lambda: net.exchange([packet("b", "a")], "b"))
    assert got["a"] == [] and "forward" not in rise, rise


@pytest.mark.parametrize("passed", ["", "p0", "p1", "p0 p1"])
def test_stateful_firewall(make, passed):
    """Whichever ports only the kernel serves: it sees both directions of a connection."""
    net = make(Net)
    net.r.run("nft", "-f", "-", stdin=STATEFUL)
    talk(net)
    assert net.exchange([packet("b", "a")], "b")["a"] == []
    net.start(*("--pass-port=" + port for port in passed.split()))
    _, rise = net.counted(lambda: talk(net))
    assert "forward" not in rise, rise
    assert "p0" in passed or rise["pass_firewall"] > 20, rise
    assert_unsolicited(net)


def test_stateful_firewall_comes_and_goes(net):
    """A connection from before goes on: its packets are new to the firewall, but from the right side."""
    call = Call(net, "a", "b")
    call.say()
    net.r.run("nft", "-f", "-", stdin=STATEFUL)
    wait_verdict(net, "b", "a", "pass_firewall")
    call.say()
    assert_unsolicited(net)
    net.r.run("nft", "flush", "ruleset")
    wait_verdict(net, "b", "a", "forward")
    _, rise = net.counted(call.say)
    call.end()
    assert rise["forward"] > 20 and "pass_firewall" not in rise, rise


# --- checksums --------------------------------------------------------------------------------------------


def set_offload(net, state):
    for host in "ab":
        net.host[host].run("ethtool", "-K", "h0", "tx", state)


def test_incomplete_checksums(net):
    """Packets with incomplete checksums are punted, because the kernel completes them."""
    for port in PORT.values():
        assert "partial_checksums" in net.router.port_status(port)["flags"]
    set_offload(net, "on")
    _, rise = net.counted(lambda: tcp(net, "a", "b"))
    assert rise["pass_checksum"] > 100 and "forward" not in rise, rise
    _, rise = net.counted(lambda: udp(net, "a", "b"))
    assert rise["pass_checksum"] == 40 and "forward" not in rise, rise


def test_complete_checksums(net):
    """One of 65,536 has the value of an incomplete one by chance."""
    set_offload(net, "off")
    _, rise = net.counted(lambda: tcp(net, "a", "b"))
    assert rise["forward"] > 100 and rise.get("pass_checksum", 0) < 3, rise
    _, rise = net.counted(lambda: udp(net, "a", "b"))
    assert rise["forward"] >= 39, rise


def test_one_host_with_incomplete_checksums(net):
    """XDP forwards the packets of one side, and not those of the other."""
    net.host["a"].run("ethtool", "-K", "h0", "tx", "on")
    _, rise = net.counted(lambda: udp(net, "a", "b"))
    assert rise["forward"] == rise["pass_checksum"] == 20, rise


def test_value_of_an_incomplete_checksum(net):
    """A complete checksum that looks like an incomplete one: the kernel forwards it as it is."""
    frame = bytearray(packet("a", "b"))
    start = fr.ETH_LEN + fr.IPV6_LEN
    words = [int.from_bytes(frame[at : at + 2], "big") for at in range(fr.ETH_LEN + 8, start, 2)]
    pseudo = sum(words) + len(frame) - start + socket.IPPROTO_UDP
    while pseudo > 0xFFFF:
        pseudo = (pseudo & 0xFFFF) + (pseudo >> 16)
    frame[start + 6 : start + 8] = pseudo.to_bytes(2, "big")
    net.assert_kernel_forwards([bytes(frame)], "pass_checksum")
