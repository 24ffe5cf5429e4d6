# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench generator: frames of its source "xdp", counted at the other end of a veth or of a
router, and what it refuses. With pktgen, and NICs to send by: tests/vm/test_nic_generator.py.
"""

import ipaddress
import os
import signal

import pytest
from generator_agent import TCP, UDP, Generator, GeneratorError, packets_of
from lab import SIXLANE, Lab, wait_until
from tap import Tap

SRC = "2001:db8:ffff::1"
NETWORKS = [ipaddress.ip_network("2001:db8:%x::/48" % i) for i in range(64)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A generator's namespace with a wire from g0 to s0, and g1 to s1 with a router in between."""
    with Lab() as lab:
        lab.gen, lab.dut = lab.ns("gen"), lab.ns("dut")
        lab.link(lab.gen, "g0", lab.gen, "s0")
        lab.link(lab.gen, "g1", lab.dut, "d1")
        lab.link(lab.dut, "d2", lab.gen, "s1")
        for dev in ("g0", "s0", "g1", "s1"):
            lab.gen.ip("link set", dev, "up")
        lab.dut.addr("d1", "2001:db8:ffff::ffff/64")
        # a veth takes redirected frames only with GRO, or XDP, at its other end
        lab.gen.offload_as_host("s0")
        lab.dut.offload_as_host("d1")
        lab.dut.addr("d2", "2001:db8:eeee::1/64")
        lab.dut.sysctl("net.ipv6.conf.all.forwarding", 1)
        far = "2001:db8:eeee::2"
        lab.dut.ip("neigh replace", far, "lladdr", lab.gen.mac("s1"), "dev d2 nud permanent")
        lab.dut.route("add 2001:db8::/32 via", far)
        lab.gen.ip("link add br0 type bridge")
        lab.table = tmp_path_factory.mktemp("generator") / "table.txt"
        lab.table.write_text("".join("%s\n" % network for network in NETWORKS))
        yield lab
    assert lab.leftovers() == []


def request(world, dst="s0", **fields):
    """Slowly enough for the ring of a veth."""
    ns = world.dut if dst.startswith("d") else world.gen
    wanted = {"do": "run", "src": SRC, "prefixes": str(world.table), "pattern": "random", "hops": 0, "seconds": 0.1,
              "frame_bytes": 128, "rate_pps": 5000, "dst_macs": [ns.mac(dst)], **fields}  # fmt: skip
    return {key: value for key, value in wanted.items() if value is not None}


def run(world, generator, *dst, **fields):
    return generator.ask(**request(world, *dst, **fields))


def xdp(world, tx, rx=()):
    return Generator(tx, rx, world.gen, "xdp")


@pytest.mark.parametrize("words, code, said", [
    ("--source xdp --tx p9", 1, "p9 is no Ethernet device"), ("--source xdp --tx lo", 1, "lo is no Ethernet device"),
    ("", 2, "needs --tx"), ("--source zipf --tx g0", 2, "zipf"), ("--source xdp --tx br0", 1, "to br0"),
    ("--source trex", 2, "needs --trex"), ("--tx g0 --rx s0", 1, "modprobe pktgen"),
])  # fmt: skip
def test_refused(world, words, code, said):
    if "pktgen" in said and os.path.exists("/proc/net/pktgen"):
        pytest.skip("pktgen is loaded here")
    done = world.gen.run(SIXLANE, "bench", "generator", *words.split(), check=False, stdin="")
    assert done.returncode == code and not done.stdout and said in done.stderr, done
    assert "xdp" not in world.gen.run("ip", "link", "show").stdout


@pytest.mark.parametrize("pattern, size, protocol", [("random", 66, UDP), ("syn", 78, TCP), ("flow", 128, UDP)])
def test_what_leaves(world, pattern, size, protocol):
    """The frames that a tap at s0 sees. Each SYN is from another host. Bytes: tests/bench/test_packets.py."""
    tap = Tap(world.gen, "s0")
    with xdp(world, ["g0"]) as generator:
        done = run(world, generator, pattern=pattern, frame_bytes=size)
    n, is_flow = done["sent"], pattern == "flow"
    assert n > 1 and done["received"] is None and done["errors"] == []
    tap.wait(lambda frames: len(packets_of(frames, protocol)) == n)
    packets = packets_of(tap.frames, protocol)
    assert {(packet.macs, packet.hop_limit, len(packet.frame), packet.ports[1]) for packet in packets} == {
        ((world.gen.mac("s0"), world.gen.mac("g0")), 64, size - 4, {UDP: 9, TCP: 80}[protocol])}  # fmt: skip
    network = ipaddress.ip_network(SRC + "/64", strict=False)
    assert len({packet.src for packet in packets if packet.src in network}) == (n if pattern == "syn" else 1)
    assert len({packet.dst for packet in packets}) == (1 if is_flow else n)
    assert (len({packet.ports[0] for packet in packets}) == 1) == is_flow
    hits = [network for packet in packets for network in NETWORKS if packet.dst in network]
    assert len(hits) == n and (len(set(hits)) > min(n, 64) / 2) != is_flow


