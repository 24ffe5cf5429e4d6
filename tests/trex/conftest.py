# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tests of what drives TRex need no TRex: a stand-in for its Python API is in fake/."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = pathlib.Path(__file__).resolve().parent / "fake"
sys.path[:0] = [str(ROOT / "user" / "bench"), str(ROOT / "tests" / "lab"),
                str(FAKE / "automation/trex_control_plane/interactive")]  # fmt: skip
