# SPDX-License-Identifier: GPL-2.0-only
"""Run a command of the harness within the test's process."""

import importlib
import json

from common import BenchError, Parser


class Command:
    """A command by its name. A test's `capsys` catches what it prints."""

    def __init__(self, name, capsys):
        self.module, self.capsys, self.name = importlib.import_module(name), capsys, name

    def _run(self, words, **common):
        parser = Parser(prog=self.name)
        self.module.add_options(parser)
        options = parser.parse_args([*map(str, words)])
        vars(options).update({"json": True, "pretty": False, "command": f"sixlane bench {self.name}", **common})
        self.module.run(options)
        return self.capsys.readouterr().out

    def rows(self, *words):
        return json.loads(self._run(words))

    def text(self, *words):
        return self._run(words, **{"json": False})

    def refuse(self, *words):
        """The text of its error."""
        try:
            self._run(words)
        except BenchError as error:
            return str(error)
        except SystemExit as ended:
            assert ended.code == 2
            return self.capsys.readouterr().err
        raise AssertionError("not refused")
