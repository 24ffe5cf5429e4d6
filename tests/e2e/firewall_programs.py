# SPDX-License-Identifier: GPL-2.0-only
"""ufw, firewalld and keepalived in a namespace of a lab, with files of their own: each runs with
mounts over the folders that it would write to, and ends with the process that started it.
"""

import contextlib
import shutil
import subprocess

import pytest
from lab import wait_until

PRIVATE = "set -e; mount --make-rprivate /; "
EMPTY_RUN = "mount -t tmpfs run /run\n"

# With the settings of a new installation; "$0" is a folder of the lab, which is in /run itself.
UFW = PRIVATE + """
mkdir -p "$0/etc/applications.d"
[ -e "$0/etc/ufw.conf" ] || {
    cp /usr/share/ufw/*.init /usr/share/ufw/ufw.conf /usr/share/ufw/iptables/*.rules "$0/etc"
    cp -a /etc/default "$0"
}
mount --bind "$0/etc" /etc/ufw
mount --bind "$0/default" /etc/default
""" + EMPTY_RUN + """
exec ufw "$@"
"""

BUS = """<busconfig><type>system</type><listen>unix:path=/run/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
<allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>"""

# With a bus of its own, and its folders of settings and of logs empty.
FIREWALLD = PRIVATE + EMPTY_RUN + """
mount -t tmpfs log /var/log
mkdir /run/settings
echo "$0" >/run/bus.conf
dbus-daemon --config-file=/run/bus.conf --nofork --nopidfile &
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/bus
until [ -S /run/bus ]; do sleep .02; done
firewalld --nofork --nopid --system-config /run/settings & daemon=$!
until firewall-cmd --state; do sleep .02; done
echo runs
read -r end
kill $daemon
wait $daemon
"""

KEEPALIVED = PRIVATE + EMPTY_RUN + """
echo "$0" >/run/keepalived.conf
exec keepalived -n -l -f /run/keepalived.conf
"""

VRRP = """
global_defs {
    nftables keepalived
    vrrp_version 3
}
vrrp_instance one {
    state BACKUP
    interface p0
    virtual_router_id 7
    priority 100
    advert_int 0.1
    no_accept
    virtual_ipaddress {
        fe80::77
        2001:db8:a::77/64
    }
}
"""


def need(*programs):
    """Machines without apt may lack them; tests/deps.sh installs them."""
    for program in programs:
        if not shutil.which(program):
            pytest.skip(program + " is not installed")


def ufw(net, *words):
    """Settings stay from one call to the next."""
    folder = net.lab.path("ufw")
    net.r.run("unshare", "-m", "sh", "-c", UFW, folder, *words)


@contextlib.contextmanager
def inside(net, script, argument):
    """A script runs in the router's namespace, with a process namespace that ends with it."""
    process = net.r.popen(
        "unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "bash", "-c", script, argument,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@contextlib.contextmanager
def firewalld(net):
    """Runs, with the rules that it has by itself; they go with it."""
    with inside(net, FIREWALLD, BUS) as process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "runs\n":
                break
        assert process.poll() is None and lines[-1:] == ["runs\n"], lines
        yield
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait(30)


@contextlib.contextmanager
def keepalived(net):
    with inside(net, KEEPALIVED, VRRP):
        wait_until(lambda: "hook output" in net.r.run("nft", "list", "ruleset").stdout, 10, "its chains")
        yield
