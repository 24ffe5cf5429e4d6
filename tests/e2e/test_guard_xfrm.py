# SPDX-License-Identifier: GPL-2.0-only
"""IPsec policies: what the kernel does with a packet, and what the guard's reader says of it.

The reader must hold back what the kernel does not forward in the clear.
"""

import json
import os
import socket
import struct
import subprocess

import frames as fr
import pytest
import raw_netlink
from conftest import tear_down
from lab import BUILD, wait_until
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, Net, host_addr, router_addr
from xfrm_rows import NETS, ROWS, A, policy, undo

XFRM_DUMP = os.path.join(BUILD, "xfrm_dump")
NETLINK_XFRM = 6
# Routing, fragment, ICMPv6, destination options: next headers of what may be an ICMPv6 error.
MAY_BE_ICMP = {43, 44, 58, 60}
RELEASE = tuple(int(word) for word in os.uname().release.split("-")[0].split(".")[:2])


@pytest.fixture(scope="module")
def shared():
    """The kernel alone, for all rows: each is undone."""
    net = Net()
    yield net
    tear_down([net])


@pytest.fixture
def router(shared):
    yield shared
    undo(shared.r)


def xfrm(net, row):
    for command in row.commands:
        done = net.r.run("ip", "xfrm", *command.split(), check=not row.needs)
        if done.returncode:
            pytest.skip("this kernel lacks %s: %s" % (row.needs, done.stderr.strip()))


def reads(net, src="::1", dst="::1"):
    with net.r.entered():
        out = subprocess.run([XFRM_DUMP, src, dst], stdin=subprocess.DEVNULL, text=True,
                             capture_output=True, check=True, timeout=30).stdout  # fmt: skip
    return json.loads(out)


def holds(net, frame):
    """Why the reader would hold back the frame, or ""."""
    src, dst = (socket.inet_ntop(socket.AF_INET6, frame[at : at + 16]) for at in (22, 38))
    said = reads(net, src, dst)
    icmp = said["icmp_errors"] if frame[fr.ETH_LEN + 6] in MAY_BE_ICMP else ""
    return said["all"] or said["held"] or icmp


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(router, row):
    xfrm(router, row)
    clear = row.clear or RELEASE < row.since
    wanted = fr.forwarded(row.packet, HOST_MAC["b"], PORT_MAC["b"])
    got = router.exchange([row.packet])
    held = holds(router, row.packet)
    assert (wanted in got["b"]) == clear, {h: fr.show(f) for h, f in got.items()}
    assert bool(held) == row.held, held
    assert held or clear


def test_policies_of_answers(router):
    """What the router itself says meets policies of direction out, too."""
    router.r.ip("route replace", PREFIX, "via", host_addr("b"), "mtu lock 1280")
    frame = fr.udp(FAR, size=1400)
    answers = router.exchange([frame])["a"]
    assert [fr.icmp_error(answer)[:3] for answer in answers] == [(2, 0, 1280)]
    words = "dir out action block"
    router.r.run("ip", "xfrm", *policy(words, "src %s dst %s" % (router_addr("a"), A)).split())
    assert router.exchange([frame])["a"] == []
    assert holds(router, frame) == ""
    assert reads(router, router_addr("a"), A)["held"]


def add_any(net, family):
    """Block all that leaves, by a policy for that family; the kernel's error, or 0."""
    XFRM_MSG_NEWPOLICY, XFRM_POLICY_OUT, XFRM_POLICY_BLOCK = 0x13, 1, 1
    selector = struct.pack("=40xH14x", family)
    lifetimes = struct.pack("=32s32x32x", b"\xff" * 32)
    ends = struct.pack("=IIBBBB4x", 0, 0, XFRM_POLICY_OUT, XFRM_POLICY_BLOCK, 0, 0)
    body = selector + lifetimes + ends
    netlink = net.r.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_XFRM)
    flags = raw_netlink.NLM_F_REQUEST | raw_netlink.NLM_F_ACK
    size = raw_netlink.HEADER.size
    netlink.send(raw_netlink.HEADER.pack(size + len(body), XFRM_MSG_NEWPOLICY, flags, 1, 0) + body)
    return -struct.unpack_from("=i", netlink.recv(4096), size)[0]


def test_policy_of_any_family(router):
    """The kernel takes none; if it did one day, it would count for every address."""
    if add_any(router, socket.AF_UNSPEC) == 0:
        assert reads(router)["held"]
    else:
        assert reads(router)["policies"] == 0
    assert add_any(router, socket.AF_INET6) == 0
    assert reads(router)["held"].startswith("policy out ::/0 to ::/0")


class Follower:
    """What the reader says anew, line by line."""

    def __init__(self, net):
        self.process = net.r.popen(XFRM_DUMP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.said = {}

    def wait(self, **wanted):
        def right():
            for line in self.process.stdout:
                self.said = json.loads(line)
            return all(self.said.get(key) == value for key, value in wanted.items())

        wait_until(right, 10, lambda: "%s: %s" % (wanted, self.said))


def test_changes_are_told(router):
    follower = Follower(router)
    follower.wait(policies=0, all="")
    router.r.run("ip", "xfrm", *policy("dir out action block").split())
    follower.wait(policies=1)
    router.r.run("ip", "xfrm", "policy", "update", *NETS.split(), "dir", "out", "action", "allow")
    follower.wait(policies=0)
    router.r.run("ip", "xfrm", *policy("dir fwd action block").split())
    follower.wait(policies=1)
    router.r.run("ip", "xfrm", "policy", "delete", *NETS.split(), "dir", "fwd")
    follower.wait(policies=0)
    router.r.run("ip", "xfrm", *policy("dir fwd action block").split())
    follower.wait(policies=1)
    router.r.run("ip", "xfrm", "policy", "flush")
    follower.wait(policies=0)
    router.r.run("ip", "xfrm", "policy", "setdefault", "out", "block")
    follower.wait(all="the default action of out policies is block")
    router.r.run("ip", "xfrm", "policy", "setdefault", "out", "accept")
    follower.wait(all="")
    # A timer removes this one.
    router.r.run("ip", "xfrm", *policy("dir out action block limit time-hard 2").split())
    follower.wait(policies=1)
    follower.wait(policies=0)


def test_many_policies(router):
    """A dump of many datagrams is read whole; too many policies hold everything back."""
    lines = [
        "xfrm policy add src 2001:db8:%x::/48 dst ::/0 dir out action block" % i
        for i in range(1, 2001)
    ]
    router.r.batch(lines)
    said = reads(router, "2001:db8:7d0::1", "2001:db8:b::2")
    assert (said["policies"], said["entries"], said["all"]) == (2000, 2001, "")
    assert said["held"].startswith("policy out 2001:db8:7d0::/48 to ::/0")
    assert reads(router, "2001:db8:7d1::1", "2001:db8:b::2")["held"] == ""
