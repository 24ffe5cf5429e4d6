# SPDX-License-Identifier: GPL-2.0-only
"""Tables of routes, and the addresses that patterns draw from them; ipaddress is the oracle."""

import ipaddress

import numpy as np
import pytest
import tables
from common import BenchError, UsageError


def texts(table, halves):
    kind, size = (ipaddress.IPv4Address, 4) if table.is_ipv4 else (ipaddress.IPv6Address, 16)
    return [kind(address[:size].tobytes()) for address in tables.to_bytes(halves)]


def longest_match(nets, address):
    return max(((net.prefixlen, place) for place, net in enumerate(nets, 1) if address in net), default=(0, 0))[1]


def drawn(name, pattern, count=300, seed=1, ipv4=False):
    """The table, the addresses, and the values that the table says they have, which are checked."""
    table, fallback = tables.named(name, seed), pattern == "fallback"
    table = table.with_fallback() if fallback else table
    table = table.as_ipv4(fallback) if ipv4 else table
    halves = tables.draw(table, pattern, count, seed)
    found, values = texts(table, halves), table.match(halves)
    nets = [ipaddress.ip_network((address, int(length)))
            for address, length in zip(texts(table, table.halves), table.length)]  # fmt: skip
    assert ipv4 or list(map(str, nets)) == table.prefixes()
    assert [longest_match(nets, address) for address in found[:300]] == list(values[:300])
    return table, found, values


@pytest.mark.parametrize("ipv4", [False, True])
@pytest.mark.parametrize("pattern", ["hit", "zipf", "flow", "miss", "fallback"])
@pytest.mark.parametrize("name", ["100", "dense-48-4:64"])
def test_patterns(name, pattern, ipv4):
    table, found, values = drawn(name, pattern, ipv4=ipv4)
    lengths = {table.length[value - 1] for value in values if value}
    if pattern == "miss":
        assert not any(values)
    elif pattern == "fallback":
        assert lengths == {0}
    else:
        assert all(values) and 0 not in lengths
    assert len(set(found)) == 1 if pattern == "flow" else len(set(found)) > 50
    assert ipv4 or all(address in ipaddress.ip_network("2000::/3") for address in found)


@pytest.mark.parametrize("prefix, within", [("::/0", "2000::/3"), ("::/1", "2000::/3"), ("4000::/2", "4000::/2"),
                                            ("2001:db8::7/128", "2001:db8::7/128"), ("2001:db8::/63", "2001:db8::/63"),
                                            ("2001:db8::/65", "2001:db8::/65")])  # fmt: skip
def test_addresses_of_a_prefix(prefix, within):
    """What covers more than is for routing stands for 2000::/3."""
    table = tables.from_prefixes("one", 1, [prefix])
    found = texts(table, tables.draw(table, "hit", 500, 1))
    assert all(address in ipaddress.ip_network(within) for address in found)


def test_routes_within_routes():
    """Each length along one way, and siblings beside it."""
    assert set(drawn("nested", "hit", 3000)[2]) >= set(range(4, 12))
    siblings = [f"2001:{first:x}::/{length}" for first in range(0x100, 0x140) for length in range(24, 33)]
    table = tables.from_prefixes("some", 1, siblings)
    nets = list(map(ipaddress.ip_network, table.prefixes()))
    wanted = [longest_match(nets, address) for address in texts(table, table.halves)]
    assert list(table.match(table.halves)) == wanted and len(set(wanted)) < len(wanted)


def test_misses_are_near():
    """An index would end a lookup far from all routes at its first step."""
    table, found, _ = drawn("1", "miss", 500)
    net = ipaddress.ip_network(table.prefixes()[0]).supernet(new_prefix=8)
    assert sum(address in net for address in found) > 250
    with pytest.raises(BenchError, match="nothing misses it"):
        drawn("nested", "miss")


def test_zipf():
    """With a larger exponent fewer routes have more of the addresses, whatever their place in the table."""
    shares = []
    for pattern in ("hit", "zipf:0.5", "zipf:1", "zipf:2"):
        values = drawn("100", pattern, 2000)[2]
        shares.append(np.bincount(values).max() / len(values))
    assert shares == sorted(shares) and shares[0] < 0.1 and shares[-1] > 0.5


@pytest.mark.parametrize("name, count, length", [
    ("dense-48", 65536, 48), ("dense-48-4", 16384, 48), ("dense-48-16:10k", 10000, 48), ("hosts-108", 100_000, 128),
    ("hosts-108:1048576", 1 << 20, 128), ("10k", 10000, None), ("1K", 1000, None), ("nested", 129, None),
])  # fmt: skip
def test_sizes(name, count, length):
    table = tables.named(name, 3)
    assert len(table) == count and (length is None or set(table.length) == {length})
    assert np.array_equal(np.lexsort((table.length, table.low, table.high)), np.arange(count))


def test_seeds():
    """Each seed has its table; a few of the hosts of a /108 are not those that are next to each other."""
    one, again, other = (tables.named("1k", seed).prefixes() for seed in (1, 1, 2))
    assert one == again != other
    quarters = np.bincount((tables.named("hosts-108:1k", 3).low >> np.uint64(18)).astype(int), minlength=4)
    assert all(150 < quarter < 350 for quarter in quarters)


def test_unknown():
    for name in ("nosuch", "dense-48-5", "hosts-108:2m", "0", "5m", "full-view:10", "dense-48:x", "1kk", "nested:2"):
        with pytest.raises(UsageError, match="is not a table; there are 1, 10k"):
            tables.named(name, 1)
    for word in ("zipf:", "zipf:-1", "zipf:11", "zipf:1e3", "hit:1", "zipf:nan"):
        with pytest.raises(ValueError):
            tables.parse_pattern(word)


def test_records(tmp_path):
    """As engine/peer.h has them; no bits are left behind a length."""
    table = tables.from_prefixes("two", 1, ["2001:db8:1::/48", "::/0", "2001:db8:1::9/48"])
    table.write(tmp_path / "records")
    route = bytes.fromhex("20010db80001") + bytes(10) + (48).to_bytes(4, "little") + bytes(4)
    assert (tmp_path / "records").read_bytes() == bytes(24) + route


def test_tables_of_one_name(tmp_path):
    """Rows could not be told apart."""
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text("2001:db8::/32\n")
    with pytest.raises(UsageError, match="two tables are called x"):
        tables.make([(True, str(tmp_path / folder / "x.txt")) for folder in "ab"], 1)
