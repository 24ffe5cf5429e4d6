# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench plan: its rows and its table, costs from a file of results, and what it refuses."""

import json
import os
import re
import xml.etree.ElementTree

import pytest
from lab import SIXLANE
from netns import command
from test_bench import ROWS


def bench(*argv, options=(), check=True):
    return command([SIXLANE, *options, "bench", "plan", *argv], check=check)


def plan(*argv):
    rows = json.loads(bench(*argv, options=["-j"]).stdout)
    assert all(list(row) == ROWS for row in rows)
    values = {(row["table"], row["frame_bytes"], row["mode"]): row["median"] for row in rows}
    assert len(values) == len(rows)
    return rows, values


def refuse(*argv, code=2):
    done = bench(*argv, options=["-j"], check=False)
    assert done.returncode == code and not done.stdout, done
    assert "sixlane: error: " in done.stderr
    return done.stderr


def forward(frame_bytes=64, threads=1, **others):
    """A row as `bench forward` makes them, of 400 ns, or as said."""
    row = {"bench": "forward", "engine": "sixlane", "table": "10k", "routes": 10000,
           "pattern": "random", "mode": None, "threads": threads, "writer_rate": 0,
           "frame_bytes": frame_bytes, "unit": "ns", "median": 400.0, "cpu": "Some CPU",
           "emulated": False}  # fmt: skip
    return {**row, **others}


@pytest.fixture
def write(tmp_path):
    def write(rows):
        path = tmp_path / "forward.json"
        path.write_text(rows if isinstance(rows, str) else json.dumps(rows, indent=1))
        return path

    return write


# --- what it says ---------------------------------------------------------------------------


def test_rows():
    rows, values = plan("--ns", "100", "--cores", 2, "--rate", "10,100", "--sizes", "64,1518")
    assert values["2 x 10G", 64, "line"] == 29.7619
    assert values["2 x 10G", 64, "expected"] == 20
    assert values["2 x 10G", 64, "cpus"] == 3 and values["2 x 10G", 64, "queues"] == 2
    assert values["2 x 10G", 1518, "line"] == values["2 x 10G", 1518, "expected"] == 1.62549
    assert values["2 x 10G", 1518, "cpus"] == values["2 x 10G", 1518, "queues"] == 1
    assert values["2 x 100G", 64, "line"] == 297.619 and values["2 x 100G", 64, "cpus"] == 30
    assert len(values) == 2 * 2 * 4
    assert {(row["bench"], row["threads"]) for row in rows} == {("plan", 2)}
    assert all("--rate 10,100" in row["command"] for row in rows)
    notes = {(row["table"], row["frame_bytes"]): row["note"] for row in rows}
    assert "the CPUs are the limit" in notes["2 x 10G", 64]
    assert "the line is the limit" in notes["2 x 10G", 1518]
    assert all("extrapolated" in note for note in notes.values())


def test_defaults():
    rows, values = plan("--ns", "100")
    assert {key[0] for key in values} == {"2 x 10G", "2 x 25G", "2 x 100G", "2 x 400G"}
    assert {key[1] for key in values} == {64, 128, 256, 512, 1024, 1280, 1518, 9000}
    assert {row["threads"] for row in rows} == {len(os.sched_getaffinity(0))}


def test_cycles():
    words = ["--cores", 4, "--rate", 25, "--sizes", 64, "--ports", 1]
    _, by_ns = plan("--ns", "350", *words)
    _, by_cycles = plan("--cycles", "1050", "--ghz", "3.0", *words)
    assert by_ns == by_cycles and by_ns["1 x 25G", 64, "expected"] == 11.4286


