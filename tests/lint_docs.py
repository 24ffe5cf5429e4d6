#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check README, manuals and the other documents against their rules and against the code.

Prints a line for each finding and exits with 1 if there is any. Before that every rule is run on
samples that break it: a rule that finds nothing there is itself a finding.
"""

import pathlib
import re
import subprocess
import sys
from typing import Callable, Iterator, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = {"README.md": 200, "tests/README.md": 20}
MAX_CELL_WORDS = 20
README, RESULTS = "README.md", "user/bench/RESULTS.md"
ROWS = "user/bench/rows.py"
SETTINGS_MANUAL = "user/daemon/sixlaned.conf.5"
BEGIN, END = "<!-- results: begin", "<!-- results: end"

MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DATES = re.compile(
    r"\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}\.\s?\d{1,2}\.\s?\d{4}|\d{1,2}/\d{1,2}/\d{4}"
    rf"|{MONTH} \d{{1,2}}, \d{{4}}|\d{{1,2}}\.? {MONTH} \d{{4}})\b"
)
OTHER_DAY = re.compile(r"\b(?:another|an earlier|earlier|other|the next|two|several) days?\b", re.I)
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# A path in backquotes or as the target of a link.
QUOTED = re.compile(r"`([\w.*/@-]+)`|\]\(([\w./-]+)\)")
BARE = re.compile(r"`(\w+\.(?:bpf\.)?(?:h|c|py|sh|md))`")  # a file's name without its folder
IN_PICTURE = re.compile(r"\b([\w.]+\.(?:h|c|py|sh|md))\b|(?<![\w/.])((?:[\w.-]+/)+)(?=\s|:|$)")
KEYS = (
    re.compile(r'\b(?:print_set|set_\w+|add_\w+)\(\s*[\w>.&-]+,\s*"([a-z][a-z0-9_]+)"'),
    re.compile(r'^\t\{ SIXLANE_PORT_\w+, "([a-z][a-z0-9_]+)" \}', re.M),
)
# The line below a table's head, without its first bar.
NO_BAR = re.compile(r"\s*:?-+:?\s*\|")
KEY_READ = re.compile(r'\bstatus\([^()]*\)\["(\w+)"\]')
PLACEHOLDER = re.compile(r"\*|\b(?:FOLDER|DIR)\b|(?:\b|_)NAME\b")
SOURCES = {"bpf/abi/verdicts.h", "bpf/maps.h", "user/daemon/config.c", ROWS}
WANTED = re.compile(r"\.(md|8|5)$|^user/cli/.*\.c$|^tests/.*\.py$")
TOP = ("bpf/", "user/", "tests/", "configs/", "findings/")


class Docs(NamedTuple):
    """What the rules look at: texts by path, and the names of all files and folders."""

    texts: dict[str, str]
    files: set[str]

    def markdown(self) -> Iterator[tuple[str, str]]:
        return ((path, text) for path, text in self.texts.items() if path.endswith(".md"))

    def manuals(self) -> str:
        return "\n".join(text for path, text in self.texts.items() if path[-2:] in (".8", ".5"))

    def exists(self, path: str) -> bool:
        path = path.rstrip("/")
        return path in self.files or any(name.startswith(path + "/") for name in self.files)


def tables(text: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line, and the lines, of each table."""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("|"):
            lines.append(line)
        elif lines:
            yield number - len(lines), lines
            lines = []


def fenced(text: str) -> str:
    """The code blocks without a language: pictures."""
    return "\n".join(body for language, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if not language)


def check_lengths(docs: Docs) -> Iterator[str]:
    for path, most in MAX_LINES.items():
        lines = len(docs.texts.get(path, "").splitlines())
        if not lines:
            yield f"{path}: missing or empty"
        elif lines > most:
            yield f"{path}: {lines} lines, at most {most} are allowed"


def cells(path: str, line: str) -> list[str]:
    """The cells of a line of a table; another line has none."""
    if path.endswith(".md"):
        return re.split(r"(?<!\\)\|", line) if line.lstrip().startswith("|") else []
    return re.split(r" Ta ", line) if path[-2:] in (".8", ".5") and " Ta " in line else []


def check_cells(docs: Docs) -> Iterator[str]:
    for path, text in docs.texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if path.endswith(".md") and NO_BAR.match(line):
                yield f"{path}:{number}: the lines of a table begin with a bar"
            for cell in cells(path, line):
                if len(cell.split()) > MAX_CELL_WORDS:
                    yield f"{path}:{number}: a table cell of {len(cell.split())} words, at most {MAX_CELL_WORDS}"


