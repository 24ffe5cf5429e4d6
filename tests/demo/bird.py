# SPDX-License-Identifier: GPL-2.0-only
"""A real BIRD 2 in a namespace, with a table of static routes that it exports to the kernel.

Configuration, control socket and log are in the lab's own directory; a BIRD that the machine runs
is not touched.
"""

import os
import shutil

import lab

CONFIG = """\
log stderr all;
router id 192.0.2.1;
# The kernel announces devices and routes, so scanning is not needed.
protocol device {{ scan time 3600; }}
protocol static full_view {{
	ipv6;
	include "{routes}";
}}
protocol kernel {{
	ipv6 {{ import none; export all; }};
	scan time 3600;
	# At the end the namespace goes with all of its routes.
	persist;
}}
"""


class Bird:
    """routes: (prefix, gateway) pairs."""

    def __init__(self, namespace, routes):
        self.namespace, self.lab = namespace, namespace.lab
        self.program = shutil.which("bird", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if not self.program:
            raise lab.LabError("no BIRD: install the package bird2")
        config, static = self.lab.path("bird.conf"), self.lab.path("bird-routes.conf")
        with open(static, "w", encoding="ascii") as file:
            file.writelines("route %s via %s;\n" % route for route in routes)
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG.format(routes=static))
        self.argv = [self.program, "-f", "-c", config, "-s", self.lab.path("bird.ctl")]
        self.log_path, self.process = self.lab.path("bird.log"), None

    def version(self):
        # "BIRD version 2.0.12", on standard error
        return lab.command([self.program, "--version"]).stderr.split()[-1]

    def start(self):
        with open(self.log_path, "wb") as log:
            self.process = self.namespace.popen(*self.argv, stdout=log, stderr=log)

    def assert_runs(self):
        if self.process.poll() is not None:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                raise lab.LabError("bird ended:\n" + log.read()[-2000:])
