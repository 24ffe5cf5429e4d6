# SPDX-License-Identifier: GPL-2.0-only
"""The tests of what drives TRex need no TRex: a stand-in for its Python API is in fake/."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake")
API = os.path.join(FAKE, "automation", "trex_control_plane", "interactive")
sys.path[:0] = [HERE, os.path.join(HERE, "profiles"), API]


@pytest.fixture
def table(tmp_path):
    """table(lines) -> a file's name."""

    def write(lines):
        path = tmp_path / "table.txt"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return write