def test_table():
    words = ["--ns", "350", "--cores", 8, "--rate", 100, "--sizes", "64,1518"]
    lines = bench(*words).stdout.splitlines()
    cells = [line.split() for line in lines if line.lstrip().startswith("100G ")]
    assert cells == [
        ["100G", "64", "148.810", "297.619", "22.857", "8", "%", "105", "53", "CPU"],
        ["100G", "1518", "8.127", "16.255", "16.255", "100", "%", "6", "3", "line"],
    ]
    text = " ".join(lines)
    assert "the line is the limit from frames of 1074 bytes on" in text
    assert "not a measurement" in text and "not measured" in text and "full duplex" in text


def test_output(tmp_path):
    """The files hold the rows of -j; the screen has the table all the same."""
    words = ["--ns", "350", "--cores", 8, "--output", tmp_path / "results"]
    done = bench(*words)
    assert "the line is the limit" in done.stdout and not done.stdout.startswith("[")
    names = os.listdir(tmp_path / "results")
    assert sorted(names) == ["plan.csv", "plan.json", "plan.png", "plan.svg"]
    rows, _ = plan(*words)
    assert json.loads((tmp_path / "results" / "plan.json").read_text()) == rows


def test_without_root():
    drop = ["setpriv", "--reuid", 65534, "--clear-groups", "--"]
    done = command([*drop, SIXLANE, "bench", "plan", "--ns", "350"])
    assert "400G" in done.stdout


# --- its pictures, which are drawn as those of all benches ------------------------------------


def draw(tmp_path, *argv):
    """The SVG, of packets of 100 ns."""
    bench("--ns", "100", *argv, "--output", tmp_path)
    return (tmp_path / "plan.svg").read_text()


NUMBER = r"(-?[0-9.]+)"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("sizes", ["64,128,9000", "512,1024,1518"])
def test_points_are_off_the_frame(tmp_path, sizes):
    """Their spread would lie on it; with a logarithm of the size, and without."""
    svg = draw(tmp_path, "--rate", "10,25", "--sizes", sizes)
    corners = re.findall(rf"d='M{NUMBER},{NUMBER} L\1,{NUMBER} L{NUMBER},\3 L\4,\2 L\1,\2 Z", svg)
    frames = {tuple(map(float, corner)) for corner in corners}
    # gnuplot 6 draws each in white first
    coloured = rf"translate\({NUMBER},{NUMBER}\) scale\([0-9.]+\)' color='(?!#FFFFFF)"
    points = [tuple(map(float, point)) for point in re.findall(coloured, svg)]
    assert len(frames) == 4
    for left, top, bottom, right in frames:
        inside = [x for x, y in points if left <= x <= right and top <= y <= bottom]
        assert len(inside) == 2 * 3
        beside = 0.03 * (right - left)
        assert left + beside < min(inside) < left + 2 * beside
        assert right - 2 * beside < max(inside) < right - beside


def foot_of(root):
    """Its lines, each with where it ends if its characters are as large as in the PNG, and its height."""
    for group in root.iter(SVG + "g"):
        text = group.findtext(SVG + "text")
        if text and group.get("font-family") == "monospace":
            at = re.match(rf"translate\({NUMBER},{NUMBER}\)", group.get("transform"))
            character = 0.61 * float(group.get("font-size")) * 4 / 3
            yield text, float(at[1]) + len(text) * character, float(at[2])


@pytest.mark.parametrize("word", ["a/few/words", "one/" + "x" * 200 + "/word"])
def test_foot(tmp_path, word):
    """All of the command, and nothing that the picture's edge would cut; no driver, no seed: there are none."""
    sizes = ",".join(map(str, range(64, 96)))
    root = xml.etree.ElementTree.fromstring(draw(tmp_path / word, "--rate", "10,25,40", "--sizes", sizes))
    lines, ends, heights = zip(*foot_of(root))
    assert max(ends) < float(root.get("width")) and max(heights) < float(root.get("height"))
    assert list(heights) == sorted(set(heights))
    row = json.loads((tmp_path / word / "plan.json").read_text())[0]
    where = "%s; Linux %s; %s, %d CPUs" % tuple(row[key] for key in ("machine", "kernel", "cpu", "cpus"))
    where += ", mitigations " + row["mitigations"] if row["mitigations"] else ""
    text = "".join(lines).replace(" ", "")
    assert len(lines) > 2 and text.endswith((where + row["command"]).replace(" ", ""))


