#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The words of what sixlane prints: no private ones, and no sentence of 25 words or more. And the worst of them are
nowhere in the code of bpf/, user/ and tests/, in comments and names.

What is printed are the string literals of user/**/*.c and of the list of verdicts. `lint_words.py --self-test` shows
that each rule can fail; without arguments it does that first, then looks at the sources.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from typing import Iterator, NamedTuple

REPO = pathlib.Path(__file__).resolve().parent.parent
MAX_WORDS = 24
VERDICTS = "bpf/abi/verdicts.h"

# Words that only this project used, and what to say instead.
PRIVATE = {
    r"fates?": "next-hop entry, type",
    r"hungry|starved|feed|fed": "pending, no id, retry",
    r"poison(?:ed|s)?|cured?": "punted in place, restore",
    r"stray|strange|foreign": "orphan, unsupported, unknown, another",
    r"settled?|reap(?:s|ed)?": "reconcile, free",
    r"voices?": "source",
    r"(?<!ndo )(?<!xdp )(?<!tx )xmit": "ndo_xmit, tx_device",
    r"source sets?": "source-specific table",
    r"pokes?|poked|keeper": "wakeup, neighbour refresh",
    r"census": "kernel reader",
    r"doubt(?:s|ed)?|untold": "stale, incomplete",
    r"behind|asleep|awake": "on an inactive route",
    r"hints?": "ICMP event",
    r"learnt|heed(?:s|ed)?": "learned, apply, accept",
    r"anew": "again",
    r"marks?": "route flags",
    r"cells?": "bucket",
    r"mixtures?": "route key",
    r"found no room|finds? no room|no room": "does not fit, overflow, is full",
    r"wishe[sd]|wish": "request",
    r"held back|holds? back": "passes to the kernel because of",
    r"too much": "unexpected argument",
    r"carried out": "applied",
    r"told|tells": "reported, shows",
    r"took off|taken off|takes? off": "detach, remove",
}
# Those that no comment and no name has either.
PRIVATE_IN_CODE = re.compile(
    r"\b(?:fates?|hungry|starved|poison(?:ed|s)?|cure[ds]?|strays?|reap(?:s|ed)?|unwant(?:ed)?|voices?|source sets?(?!\()"
    r"|pokes?|keeper|census|asleep|awake|foreign|wish(?:es|ed)?|foresee[ns]?|doubt(?:s|ed|ful)?|untold|heed(?:s|ed)?"
    r"|learnt|mixtures?)\b",
    re.IGNORECASE,
)
# Literals that may have them: options and names of the kernel and of other programs.
ALLOWED = {"log-level", "log_level", "mark", "connmark", "mark set", "meta mark set"}

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<include>\#[ \t]*include[^\n]*)
    |(?P<char>'(?:\\.|[^'\\\n])+')|"(?P<text>(?:\\.|[^"\\\n])*)"|(?P<space>\s+)|(?P<other>.)""",
    re.S | re.X,
)
CONVERSION = re.compile(r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]")
# Ends of sentences; a line of a usage text or a table that begins with spaces stands by itself.
SENTENCE = re.compile(r"[.;:!?](?:\s|$)|->|\n(?=[\s-])|\n\n|\(|\)")


class Literal(NamedTuple):
    line: int
    text: str


def literals(source: str) -> Iterator[Literal]:
    """The string literals of C, adjacent ones as one, with escapes undone."""
    parts: list[str] = []
    first = line = 1
    for token in TOKEN.finditer(source):
        if token["text"] is not None:
            first = first if parts else line
            parts.append(token["text"])
        elif token["space"] is None and token["comment"] is None and parts:
            yield Literal(first, unescape("".join(parts)))
            parts = []
        line += token[0].count("\n")
    if parts:
        yield Literal(first, unescape("".join(parts)))


def unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text)


def is_prose(text: str) -> bool:
    """Not a path, a key, a format of numbers or a piece of a configuration."""
    words = re.findall(r"[a-z]{2,}", CONVERSION.sub(" ", text))
    return len(words) >= 2 and " " in text.strip() and "{" not in text


def is_key(text: str) -> bool:
    """A key of JSON, a setting, an option, a verdict, a map."""
    return bool(re.fullmatch(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*", text))


def complaints(text: str) -> Iterator[str]:
    """What is wrong with one literal."""
    if text.strip() in ALLOWED or not (is_key(text) or is_prose(text)):
        return
    words = re.sub("[_-]", " ", text) if is_key(text) else text
    for word, instead in PRIVATE.items():
        found = re.search(r"(?<![\w-])(?:%s)(?![\w-])" % word, words)
        if found:
            yield '"%s": say %s' % (found[0], instead)
    for sentence in SENTENCE.split(text):
        words = CONVERSION.sub("X", sentence).split()
        if len(words) > MAX_WORDS:
            yield "%d words in one sentence: %s …" % (len(words), " ".join(words[:6]))


def code_complaints(code: str) -> Iterator[str]:
    """Private words in code, with the number of their line; an underscore separates words."""
    for number, line in enumerate(code.splitlines(), 1):
        for found in PRIVATE_IN_CODE.findall(line.replace("_", " ")):
            yield "%d: private word in the code: %s" % (number, found)


def findings() -> Iterator[str]:
    patterns = ["bpf/*.[ch]", "user/*.[ch]", "user/*.py", "tests/*.[ch]", "tests/*.py", ":!tests/lint_words.py"]
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=REPO, check=True, capture_output=True, text=True)
    for name in listed.stdout.split():
        text = (REPO / name).read_text(encoding="utf-8")
        yield from ("%s:%s" % (name, complaint) for complaint in code_complaints(text))
        if name == VERDICTS or (name.startswith("user/") and name.endswith(".c") and not name.endswith(".bpf.c")):
            for literal in literals(text):
                yield from ("%s:%d: %s" % (name, literal.line, complaint) for complaint in complaints(literal.text))


LONG = "one " * (MAX_WORDS + 1)
# C, and how many complaints it gets.
SAMPLES = [
    ('log("the fate of %s is unknown")', 1),
    ('log("the route " /* and */\n\t"is starved")', 1),
    ('log("the neighbour is in doubt; " "poke the census")', 3),
    ('log("' + LONG + '")', 1),
    ('log("' + LONG[: len(LONG) // 2] + "; " + LONG[len(LONG) // 2 :] + '")', 0),
    ('log("cannot read %s: %s; try again", file, text)', 0),
    ('/* "the fate of it" */ char c = \'"\'; // "its fate is"\n', 0),
    ('#include "the fate of.h"\n', 0),
    ('key("fate")', 1),
    ('key("hints_lost"); map("sl_cells"); key("icmp_events_lost")', 2),
    ('file("/sys/fate/%s"); width("%-11s")', 0),
]


def self_test() -> Iterator[str]:
    for source, want in SAMPLES:
        got = [c for literal in literals(source) for c in complaints(literal.text)]
        if len(got) != want:
            yield "self-test: %r: %d complaints instead of %d: %s" % (source, len(got), want, got)
    code = "/* the fate */ int next_hop_is_hungry(void);\nint fateful;\n"
    if list(code_complaints(code)) != ["1: private word in the code: " + word for word in ("fate", "hungry")]:
        yield "self-test: words in code: %s" % list(code_complaints(code))


def main(argv: list[str]) -> int:
    if argv not in ([], ["--self-test"]):
        print("usage: lint_words.py [--self-test]", file=sys.stderr)
        return 2
    wrong = list(self_test()) or ([] if argv else list(findings()))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