def check_dates(docs: Docs) -> Iterator[str]:
    """Figures of two days must not stand together."""
    for path, text in docs.markdown():
        for first, lines in tables(text):
            dates = set(DATES.findall("\n".join(lines)))
            if len(dates) > 1:
                yield f"{path}:{first}: figures of several dates in one table: {', '.join(sorted(dates))}"
    for path in (README, RESULTS):
        text = docs.texts.get(path, "")
        dates = set(DATES.findall(text))
        if len(dates) > 1:
            yield f"{path}: figures of several dates: {', '.join(sorted(dates))}"
        for match in OTHER_DAY.finditer(text):
            yield f"{path}: figures of \"{match.group()}\""


def results_of(readme: str) -> str:
    return readme.partition(BEGIN)[2].partition("-->")[2].partition(END)[0]


def check_results(docs: Docs) -> Iterator[str]:
    """README's results are RESULTS.md's: its tables line by line, and every number beside them."""
    results, known = results_of(docs.texts.get(README, "")), docs.texts.get(RESULTS, "")
    rows = [line for _, lines in tables(results) for line in lines]
    if not rows:
        yield f"{README}: no table of results between its marks"
    for row in rows:
        if row not in known.splitlines():
            yield f"{README}: not in {RESULTS}: {row}"
    for number in sorted(set(NUMBER.findall(results)) - set(NUMBER.findall(known))):
        yield f"{README}: {number} is not in {RESULTS}"


def check_verdicts(docs: Docs) -> Iterator[str]:
    names = re.findall(r'^\tX\(\w+,[\s\\]*\w+,[\s\\]*"(\w+)"', docs.texts.get("bpf/abi/verdicts.h", ""), re.M)
    if not names:
        yield "bpf/abi/verdicts.h: no verdict was found"
    for name in names:
        if not re.search(rf"\b{name}\b", docs.manuals()):
            yield f"bpf/abi/verdicts.h: {name} is in no manual"


def check_settings(docs: Docs) -> Iterator[str]:
    names = re.findall(r'^\tSETTING\("(\w+)"', docs.texts.get("user/daemon/config.c", ""), re.M)
    manual = re.findall(r"^\.It Va (\w+) Pq", docs.texts.get(SETTINGS_MANUAL, ""), re.M)
    if not names:
        yield "user/daemon/config.c: no setting was found"
    for name in sorted(set(names) ^ set(manual)):
        yield f"{SETTINGS_MANUAL}: {name} is {'missing' if name in names else 'no setting'}"


def check_keys(docs: Docs) -> Iterator[str]:
    """JSON keys that commands print or that tests read of `status`, and flags of ports."""
    sources = [(path, text) for path, text in docs.texts.items() if path.endswith(".c") and path.startswith("user/")]
    keys = {key: path for path, text in sources for pattern in KEYS for key in pattern.findall(text)}
    if not keys:
        yield "user/cli: no JSON key was found"
    row = re.search(r"^class Row:(.*?)^(?:def|class) ", docs.texts.get(ROWS, ""), re.M | re.S)
    fields = re.findall(r"^    (\w+):", row[1], re.M) if row else []
    if not fields:
        yield f"{ROWS}: no field of Row was found"
    keys.update({field: ROWS for field in fields if field != "values"})
    for path, text in docs.texts.items():
        keys.update({key: path for key in KEY_READ.findall(text) if path.endswith(".py")})
    for key, path in sorted(keys.items()):
        if not re.search(rf"\b{key}\b", docs.manuals()):
            yield f"{path}: the key {key} is in no manual"


def check_maps(docs: Docs) -> Iterator[str]:
    """Maps that documents name exist."""
    maps = set(re.findall(r"^(?:\} |PINNED_\w+\()(sl_\w+)", docs.texts.get("bpf/maps.h", ""), re.M))
    if not maps:
        yield "bpf/maps.h: no map was found"
    for path, text in docs.texts.items():
        for name in sorted(set(re.findall(r"\bsl_[a-z_]+\w", text)) - maps):
            if path.endswith((".md", ".8", ".5")):
                yield f"{path}: no map {name}"


def check_paths(docs: Docs) -> Iterator[str]:
    """Every path of this repository that a document names exists."""
    for path, text in docs.markdown():
        folder = path.rpartition("/")[0]
        for quoted, link in QUOTED.findall(text):
            name = quoted or link
            if PLACEHOLDER.search(name) or link.startswith(("http", "#")) or quoted and not name.startswith(TOP):
                continue
            parts: list[str] = []
            for part in (f"{folder}/{link}" if link else name).split("/"):
                parts = parts[:-1] if part == ".." else parts + [part] * (part not in ("", "."))
            if not docs.exists("/".join(parts)):
                yield f"{path}: {name} does not exist"
    bases = {name.rpartition("/")[2] for name in docs.files}
    for path, text in docs.markdown():
        yield from (f"{path}: no file {name}" for name in BARE.findall(text) if name not in bases)
    for file, directory in IN_PICTURE.findall(fenced(docs.texts.get(README, ""))):
        if file and file not in bases:
            yield f"{README}: no file {file}"
        if directory and not any(docs.exists(top + directory) for top in ("", *TOP)):
            yield f"{README}: no folder {directory}"


