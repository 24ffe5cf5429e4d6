# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Undo changes however this process ends.

Before each change, the command that undoes it goes to a guardian: a shell in a session of its own that waits for the
end of its input. That comes with close(), or with the end of this process, also by SIGKILL. Then it runs the commands,
the last one first. Only a SIGKILL of the guardian itself prevents that.
"""

from __future__ import annotations

import shlex
import subprocess

# An error of what is gone is none. Of a device that is LOST nothing more is undone: another one may have its name.
GUARDIAN = r"""
trap '' INT TERM HUP PIPE
export LC_ALL=C
status=0 lost=/
undo() {  # DEVICE NETNS COMMAND LOST
	case $lost in */"$1"/*) return ;; esac
	error=$(${2:+nsenter --net="$2"} sh -c "$3" 2>&1) && return
	[ -z "$4" ] || lost=$lost$1/
	case $error in *'Cannot find device'* | *'does not exist'* | *'No such '*) return ;; esac
	echo "sixlane: error: cannot restore what was changed ($error); ${4:-restore it by hand: $3}" >&2
	status=1
}
echo ready
while IFS= read -r line; do
	lines="$line
$lines"
done
eval "$lines"
exit $status
"""


class Undo:
    """The guardian of this process. netns: the path of the network namespace in which later commands are to be undone;
    "" for that of the guardian, whose process id is `pid`."""

    def __init__(self) -> None:
        self.netns = ""
        self._guardian = subprocess.Popen(["sh", "-c", GUARDIAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          text=True, bufsize=1, start_new_session=True)  # fmt: skip
        self.pid = self._guardian.pid
        self._guardian.stdout.readline()

    def keep(self, dev: str, line: str, lost: str = "") -> None:
        """Run a shell command at the end, whatever happens. dev: the device that it is for, or "". lost: what to say if
        it fails and the device is lost by that. Raises BrokenPipeError if nothing would be restored."""
        self._guardian.stdin.write(shlex.join(["undo", dev, self.netns, line, lost]) + "\n")

    def close(self) -> bool:
        """Restore. Returns False if something is left, which the guardian has reported."""
        self._guardian.stdin.close()
        return self._guardian.wait() == 0
