# SPDX-License-Identifier: GPL-2.0-only
"""Tables of routes, and the addresses that patterns draw from them; ipaddress is the oracle."""

import ipaddress

import numpy as np
import pytest
import tables
from common import BenchError, UsageError


def texts(table, addresses):
    kind, size = (ipaddress.IPv4Address, 4) if table.is_ipv4 else (ipaddress.IPv6Address, 16)
    return [kind(address[:size].tobytes()) for address in addresses]


def matched(table, addresses):
    """The addresses, and the values that the table says they have, which are checked."""
    found, values = texts(table, addresses), table.match(addresses)
    nets = [ipaddress.ip_network((address, int(length)))
            for address, length in zip(texts(table, table.addresses), table.length)]  # fmt: skip
    assert table.is_ipv4 or list(map(str, nets)) == table.prefixes()
    for address, value in zip(found[:300], values):
        covering = [(net.prefixlen, place) for place, net in enumerate(nets, 1) if address in net]
        assert value == max(covering, default=(0, 0))[1]
    return found, values


@pytest.mark.parametrize("ipv4", [False, True])
@pytest.mark.parametrize("pattern", ["hit", "zipf", "flow", "miss", "fallback"])
@pytest.mark.parametrize("name", ["100", "dense-48-4:64"])
def test_patterns(name, pattern, ipv4):
    table, fallback = tables.named(name, 1), pattern == "fallback"
    table = table.with_fallback() if fallback else table
    table = table.as_ipv4() if ipv4 else table
    found, values = matched(table, tables.draw(table, pattern, 300, 1))
    lengths = {table.length[value - 1] for value in values if value}
    if pattern == "miss":
        assert not any(values)
    elif fallback:
        assert lengths == {0}
    else:
        assert all(values) and 0 not in lengths
    assert len(set(found)) == 1 if pattern == "flow" else len(set(found)) > 50
    assert ipv4 or all(address in ipaddress.ip_network("2000::/3") for address in found)
    assert not ipv4 or not {0, 127, 169, *range(224, 256)} & {address.packed[0] for address in found}


def test_routes_within_routes():
    """Each length along one way, the shortest within 2000::/3; siblings of many lengths; and no route at all."""
    nested = tables.named("nested", 1)
    found, values = matched(nested, tables.draw(nested, "hit", 300, 1))
    assert len(set(values)) > 100 and all(address in ipaddress.ip_network("2000::/3") for address in found)
    halves = tables.from_prefixes("halves", 1, ["::/1", "4000::/2", "8000::/1"])
    assert set(matched(halves, tables.draw(halves, "hit", 300, 1))[1]) == {1, 2, 3}
    siblings = [f"2001:{first:x}::/{length}" for first in range(0x100, 0x140) for length in range(24, 33)]
    table = tables.from_prefixes("some", 1, siblings)
    assert len(set(matched(table, table.addresses)[1])) < len(table)
    assert not any(tables.from_prefixes("none", 1, []).match(table.addresses))


def test_misses_are_near():
    """An index would end a lookup far from all routes at its first step."""
    table = tables.named("1", 1)
    found = texts(table, tables.draw(table, "miss", 500, 1))
    net = ipaddress.ip_network(table.prefixes()[0]).supernet(new_prefix=8)
    assert sum(address in net for address in found) > 250
    half = tables.from_prefixes("half", 1, ["2000::/4"])  # beyond 2000::/3 nothing is routed
    found = texts(half, tables.draw(half, "miss", 500, 1))
    assert all(address in ipaddress.ip_network("3000::/4") for address in found)
    with pytest.raises(BenchError, match="nothing misses it"):
        tables.draw(tables.named("nested", 1), "miss", 500, 1)


def test_zipf():
    """With a larger exponent fewer routes have more of the addresses, whatever their place in the table."""
    table = tables.named("100", 1)
    drawn = [table.match(tables.draw(table, pattern, 2000, 1)) for pattern in ("hit", "zipf:0.5", "zipf:1", "zipf:2")]
    shares = [np.bincount(values).max() / len(values) for values in drawn]
    assert shares == sorted(set(shares)) and shares[0] < 0.1 and shares[-1] > 0.5
    assert np.bincount(drawn[-1]).argmax() > 1  # the most frequent route is not the first


@pytest.mark.parametrize("name, count, length", [
    ("dense-48", 65536, 48), ("dense-48-4", 16384, 48), ("dense-48-16:10k", 10000, 48), ("hosts-108", 100_000, 128),
    ("hosts-108:1048576", 1 << 20, 128), ("10k", 10000, None), ("nested", 129, None),
])  # fmt: skip
def test_sizes(name, count, length):
    table = tables.named(name, 3)
    assert len(table) == count and (length is None or set(table.length) == {length})
    assert np.array_equal(np.lexsort((table.length, *table.addresses.T[::-1])), np.arange(count))
    assert np.array_equal(table.addresses, tables.named(name, 3).addresses)


def test_lengths_of_routes():
    """Random tables have those of the full view."""
    counts = np.bincount(tables.named("full-view", 1).length)
    assert tables.REAL == {length: counts[length] for length in tables.REAL}


def test_refused(tmp_path):
    """Also tables of one name, whose rows could not be told apart."""
    for name in ("nosuch", "dense-48-5", "hosts-108:2m", "0", "5m", "full-view:10", "dense-48:x"):
        with pytest.raises(UsageError, match="is not a table; there are 1, 10k"):
            tables.named(name, 1)
    for word in ("zipf:", "zipf:-1", "zipf:11", "zipf:1e3", "hit:1", "zipf:nan"):
        with pytest.raises(ValueError):
            tables.parse_pattern(word)
    (tmp_path / "10.txt").write_text("2001:db8::/32\n")
    with pytest.raises(UsageError, match="two tables have the same name"):
        tables.make([(False, "10"), (True, str(tmp_path / "10.txt"))], 1)
