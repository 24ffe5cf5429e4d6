# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench generator: frames of its source "xdp", counted at the other end of a veth or of a
router, and what it refuses. With pktgen, and NICs to send by: tests/vm/test_nic_generator.py.
"""

import collections
import ipaddress
import os
import signal

import pytest
from generator import TCP, UDP, Generator, GeneratorError, packets_of
from lab import SIXLANE, Lab, wait_until
from tap import Tap

SRC = "2001:db8:ffff::1"
HEADER_BYTES = {UDP: 8, TCP: 20}
NETWORKS = [ipaddress.ip_network("2001:db8:%x::/48" % i) for i in range(64)]
no_pktgen = pytest.mark.skipif(os.path.exists("/proc/net/pktgen"), reason="pktgen is loaded here")


def refuse(ns, *argv, code=1):
    done = ns.run(SIXLANE, "bench", "generator", *argv, check=False, stdin="")
    assert done.returncode == code and not done.stdout, done
    return done.stderr


@no_pktgen
def test_no_pktgen(bystander):
    said = refuse(bystander.r, "--tx", "p0", "--rx", "p1")
    assert "modprobe pktgen" in said and "CONFIG_NET_PKTGEN" in said and "tests/vm/vm.py" in said
    assert "xdp" not in bystander.r.run("ip", "link", "show", "dev", "p1").stdout


def test_bad_devices(bystander):
    r = bystander.r
    assert "no device" in refuse(r, "--tx", "p9")
    assert "no device" in refuse(r, "--tx", "p0,")
    assert "no device" in refuse(r, "--tx", "p0", "--rx", "a-name-longer-than-any")
    assert "not an Ethernet device" in refuse(r, "--tx", "lo")
    assert "named twice" in refuse(r, "--tx", "p0,p1,p0")
    assert "too many" in refuse(r, "--tx", "p0," * 200)


def test_bad_options(bystander):
    r = bystander.r
    assert "--tx" in refuse(r, code=2)
    assert "unknown" in refuse(r, "--speed", "1", code=2)
    assert "unexpected argument" in refuse(r, "--tx", "p0", "p1", code=2)
    assert "network namespace nowhere" in refuse(r, "--tx", "p0", "--netns", "nowhere")


def test_netns(bystander):
    """Devices are those of the namespace that was named."""
    r, host = bystander.r, bystander.host["a"]
    assert "no device" in refuse(r, "--tx", "h0")
    for netns in (host.path, host.name):
        assert "no device" in refuse(r, "--tx", "p0", "--netns", netns)


# --- frames of XDP --------------------------------------------------------------------------


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
        path = tmp_path_factory.mktemp("generator") / "table.txt"
        path.write_text("".join("%s\n" % network for network in NETWORKS))
        lab.table = str(path)
        yield lab
    assert lab.leftovers() == []


def run(world, generator, dst="s0", **fields):
    """Slowly enough for the ring of a veth."""
    ns = world.dut if dst.startswith("d") else world.gen
    request = dict(do="run", src=SRC, prefixes=world.table, pattern="random", hops=0, count=500,
                   rate_pps=5000, dst_macs=[ns.mac(dst)])  # fmt: skip
    request.update(fields)
    return generator.ask(**request)


def xdp(world, tx, rx=()):
    return Generator(tx, rx, world.gen, "xdp")


def received(world, protocol, **fields):
    """What a tap at s0 sees of it."""
    tap = Tap(world.gen, "s0")
    with xdp(world, ["g0"]) as generator:
        done = run(world, generator, **fields)
    assert done["sent"] == 500 and done["received"] is None and done["errors"] == []

    def ours():
        return packets_of(tap.drain(), protocol)

    wait_until(lambda: len(ours()) == 500, what=lambda: len(ours()))
    macs = world.gen.mac("g0"), world.gen.mac("s0")
    for packet in ours():
        packet.assert_whole()
        assert (packet.src_mac, packet.dst_mac) == macs
        assert packet.hop_limit == 64 and not any(packet.frame[54 + HEADER_BYTES[protocol] :])
    return ours()


def networks_of(packets):
    return [network for packet in packets for network in NETWORKS if packet.dst in network]


@pytest.mark.parametrize("size", [66, 67, 128, 1518])
def test_udp(world, size):
    packets = received(world, UDP, frame_bytes=size)
    assert {len(packet.frame) for packet in packets} == {size - 4}
    assert {str(packet.src) for packet in packets} == {SRC}
    assert {packet.ports[1] for packet in packets} == {9}
    assert len({packet.ports[0] for packet in packets}) > 400
    assert len({packet.dst for packet in packets}) == 500
    hits = collections.Counter(networks_of(packets))
    assert sum(hits.values()) == 500 and len(hits) > 48


def test_syn(world):
    """Each from another host and port, as a flood is."""
    packets = received(world, TCP, pattern="syn", frame_bytes=78)
    assert {packet.frame[66:68] for packet in packets} == {b"\x50\x02"}  # five words, SYN
    sources = {packet.src for packet in packets}
    assert len(sources) == 500
    assert all(src in ipaddress.ip_network(SRC + "/64", strict=False) for src in sources)
    assert len({packet.ports[0] for packet in packets}) > 400
    assert len(networks_of(packets)) == 500


def test_flow(world):
    packets = received(world, UDP, pattern="flow")
    assert len({(packet.dst, packet.ports) for packet in packets}) == 1


def test_miss(world):
    assert not networks_of(received(world, UDP, pattern="miss"))


@pytest.mark.parametrize("pattern", ["random", "syn"])
def test_by_a_router(world, pattern):
    with xdp(world, ["g1"], ["s1"]) as generator:
        done = run(world, generator, "d1", pattern=pattern, hops=1, frame_bytes=128)
        assert done["sent"] == done["received"] == 500 and done["errors"] == []
        port = done["per_port"]["rx"][0]
        assert port["bytes"] == 500 * 124 and port["wrong_hop_limit"] == 0
        # what does not arrive is no error of the generator
        world.dut.route("add blackhole 2001:db8::/33")
        done = run(world, generator, "d1", pattern=pattern, hops=1, count=100)
        world.dut.route("del blackhole 2001:db8::/33")
        assert done["sent"] == 100 and done["received"] == 0 and done["errors"] == []


def test_two_ports(world):
    """Any count is divided exactly."""
    macs = [world.gen.mac("s0"), world.dut.mac("d1")]
    with xdp(world, ["g0", "g1"], ["s0", "s1"]) as generator:
        done = run(world, generator, dst_macs=macs, count=301, hops=1)
        assert done["sent"] == done["received"] == 301
        sent = [port["sent"] for port in done["per_port"]["tx"]]
        assert sent == [port["received"] for port in done["per_port"]["rx"]] and min(sent) >= 150
        # the wire without a router between
        assert done["errors"] == ["%d frames arrived with another hop limit than 63" % sent[0]]


def test_latency(world):
    with xdp(world, ["g1"], ["s1"]) as generator:
        done = run(world, generator, "d1", hops=1, count=0, seconds=0.2, latency=True)
    latency = done["latency_ns"]
    assert done["sent"] == done["received"] > 0 and latency["n"] == latency["sent"] > 0
    assert 0 < latency["min"] <= latency["p50"] <= latency["p99"] <= latency["max"]


def test_how_long(world):
    """From the first frame on, however long it took until then; or a count, of which not all CPUs have any."""
    with xdp(world, ["g0"], ["s0"]) as generator:
        # Never more frames than the rate allows. Fewer, or none near the end, if others have the CPUs.
        def lasts():
            done = run(world, generator, count=0, seconds=0.2, rate_pps=1000)
            assert 0 < done["sent"] == done["received"] <= 200 + os.cpu_count()
            return done["elapsed_ns"] > 0.19e9

        wait_until(lasts, 60)
        done = run(world, generator, count=1)
        assert done["sent"] == done["received"] == 1
        with pytest.raises(GeneratorError, match="either"):
            run(world, generator, seconds=1)


def test_fractions_of_a_frame(world):
    """Are not rounded away: with two CPUs 2.6 a second are not 2. One CPU sends two frames, the others one."""
    cpus = os.cpu_count()
    with xdp(world, ["g0"], ["s0"]) as generator:
        # At one frame a second it would never be as short.
        def is_exact():
            done = run(world, generator, count=cpus + 1, rate_pps=1.3 * cpus)
            assert done["sent"] == cpus + 1
            return done["elapsed_ns"] < 0.95e9

        wait_until(is_exact, 60)


def test_beside_another_one(world):
    """What another namespace's device of the same number does not take is no loss of this generator."""
    with Lab() as lab:
        other = lab.ns("other")
        other.ip("link add g0 index", world.gen.link("g0")["ifindex"], "type veth peer name s0")
        for dev in ("g0", "s0"):
            other.ip("link set", dev, "up")
            other.run("ethtool", "-K", dev, "gro", "off")
        with xdp(world, ["g0"], ["s0"]) as generator, Generator(["g0"], (), other, "xdp") as refused:
            generator.tell(do="run", src=SRC, prefixes=world.table, pattern="random", hops=0, seconds=3600,
                           rate_pps=1000, dst_macs=[world.gen.mac("s0")])  # fmt: skip
            for _ in range(3):
                with pytest.raises(GeneratorError, match="g0 takes no"):
                    refused.ask(do="run", src=SRC, prefixes=world.table, pattern="random", hops=0,
                                count=500, dst_macs=[other.mac("s0")])  # fmt: skip
            generator.tell(do="stop")
            done = generator.answer()
            assert done["sent"] == done["received"] > 0 and done["note"] is None and done["errors"] == []
            assert generator.answer() == {}


