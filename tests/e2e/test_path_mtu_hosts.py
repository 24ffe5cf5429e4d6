# SPDX-License-Identifier: GPL-2.0-only
"""Real hosts behind a router that knows of a smaller MTU: they learn it and get everything across.

The hosts are whole Linux stacks; nothing but their own sockets speaks. The far one is behind host b,
which has a smaller link there.
"""

import re

import exceptions as ex
import pytest
import tcp
from topology import FAR, PREFIX, host_ll, router_addr

MTU = 1300
BYTES = 3000000


@pytest.fixture
def far(idle):
    b, far = idle.host["b"], idle.lab.ns("far")
    idle.lab.link(b, "down", far, "h0")
    b.addr("down", "2001:db8:f00::ff/64")
    b.ip("link set dev down mtu", MTU)
    far.addr("h0", FAR + "/64")
    far.route("add default via 2001:db8:f00::ff")
    b.sysctl("net.ipv6.conf.all.forwarding", 1)
    return far


@pytest.mark.parametrize("origin", ["operator", "kernel"])
def test_tcp_and_tracepath(idle, far, origin):
    net, a = idle, idle.host["a"]
    ex.prepare(net, "%s via %s dev p1" % (PREFIX, host_ll("b")))
    net.start()
    if origin == "operator":
        ex.exception(net, "add", FAR, "mtu", MTU)
    else:
        # The router itself asks for more than fits: only then does b tell it.
        net.r.run("ping", "-n", "-c", "1", "-W", "5", "-M", "do", "-s", "1400", FAR, check=False)
    ex.wait_shown(net, FAR, mtu=MTU, origin=origin)
    tcp.listen(far)
    net.clear()
    done, rise = net.counted(lambda: tcp.send(a, FAR, BYTES))
    assert done == {"received": BYTES, "mtu": MTU}
    assert rise["answer_too_big"] >= 1 and rise["forward"] >= BYTES / MTU, rise
    assert "pass_too_big" not in rise, rise
    # It tells the MTU, and who said so: whoever would have sent it to the second hop.
    a.ip("route flush cache")
    out = a.run("tracepath", "-6", "-n", "-m", "4", FAR).stdout
    assert re.search(r"^ *2: +%s .*pmtu %d$" % (router_addr("a"), MTU), out, re.M), out
    assert re.search(r"Resume: pmtu %d hops 3 back 3" % MTU, out), out