def pages(path):
    return -(-path.stat().st_size // os.sysconf("SC_PAGESIZE"))


@pytest.mark.parametrize("cut, whole", [("svg", ""), ("png", "svg")])
def test_full_disk(tmp_path, cut, whole):
    """Which has room for the rows, and for half of a picture: gnuplot says nothing of that."""
    words = ["--ns", "100", "--sizes", "64,128,9000", "--rate", "10,25", "--output"]
    free, full = tmp_path / "free", tmp_path / "full"
    bench(*words, free)
    size = sum(pages(free / ("plan." + suffix)) for suffix in ("json", "csv", *whole.split()))
    size = (size + pages(free / ("plan." + cut)) // 2) * os.sysconf("SC_PAGESIZE")
    full.mkdir()
    command(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "none", full])
    try:
        done = bench(*words, full, check=False)
        assert done.returncode == 1 and "disk full" in done.stderr
        named = [suffix for suffix in ("json", "csv", "svg", "png") if "full/plan.%s:" % suffix in done.stderr]
        assert named == (["png"] if whole else ["svg", "png"])
        assert len(json.loads((full / "plan.json").read_text())) == 2 * 3 * 4
    finally:
        command(["umount", full])


# --- costs from a file ----------------------------------------------------------------------


def expected(path, *argv, size=64):
    """Mpps of one CPU, or of more, on a line that takes all of it."""
    _, values = plan("--from", path, "--rate", 400, "--ports", 9, "--sizes", size, *argv)
    return values["9 x 400G", size, "expected"]


def test_from_file(write):
    path = write([forward(64), forward(1518, median=500.0, note="sent by hand")])
    assert expected(path, "--cores", 1) == 2.5
    assert expected(path, "--cores", 1, size=1518) == 2
    assert expected(path, "--cores", 1, size=791) == 2.22222
    assert expected(path, "--cores", 1, size=9000) == 2
    # nothing says how it scales
    assert expected(path, "--cores", 10) == 25
    text = bench("--from", path).stdout
    assert "With 1518 bytes: sent by hand." in text
    assert "Some CPU" in text and "400.0 ns (64 bytes), 500.0 ns (1518 bytes)" in text


def test_slowest_row_of_a_size(write):
    others = [
        {"table": "1m", "median": 800.0},
        {"pattern": "zipf 1.1", "median": 300.0},
        # none of which is the cost of forwarding a packet by sixlane
        {"pattern": "miss", "median": 5000.0},
        {"mode": "p99", "median": 5000.0},
        {"engine": "kernel", "median": 5000.0},
        {"engine": "sixlane/kernel", "unit": "ratio", "median": 5000.0},
        {"writer_rate": 1000, "median": 5000.0},
        {"bench": "lookup", "median": 5000.0},
    ]
    assert expected(write([forward(), *[forward(**other) for other in others]]), "--cores", 1) == 1.25


def test_scaling(write):
    """Measured where it is: at the most CPUs, by the pattern that scales worst."""
    mpps = {"unit": "Mpps", "median": 2.5}
    rows = [
        forward(),
        forward(**mpps),
        forward(**{**mpps, "pattern": "flow"}),
        forward(threads=4, unit="Mpps", median=8.0),
        forward(threads=4, unit="Mpps", median=7.5, pattern="flow"),
        forward(threads=4, unit="Mpps", median=1.0, table="of no row with one thread"),
        forward(threads=2, unit="Mpps", median=2.6),
    ]
    path = write(rows)
    assert expected(path, "--cores", 1) == 2.5
    assert expected(path, "--cores", 4) == 7.5
    assert expected(path, "--cores", 40) == 75
    assert "75 % of what one alone does, measured with 4" in bench("--from", path).stdout
    # by times of one packet on one CPU each
    path = write([forward(), forward(threads=2, median=500.0)])
    assert expected(path, "--cores", 2) == 4
    # nobody is faster in company
    path = write([forward(), forward(threads=2, median=300.0)])
    assert expected(path, "--cores", 2) == 5


def test_engines(write):
    path = write([forward(engine="trie"), forward(engine="compiled", median=200.0)])
    assert expected(path, "--cores", 1) == 5
    assert expected(path, "--cores", 1, "--engine", "trie") == 2.5
    said = refuse("--from", path, "--engine", "kernel", code=1)
    assert "kernel" in said and "sixlane bench forward" in said


# --- what it refuses ------------------------------------------------------------------------


def test_bad_files(write, tmp_path):
    def refused(content):
        return refuse("--from", write(content), code=1)

    how = "`sixlane bench forward --output DIR`"
    said = refuse("--from", tmp_path / "none.json", code=1)
    assert "none.json: No such file" in said and how in said
    assert "directory" in refuse("--from", tmp_path, code=1)
    for text, line in (("", 1), ("[\n {,\n", 2), ("[\n1,\n2\n", 4), ('[{"a": 1, "a": 2}]', 1)):
        said = refused(text)
        assert f"forward.json:{line}: " in said and how in said
    assert "not a list of rows" in refused('{"bench": "forward"}')
    for content in ("[]", "[1, null, []]", [forward(threads=2)], [forward(engine="kernel")]):
        said = refused(content)
        assert "no row of bench forward" in said and how in said
    for median in (0, -1, "400", None, 1e300):
        assert "no row" in refused([forward(median=median)])
    said = refused([forward(), forward(128, emulated=True)])
    assert "row 2" in said and "emulated" in said
    for size in (0, 63, 65536, -1):
        assert "row 1" in refused([forward(size)])
    assert "more than 32 sizes" in refused([forward(64 + n) for n in range(33)])


@pytest.mark.parametrize(
    "argv",
    [
        ["--ns", "0"], ["--ns", "-1"], ["--ns", "0.0"], ["--ns", "nan"], ["--ns", ""],
        ["--ns", "1e3"], ["--ns", "0x10"], ["--ns", "1.2.3"], ["--ns", " 1"],
        ["--ns", "9" * 400], ["--ns", "1000000001"], ["--ns", "0." + "0" * 400 + "1"],
        ["--cycles", "0", "--ghz", "3"], ["--cycles", "1000", "--ghz", "101"],
        *[["--ns", "350", option, word]
          for option in ("--cores", "--ports", "--rate", "--sizes")
          for word in ("0", "", "4294967297", "1.5")],
        ["--ns", "350", "--rate", "10,,25"], ["--ns", "350", "--rate", "10,"],
        ["--ns", "350", "--sizes", "63"],
        ["--ns", "350", "--sizes", ",".join(str(n) for n in range(64, 97))],
    ],
)  # fmt: skip
def test_bad_numbers(argv):
    said = refuse(*argv)
    assert "up to" in said or "from 1 to" in said or "from 64 to" in said or "more than 32" in said


def test_bad_arguments(write):
    path = write([forward()])
    for argv in ([], ["--ns", "350", "--from", path], ["--ns", "350", "--cycles", "9", "--ghz", "3"]):
        assert "the cost of a packet is needed" in refuse(*argv)
    for argv in (["--cycles", "1000"], ["--ns", "350", "--ghz", "3"]):
        assert "--cycles needs --ghz" in refuse(*argv)
    assert "--engine" in refuse("--ns", "350", "--engine", "trie")
    assert "unknown or incomplete option" in refuse("--ns", "350", "--nosuch")
    assert "unknown or incomplete option" in refuse("--ns")
    assert "nosuch" in refuse("--ns", "350", "nosuch")
