# SPDX-License-Identifier: GPL-2.0-only
"""Real hosts behind a router that knows of a smaller MTU: they learn it and get everything across.

The hosts are whole Linux stacks; nothing but their own sockets speaks.
"""

import json
import re

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, PREFIX, host_addr, host_ll, router_addr

MTU = 1300
BYTES = 3000000
HEAD = "import json, select, socket, sys, time\n"
SERVE_TCP = HEAD + """
server = socket.create_server(("::", 7000), family=socket.AF_INET6)
print("up", flush=True)
peer, _ = server.accept()
total = 0
while data := peer.recv(65536):
    total += len(data)
peer.sendall(b"%d" % total)
"""
SEND_TCP = HEAD + """
peer = socket.create_connection((sys.argv[1], 7000), 30)
peer.sendall(b"x" * int(sys.argv[2]))
peer.shutdown(socket.SHUT_WR)
print(json.dumps({"received": int(peer.recv(100)), "mtu": peer.getsockopt(41, 24)}))
"""
SERVE_UDP = HEAD + """
server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
server.bind(("::", 7000))
print("up", flush=True)
while True:
    data, peer = server.recvfrom(65536)
    server.sendto(data[:4] + b"%d" % len(data), peer)
"""
# Each datagram is sent until it is answered. IPV6_MTU_DISCOVER: 1 cuts in fragments, 2 refuses.
SEND_UDP = HEAD + """
peer = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
peer.setsockopt(41, 23, int(sys.argv[2]))
peer.connect((sys.argv[1], 7000))
size, refused, sent, answers = int(sys.argv[3]), 0, 0, 0
for number in range(50):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            peer.send((b"%04d" % number).ljust(size, b"x"))
            sent += 1
        except OSError as error:
            if error.errno != 90:
                raise
            refused += 1
            size = peer.getsockopt(41, 24) - 48
            continue
        if select.select([peer], [], [], 0.2)[0]:
            try:
                answer = peer.recv(100)
            except OSError:
                continue
            if answer == b"%04d%d" % (number, size):
                answers += 1
                break
print(json.dumps({"size": size, "refused": refused, "sent": sent, "answers": answers}))
"""
PYTHON = "/usr/bin/python3"


@pytest.fixture(params=["operator", "kernel"])
def smaller(request, make_net):
    """A router that knows of an MTU of 1300 to host b: told by its operator, or by a message."""
    net = make_net()
    if request.param == "operator":
        net.router.sixlane("exception add", host_addr("b"), "mtu", MTU)
    else:
        ex.learn(net, MTU, host_addr("b"))
    ex.wait_shown(net, host_addr("b"), mtu=MTU, origin=request.param)
    return net


@pytest.fixture
def make_net(idle):
    def build(*options, **kwargs):
        ex.prepare(idle)
        return idle.start(*options, **kwargs)

    return build


def serve(net, script):
    server = net.host["b"].popen(PYTHON, "-c", script, stdout=-1, text=True)
    assert server.stdout.readline() == "up\n"


def send(net, script, *args):
    return json.loads(net.host["a"].run(PYTHON, "-c", script, *args, timeout=100).stdout)


def host_mtu(net):
    """What host a has learnt."""
    rows = net.host["a"].ipj("route get", host_addr("b"))
    return rows[0].get("metrics", [{}])[0].get("mtu")


def largest_at(net, host):
    return max(fr.ipv6_size(frame) for frame in net.tap[host].drain() if fr.is_ipv6(frame))


def test_tcp(smaller):
    net = smaller
    serve(net, SERVE_TCP)
    assert host_mtu(net) is None
    net.clear()
    result, rise = net.counted(lambda: send(net, SEND_TCP, host_addr("b"), BYTES))
    assert result == {"received": BYTES, "mtu": MTU} and host_mtu(net) == MTU
    assert rise["answer_too_big"] >= 1 and rise["forward"] >= BYTES / MTU, rise
    assert "pass_too_big" not in rise, rise
    # A second one knows from the start.
    serve(net, SERVE_TCP.replace("7000", "7002"))
    again = SEND_TCP.replace("7000", "7002")
    result, rise = net.counted(lambda: send(net, again, host_addr("b"), BYTES))
    assert result["received"] == BYTES and "answer_too_big" not in rise, rise


