# SPDX-License-Identifier: GPL-2.0-only
"""What cgroups leave, by files as the kernel has them."""

import memory
import pytest

LEFT = {
    "up": ("memory.max 5000", "memory.current 1000"),
    "up/low": ("memory.max max", "memory.current 900"),
    "up/full": ("memory.max 1000", "memory.current 1001"),
    "files": ("memory.max 10000", "memory.current 9000", "memory.stat anon 1\nactive_file 2000\ninactive_file 500"),
    "memory/old": ("memory.limit_in_bytes 3000", "memory.usage_in_bytes 2500", "memory.stat total_active_file 100"),
}


@pytest.fixture
def root(tmp_path):
    for folder, files in LEFT.items():
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "memory.stat").write_text("anon 1\n")
        for line in files:
            name, _, text = line.partition(" ")
            (tmp_path / folder / name).write_text(text + "\n")
    return tmp_path


@pytest.mark.parametrize("own, left", [
    ("0::/up", 4000), ("0::/up/low", 4000), ("0::/up/low/none", 4000), ("0::/up/full", 0), ("0::/files", 3500),
    ("4:memory:/old\n0::/up", 600), ("3:cpu,cpuacct:/up", None), ("0::/", None), ("", None),
])  # fmt: skip
def test_left(root, own, left):
    assert memory.left_of_cgroups(own, root) == left
