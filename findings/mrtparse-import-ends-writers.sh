#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mrtparse: a program that has imported it ends without a word when it writes to a pipe or socket that is closed.
#
# Versions: mrtparse 2.2.0 of PyPI, and python3-mrtparse 1.6-3 of Debian 12.
# Expected: Python ignores SIGPIPE, so that such a write raises BrokenPipeError, which a program can handle. To import a
#	parser changes nothing of that.
# Seen: after "import mrtparse" the write ends the process by SIGPIPE (status -13): no exception, no "finally", no
#	atexit. Imported in another thread than the main one, it raises ValueError instead.
# Reason: the module calls signal.signal(signal.SIGPIPE, signal.SIG_DFL) as it is imported, for its own examples' sake.
# Needs python3 with pip, and apt-get with Debian 12's packages.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip -q install --disable-pip-version-check --root-user-action=ignore --target "$folder/2" mrtparse==2.2.0
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download python3-mrtparse=1.6-3)
dpkg-deb -x "$folder"/python3-mrtparse_*.deb "$folder"
cat >"$folder/try.py" <<'PY'
import os
import subprocess
import sys

WRITE = """
{}
read, write = os.pipe()
os.close(read)
try:
    os.write(write, b"x")
except BrokenPipeError:
    print("BrokenPipeError")
finally:
    print("finally", flush=True)
"""
THREAD = """
import threading
def load():
    try:
        import mrtparse
    except ValueError as error:
        print("ValueError:", error)
thread = threading.Thread(target=load)
thread.start()
thread.join()
"""


def run(script):
    done = subprocess.run([sys.executable, "-c", "import os\n" + script], capture_output=True, text=True)
    return done.returncode, done.stdout.split("\n")[0].split(":")[0]


seen = [run(WRITE.format("")), run(WRITE.format("import mrtparse")), run(THREAD)]
print("without it: %s; with it: %s; in a thread: %s" % tuple(seen))
sys.exit(0 if seen == [(0, "BrokenPipeError"), (-13, ""), (0, "ValueError")] else "this has changed")
PY
echo "2.2.0:"
PYTHONPATH=$folder/2 python3 "$folder/try.py"
echo "1.6:"
PYTHONPATH=$folder/usr/lib/python3/dist-packages python3 "$folder/try.py"
