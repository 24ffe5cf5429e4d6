# SPDX-License-Identifier: GPL-2.0-only
"""The daemon keeps up: while the tables never rest, and with what is announced by halves."""

import threading

import frames as fr
from lab import wait_until
from tables import differences
from topology import FAR, PREFIX, Net, host_addr


class Churn:
    """Routes that come and go, as fast as `ip -batch` makes them, until stopped."""

    def __init__(self, ns):
        self.ns, self.ended = ns, threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        while not self.ended.is_set():
            for verb in ("add", "delete"):
                self.ns.batch(
                    "route %s 2001:db8:c%03x::/48 via %s" % (verb, i, host_addr("b"))
                    for i in range(200)
                )

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_exc):
        self.ended.set()
        self.thread.join()


def test_in_sync_though_routes_never_rest(make):
    net = make(Net)
    net.r.batch(
        "route add 2001:db8:%x::/48 via %s" % (0x1000 + i, host_addr("bc"[i % 2]))
        for i in range(8000)
    )
    net.router.attach("ip")
    with Churn(net.r):
        net.router.start(timeout=20)
        net.assert_forwarded([fr.udp("2001:db8:1001::1")], to="c")
    net.router.barrier()
    wait_until(lambda: net.router.status()["in_sync"], 20, "in sync after the churn")
    assert differences(net.r, net.router) == []


def test_one_hop_of_a_set_goes_without_a_dump(net):
    generation = net.router.status()["generation"]
    net.r.ip(
        "route add", PREFIX, "nexthop via", host_addr("b"), "dev p1 nexthop via", host_addr("c"),
        "dev p2",
    )
    net.router.barrier()
    assert len(net.router.lookup(FAR)["group"]) == 2
    net.r.ip("route delete", PREFIX, "via", host_addr("b"), "dev p1")
    net.router.barrier()
    net.assert_forwarded([fr.udp(FAR)], to="c")
    assert net.router.status()["generation"] == generation


def test_what_a_new_device_takes_is_known(net):
    """The kernel tells a tap's XDP features before the device itself, and by another socket."""
    taps = ["x%d" % i for i in range(40)]
    for tap in taps:
        net.r.ip("tuntap add dev", tap, "mode tap")
    net.router.sixlane("attach", *taps)

    def lacking():
        flags = {port["name"]: port["flags"] for port in net.router.status()["ports"]}
        return [tap for tap in taps if "ndo_xmit" not in flags.get(tap, [])]

    wait_until(lambda: not lacking(), 5, lambda: "xmit seen, but not on %s" % lacking())


def test_a_port_that_is_to_pass_does_so_under_a_new_name(make):
    net = make(Net).start("--pass-port", "p0")
    frame = [fr.udp(host_addr("b"))]
    net.assert_kernel_forwards(frame, "pass_port")
    for names in (("p0", "lan0"), ("lan0", "p0")):
        net.rename_or_skip(*names)
        wait_until(
            lambda name=names[1]: net.router.port_status(name)
            and "ingress" in net.router.port_status(name)["flags"],
            5,
            "the new name served",
        )
        net.router.barrier()
        net.assert_kernel_forwards(frame, "pass_port")


def test_a_configured_port_that_comes_back(make):
    net = make(Net)
    net.router.start(ports=["p0", "p1", "p2", "--poll-ms=50"])
    back = net.lab.ns("back")
    net.r.ip("link delete dev p2")
    wait_until(lambda: not net.router.port_status("p2"), 5, "p2 gone")
    wait_until(lambda: "p2: the device was removed; sixlaned attaches again" in net.router.log(), 5)
    net.lab.link(net.r, "p2", back, "h0")
    wait_until(
        lambda: (net.router.port_status("p2") or {}).get("program") == "sixlane",
        5,
        lambda: "p2 attached again: %s\n%s" % (net.router.port_status("p2"), net.router.log()),
    )
    wait_until(lambda: "the device appeared; attached" in net.router.log(), 5, net.router.log)


def test_a_port_that_is_gone(net):
    """As by a driver that is unbound: it is to be attached anew, and the daemon says so."""
    net.r.ip("link delete dev p2")
    wait_until(lambda: "'sixlane attach p2' when it reappears" in net.router.log(), 5, net.router.log)
    assert "p2: the device was removed" in net.router.log()
    net.lab.link(net.r, "p2", net.lab.ns("back"), "h0")
    net.router.sixlane("attach p2")
    wait_until(
        lambda: "ingress" in (net.router.port_status("p2") or {}).get("flags", []),
        5,
        lambda: "p2 served again: " + net.router.log(),
    )


def test_a_port_that_moves_away(net):
    net.r.ip("link set dev p2 netns", net.lab.ns("far").name)
    wait_until(lambda: "p2: the device moved to another network namespace" in net.router.log(), 5)