def test_udp_that_may_be_cut(smaller):
    net = smaller
    serve(net, SERVE_UDP)
    result, rise = net.counted(lambda: send(net, SEND_UDP, host_addr("b"), 1, 1400))
    assert (result["answers"], result["size"], result["refused"]) == (50, 1400, 0), result
    assert host_mtu(net) == MTU
    assert rise["answer_too_big"] >= 1 and "pass_too_big" not in rise, rise


def test_udp_that_may_not_be_cut(smaller):
    """The sender is refused what is too large, and asks how large it may be."""
    net = smaller
    serve(net, SERVE_UDP)
    result, rise = net.counted(lambda: send(net, SEND_UDP, host_addr("b"), 2, 1400))
    assert (result["answers"], result["size"]) == (50, MTU - 48) and result["refused"], result
    assert rise["answer_too_big"] >= 1, rise
    assert largest_at(net, "b") <= MTU


def tracepath(net, *args):
    return net.host["a"].run("tracepath", "-6", "-n", "-m", "4", *args, host_addr("b")).stdout


def test_tracepath(smaller):
    """It tells the MTU of the path, and who said so: whoever would have sent it to the second hop."""
    out, rise = smaller.counted(lambda: tracepath(smaller))
    assert re.search(r"^ *2: +%s .*pmtu %d$" % (router_addr("a"), MTU), out, re.M), out
    assert re.search(r"Resume: pmtu %d hops 2 back 2" % MTU, out), out
    assert rise["answer_too_big"] == 1, rise


def test_tracepath_without(make_net):
    """What it says of a path that is the same all along."""
    out, rise = (net := make_net()).counted(lambda: tracepath(net))
    assert "Resume: pmtu 1500 hops 2 back 2" in out, out
    assert "answer_too_big" not in rise, rise


def test_both_ways(make_net):
    """To a from b there is another MTU than to b from a; and each end is behind a route."""
    net = make_net()
    net.router.sixlane("exception add", host_addr("a"), "mtu 1280")
    net.router.sixlane("exception add", host_addr("b"), "mtu", MTU)
    serve(net, SERVE_UDP)
    # The answers are short: only the way there is measured by them.
    assert send(net, SEND_UDP, host_addr("b"), 2, 1400)["size"] == MTU - 48
    out = net.host["b"].run("tracepath", "-6", "-n", "-m", "4", host_addr("a")).stdout
    assert "Resume: pmtu 1280 hops 2" in out, out


def test_generic_mode(make_net):
    """What generic XDP gets may have been merged of packets that fit, and the kernel can tell.

    The sender's device is one that takes super-packets, as those are that a NIC merges.
    """
    net = make_net(attach="ip-generic")
    net.host["a"].run("ethtool", "-K", "h0", "tx", "on", "tso", "on", "gso", "on")
    ex.learn(net, MTU, host_addr("b"))
    ex.wait_shown(net, host_addr("b"), mtu=MTU)
    serve(net, SERVE_TCP)
    net.clear()
    result, _ = net.counted(lambda: send(net, SEND_TCP, host_addr("b"), BYTES))
    assert result == {"received": BYTES, "mtu": MTU}
    # The first flight of some, and not one for each super-packet from then on.
    answers = [frame for frame in net.tap["a"].drain() if fr.icmp_type(frame) == 2]
    assert 1 <= len(answers) < BYTES / 65536, len(answers)


def test_through_a_gateway(make_net):
    """The far host is behind b, which has told the router of its smaller link."""
    net = make_net()
    b = net.host["b"]
    far = net.lab.ns("far")
    net.lab.link(b, "down", far, "h0")
    b.addr("down", "2001:db8:f00::ff/64")
    b.ip("link set dev down mtu", MTU)
    far.addr("h0", FAR + "/64")
    far.route("add default via 2001:db8:f00::ff")
    b.sysctl("net.ipv6.conf.all.forwarding", 1)
    net.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    # The router itself asks for more than fits: only then does b tell it.
    net.r.run("ping", "-n", "-c", "1", "-W", "5", "-M", "do", "-s", "1400", FAR, check=False)
    ex.wait_shown(net, FAR, mtu=MTU, origin="kernel")
    server = far.popen(PYTHON, "-c", SERVE_TCP, stdout=-1, text=True)
    assert server.stdout.readline() == "up\n"
    result, rise = net.counted(lambda: send(net, SEND_TCP, FAR, BYTES))
    assert result == {"received": BYTES, "mtu": MTU}
    assert rise["answer_too_big"] >= 1 and rise["forward"] > 1000, rise
    assert wait_until(lambda: ex.shown(net)[FAR]["hits"] > 1000, 5)
