# SPDX-License-Identifier: GPL-2.0-only
"""Real hosts behind a router that knows of a smaller MTU: they learn it and get everything across.

The hosts are whole Linux stacks; nothing but their own sockets speaks.
"""

import json
import re

import exceptions as ex
import frames as fr
import pytest
from topology import FAR, PREFIX, host_addr, host_ll, router_addr

MTU = 1300
BYTES = 3000000
SERVE = """
import socket
server = socket.create_server(("::", 7000), family=socket.AF_INET6)
print("up", flush=True)
peer, _ = server.accept()
total = 0
while data := peer.recv(65536):
    total += len(data)
peer.sendall(b"%d" % total)
"""
SEND = """
import json, socket, sys
peer = socket.create_connection((sys.argv[1], 7000), 30)
peer.sendall(b"x" * int(sys.argv[2]))
peer.shutdown(socket.SHUT_WR)
print(json.dumps({"received": int(peer.recv(100)), "mtu": peer.getsockopt(41, 24)}))
"""
PYTHON = "/usr/bin/python3"


def send(net, server, dst):
    """So many bytes by TCP from host a, which learns how large its packets may be."""
    served = server.popen(PYTHON, "-c", SERVE, stdout=-1, text=True)
    assert served.stdout.readline() == "up\n"
    net.clear()
    done = net.host["a"].run(PYTHON, "-c", SEND, dst, BYTES, timeout=100)
    assert json.loads(done.stdout) == {"received": BYTES, "mtu": MTU}


@pytest.mark.parametrize("origin", ["operator", "kernel"])
def test_a_neighbour(idle, origin):
    """By TCP; and tracepath tells the MTU, and who said so: whoever would have sent it to the second
    hop."""
    net, dst = idle, host_addr("b")
    ex.prepare(net)
    net.start()
    if origin == "operator":
        ex.exception(net, "add", dst, "mtu", MTU)
    else:
        ex.learn(net, MTU, dst)
    ex.wait_shown(net, dst, mtu=MTU, origin=origin)
    _, rise = net.counted(lambda: send(net, net.host["b"], dst))
    assert rise["answer_too_big"] >= 1 and rise["forward"] >= BYTES / MTU, rise
    assert "pass_too_big" not in rise, rise
    net.host["a"].ip("route flush cache")
    out = net.host["a"].run("tracepath", "-6", "-n", "-m", "4", dst).stdout
    assert re.search(r"^ *2: +%s .*pmtu %d$" % (router_addr("a"), MTU), out, re.M), out
    assert re.search(r"Resume: pmtu %d hops 2 back 2" % MTU, out), out


def test_behind_a_gateway_that_tells(idle):
    """The far host is behind b, which has told the router of its smaller link."""
    net, b = idle, idle.host["b"]
    ex.prepare(net)
    net.start()
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
    _, rise = net.counted(lambda: send(net, far, FAR))
    assert rise["answer_too_big"] >= 1 and rise["forward"] > 1000, rise


def test_generic_mode(idle):
    """What generic XDP gets may have been merged of packets that fit, and the kernel can tell.

    The sender's device is one that takes super-packets, as those are that a NIC merges.
    """
    net, dst = idle, host_addr("b")
    ex.prepare(net)
    net.start(attach="ip-generic")
    net.host["a"].run("ethtool", "-K", "h0", "tx", "on", "tso", "on", "gso", "on")
    ex.learn(net, MTU, dst)
    ex.wait_shown(net, dst, mtu=MTU)
    send(net, net.host["b"], dst)
    # The first flight of some, and not one for each super-packet from then on.
    answers = [frame for frame in net.tap["a"].drain() if fr.icmp_type(frame) == 2]
    assert 1 <= len(answers) < BYTES / 65536, len(answers)