@pytest.mark.parametrize("pattern", ["random", "syn"])
def test_by_a_router(world, pattern):
    """Frames, and beside them those with timestamps. What does not arrive is no error of the generator."""
    with xdp(world, ["g1"], ["s1"]) as generator:
        done = run(world, generator, "d1", pattern=pattern, hops=1)
        assert done["sent"] == done["received"] > 0 and done["errors"] == [] and done["latency_ns"] is None
        done = run(world, generator, "d1", pattern=pattern, hops=1, seconds=0.2, latency=True)
        latency = done["latency_ns"]
        assert done["sent"] == done["received"] > 0 and latency["n"] == latency["sent"] > 0
        assert 0 < latency["p50"] <= latency["p99"] <= latency["max"] < 60e9
        world.dut.route("add blackhole 2001:db8::/33")
        done = run(world, generator, "d1", pattern=pattern, hops=1, latency=True)
        world.dut.route("del blackhole 2001:db8::/33")
        assert done["sent"] > 0 and done["received"] == 0 and done["errors"] == []
        assert done["latency_ns"].pop("sent") > 0 and done["latency_ns"] == {"n": 0}


def test_two_ports(world):
    """Each sends half, of which one's is by a wire without a router between."""
    macs = [world.gen.mac("s0"), world.dut.mac("d1")]
    with xdp(world, ["g0", "g1"], ["s0", "s1"]) as generator:
        done = run(world, generator, dst_macs=macs, hops=1)
    (error,) = done["errors"]
    assert error.endswith(" frames arrived with another hop limit than 63")
    assert 0 < int(error.split()[0]) < done["sent"] == done["received"]


def test_how_long(world):
    """Never more frames than the rate allows. Fewer, or none near the end, if others have the CPUs."""
    with xdp(world, ["g0"], ["s0"]) as generator:
        def lasts():
            done = run(world, generator, seconds=0.2, rate_pps=1000)
            assert 0 < done["sent"] == done["received"] <= 200 + os.cpu_count()
            return done["elapsed_ns"] > 0.19e9

        wait_until(lasts, 60)


def received(world):
    return world.gen.ipj("-s link show s0")[0]["stats64"]["rx"]["packets"]


def test_ends(world):
    """A further line, a signal or the end of the input ends a run. Until then the sink also gets frames for another
    MAC, even if its NIC has a filter."""
    before = world.gen.link("s0")["promiscuity"]
    endless = request(world, seconds=3600, rate_pps=1000)
    with xdp(world, ["g0"], ["s0"]) as generator:
        done = run(world, generator, dst_macs=["02:00:00:00:00:77"])
        assert done["received"] == done["sent"] > 0 and world.gen.link("s0")["promiscuity"] == before + 1
        generator.tell(**{**endless, "seconds": 0})
        generator.tell(do="stop")
        assert "sent" in generator.answer() and generator.answer() == {}
        arrived = received(world)
        generator.tell(**endless)
        wait_until(lambda: received(world) > arrived)  # a request that has not begun is not answered
        generator.process.send_signal(signal.SIGINT)
        assert "sent" in generator.answer() and generator.quit() == 130
    with xdp(world, ["g0"], ["s0"]) as generator:
        generator.tell(**endless)
        generator.process.stdin.close()
        assert generator.process.wait() == 0
    assert "xdp" not in world.gen.run("ip", "link", "show").stdout and world.gen.link("s0")["promiscuity"] == before


@pytest.fixture(scope="module")
def asked(world):
    with xdp(world, ["g0"], ["s0"]) as generator:
        yield generator
        # it is none the worse for it
        assert run(world, generator)["received"] > 0
        done = world.gen.run(SIXLANE, "bench", "generator", "--source", "xdp", "--tx", "g1", "--rx", "s0", check=False)
        assert "already has an XDP program" in done.stderr


@pytest.mark.parametrize("fields, said", [
    ({"frame_bytes": 65}, "frame_bytes"), ({"pattern": "syn", "frame_bytes": 77}, "frame_bytes"),
    ({"pattern": "zipf"}, "pattern"), ({"frame_bytes": 1519}, "64 to 1518"),
    ({"src": "x"}, "'x'"), ({"src": None}, "'src'"), ({"dst_macs": []}, "dst_macs"), ({"dst_macs": ["x"]}, "hex"),
    ({"prefixes": "/none"}, "No such file"), ({"do": "fly"}, "fly"), ({"hops": 99}, "range"), ({"speed": 9}, "'speed'"),
])  # fmt: skip
def test_bad_requests(world, asked, fields, said):
    with pytest.raises(GeneratorError, match=said):
        run(world, asked, **fields)


def test_no_request(asked):
    for line, said in (("{", "JSONDecodeError"), ("[]", "TypeError")):
        asked.process.stdin.write(line + "\n")
        with pytest.raises(GeneratorError, match=said):
            asked.answer()