def test_promiscuous(world):
    """What is for the MAC of another port arrives, too, also where a NIC has a filter."""
    before = world.gen.link("s0")["promiscuity"]
    with xdp(world, ["g0"], ["s0"]) as generator:
        done = run(world, generator, dst_macs=["02:00:00:00:00:77"])
        assert done["received"] == done["sent"] == 500
        assert world.gen.link("s0")["promiscuity"] == before + 1
        generator.process.kill()
        generator.process.wait()
        assert world.gen.link("s0")["promiscuity"] == before


def test_ends(world):
    """By the next line, by a signal, by the end of the input."""
    request = dict(do="run", src=SRC, prefixes=world.table, pattern="random", hops=0, seconds=3600,
                   rate_pps=1000, dst_macs=[world.gen.mac("s0")])  # fmt: skip
    with xdp(world, ["g0"], ["s0"]) as generator:
        generator.tell(**request)
        generator.tell(do="stop")
        assert generator.answer()["errors"] == [] and generator.answer() == {}
        generator.tell(**request)
        generator.process.send_signal(signal.SIGINT)
        assert "sent" in generator.answer() and generator.quit() == 130
    with xdp(world, ["g0"], ["s0"]) as generator:
        generator.tell(**request)
        generator.process.stdin.close()
        assert generator.process.wait() == 0
    assert "xdp" not in world.gen.run("ip", "link", "show").stdout


def test_refusals(world):
    world.gen.ip("link add br0 type bridge")
    said = refuse(world.gen, "--source", "xdp", "--tx", "br0")
    assert "br0" in said and "XDP" in said
    world.gen.ip("link del br0")
    world.dut.run("ethtool", "-K", "d1", "gro", "off")
    with xdp(world, ["g1"], ["s1"]) as generator, pytest.raises(GeneratorError, match="g1 takes no"):
        run(world, generator, "d1")
    world.dut.offload_as_host("d1")
    assert "there are pktgen, xdp" in refuse(world.gen, "--source", "trex", "--tx", "g0", code=2)
    with xdp(world, ["g0"], ["s0"]) as generator:
        for fields in (dict(frame_bytes=65), dict(pattern="syn", frame_bytes=77)):
            with pytest.raises(GeneratorError, match="allow"):
                run(world, generator, **fields)
        busy = refuse(world.gen, "--source", "xdp", "--tx", "g1", "--rx", "s0")
        assert "already has an XDP program" in busy
