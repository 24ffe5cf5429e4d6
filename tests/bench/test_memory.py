# SPDX-License-Identifier: GPL-2.0-only
"""Whether there is memory for a table, by files of cgroups as the kernel has them."""

import memory
import pytest
from common import BenchError


@pytest.mark.parametrize("own, left", [("up", 4500), ("up/low", 4500), ("up/full", 0), ("none", None)])
def test_least_of_all_above(tmp_path, monkeypatch, own, left):
    for folder, most, used in (("up", 5000, 1000), ("up/low", "max", 900), ("up/full", 1000, 1501)):
        (tmp_path / folder).mkdir()
        for name, text in (("max", most), ("current", used), ("stat", "anon 1\ninactive_file 500")):
            (tmp_path / folder / f"memory.{name}").write_text(f"{text}\n")
    assert memory.left(tmp_path / own) == left or left is None and memory.left(tmp_path / own) > 10**6


def test_check():
    memory.check("routes", "tables", 1)
    with pytest.raises(BenchError, match="routes take about 1048576 MB in tables, and there are"):
        memory.check("routes", "tables", 1 << 40)