RULES: tuple[Callable[[Docs], Iterator[str]], ...] = (
    check_lengths, check_cells, check_dates, check_results, check_verdicts, check_settings, check_keys,
    check_maps, check_paths,
)  # fmt: skip

# --- the rules themselves -----------------------------------------------------------------------

GOOD = Docs(
    {
        README: "`user/a.c`\n```\nbpf/ a.c\n```\n%s -->\n2026-11-28\n| 1,200 |\n%s -->\n" % (BEGIN, END),
        RESULTS: "2026-11-28\n| 1,200 |\n| 3.5 |\n",
        "tests/README.md": "where\n",
        "a.8": "pass_all\n",
        SETTINGS_MANUAL: ".It Va mode Pq text\n",
        "bpf/abi/verdicts.h": '\tX(PASS_ALL, PASS, "pass_all", "")\n',
        "user/daemon/config.c": '\tSETTING("mode", mode, SETTING_MODE),\n',
        "user/cli/a.c": 'print_set(object, "mode", value);\n',
        ROWS: "class Row:\n    mode: str\n\n\ndef f():\n",
        "bpf/maps.h": "PINNED_MAP(sl_meta, ARRAY, 0, 1, __u32, __u64);\n",
    },
    {"user/a.c", "bpf/b.h"},
)
# Which rule finds something when which text is another one.
BAD = (
    (check_lengths, README, "line\n" * 201),
    (check_lengths, "tests/README.md", "line\n" * 21),
    (check_cells, RESULTS, "| " + "word " * 21 + "|\n"),
    (check_cells, RESULTS, "a | b\n- | -\n"),
    (check_cells, "a.8", ".It a Ta " + "word " * 21 + "\n"),
    (check_dates, RESULTS, "| 1 of 2026-11-28 | 2 of 27 November 2026 |\n"),
    (check_dates, RESULTS, "of 2026-11-28\n\nand November 27, 2026\n"),
    (check_dates, "other.md", "| 27.11.2026 | 11/28/2026 |\n"),
    (check_dates, README, "as on another day\n"),
    (check_results, README, "%s -->\n| 1,201 |\n%s -->\n" % (BEGIN, END)),
    (check_results, README, "%s -->\n| 1,200 | 3.5 |\n%s -->\n" % (BEGIN, END)),
    (check_results, README, "%s -->\n6.19\n| 1,200 |\n%s -->\n" % (BEGIN, END)),
    (check_results, README, "none\n"),
    (check_verdicts, "a.8", "pass_alls\n"),
    (check_verdicts, "bpf/abi/verdicts.h", ""),
    (check_settings, SETTINGS_MANUAL, ".It Va node Pq text\n"),
    (check_settings, "user/daemon/config.c", ""),
    (check_keys, "user/cli/a.c", 'print_set(object, "node", value);\n'),
    (check_keys, "user/cli/a.c", '\t{ SIXLANE_PORT_UP, "node" },\n'),
    (check_keys, "user/cli/a.c", ""),
    (check_keys, "tests/a.py", 'router.status()[' + '"node"]'),
    (check_keys, ROWS, "class Row:\n    node: str\n\n\ndef f():\n"),
    (check_keys, ROWS, ""),
    (check_maps, "a.8", "sl_metal\n"),
    (check_maps, "bpf/maps.h", ""),
    (check_paths, README, "`user/b.c`\n"),
    (check_paths, README, "`b.c`\n"),
    (check_paths, README, "```sh\nmake\n```\n```\nbpf/ b.c\n```\n"),
    (check_paths, README, "[here](user/b.c)\n"),
    (check_paths, RESULTS, "[here](../b.c)\n"),
    (check_paths, README, "```\n b.c\n```\n"),
    (check_paths, README, "```\n no/\n```\n"),
)


def check_rules() -> Iterator[str]:
    for rule in RULES:
        for finding in rule(GOOD):
            yield f"tests/lint_docs.py: {rule.__name__} finds in the good sample: {finding}"
    for number, (rule, path, text) in enumerate(BAD):
        if not any(rule(Docs({**GOOD.texts, path: text}, GOOD.files))):
            yield f"tests/lint_docs.py: {rule.__name__} finds nothing in bad sample {number}"


def read_docs() -> Docs:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\n")  # fmt: skip
    files = {name for name in listed if name and (ROOT / name).exists()}
    wanted = {name for name in files if name in SOURCES or WANTED.search(name)}
    return Docs({name: (ROOT / name).read_text(encoding="utf-8") for name in sorted(wanted)}, files)


def main() -> int:
    docs = read_docs()
    findings = [*check_rules(), *(finding for rule in RULES for finding in rule(docs))]
    for finding in findings:
        print("lint_docs: " + finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
