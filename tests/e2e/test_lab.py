# SPDX-License-Identifier: GPL-2.0-only
"""The lab itself: it leaves nothing behind, and its checks can fail."""

import os
import pathlib
import signal
import subprocess
import sys

import frames as fr
import pytest
from lab import BPFFS, REPO, SIXLANE, Lab, processes_inside, wait_until
from tap import Flow
from topology import Net, host_addr

VICTIM = """
import signal, sys, time
# Whoever runs the tests in the background, or by nohup, has these ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.path[:0] = %r
from lab import Lab
lab = Lab()
ns = lab.ns("victim")
process = ns.popen("sleep", "60")
print(process.pid, ns.inode, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_after_a_signal(number):
    paths = [path for path in sys.path if path.endswith(("tests/lab", "tests/e2e"))]
    argv = [sys.executable, "-c", VICTIM % paths]
    victim = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    pid, inode = map(int, victim.stdout.readline().split())
    users = wait_until(lambda: processes_inside(inode), 5, "the child in its namespace")
    # before setpriv is through, nothing ties the child to the lab
    comm = pathlib.Path("/proc/%d/comm" % pid)
    wait_until(lambda: comm.read_text() == "sleep\n", 5, "the child's program")
    with open("/proc/%s/ns/net" % users[0], "rb"):  # or another lab might get its number
        victim.send_signal(number)
        assert victim.wait(10) != 0
        wait_until(lambda: not processes_inside(inode), 5, "namespace without processes")
    wait_until(lambda: not os.path.exists("/proc/%d" % pid), 5, "child is gone")


def test_leftovers_are_seen():
    with Lab() as lab:
        ns = lab.ns("x")
        ns.popen("sleep", "60")
        left = lab.leftovers()
        assert any("process" in line for line in left) and any("namespace" in line for line in left)
        assert any("mount" in line for line in left)
    assert lab.leftovers() == []


def test_labs_do_not_share_pins():
    with Lab():
        os.mkdir(BPFFS + "/one")
        with Lab():
            assert not os.path.exists(BPFFS + "/one")
        assert os.path.exists(BPFFS + "/one")


def test_settings_of_devices_with_a_dot_in_their_names():
    with Lab() as lab:
        ns = lab.ns("x")
        ns.ip("link add v0.1 type veth peer name v1")
        key = "net/ipv6/neigh/v0.1/retrans_time_ms"
        assert ns.has_sysctl(key) and not ns.has_sysctl("net/ipv6/neigh/v0/1/retrans_time_ms")
        ns.sysctl(key, 4000)
        assert ns.sysctl(key) == "4000"
        assert ns.has_sysctl("net.ipv6.neigh.v1.retrans_time_ms")


def test_the_slow_path_cannot_pass_a_forwarding_test(make):
    """The kernel forwards every packet rightly here, and the check must still fail."""
    net = make(Net).start("--pass-all")
    net.assert_kernel_forwards(fr.many(5, host_addr("b")), "pass_all")
    with pytest.raises(AssertionError):
        net.assert_forwarded(fr.many(5, host_addr("b")), to="b")


def test_expected_frame_matches_the_kernel(idle):
    """forwarded() gives the frame that the kernel itself would send."""
    b = host_addr("b")
    frames = [fr.udp(b, fl=0xABCDE, tc=0xFF), fr.udp(b) + b"padding", fr.udp(b, hop_limit=2, size=1500)]
    idle.assert_forwarded_by_kernel(frames)


def test_a_flow_that_fails(idle):
    """Its error is raised where the flow ends, so that nobody counts on its frames."""
    with pytest.raises(KeyError), Flow(idle.tap["a"], {}.__getitem__) as flow:
        flow.join(10)


def test_renumbered_frames_are_right():
    for frame in fr.many(1000, "2001:db8::1")[::37]:
        assert frame == fr.udp("2001:db8::1", number=fr.number_of(frame))


# A system in a folder that is no mount point, as debootstrap leaves one.
PLAIN_CHROOT = """
set -e
mount --make-rprivate /
mount -t tmpfs none "$1"
mkdir -p "$1/root/usr" "$1/root/etc" "$1/root/proc" "$1/root/dev" "$1/root/run" "$1/root$2"
for name in bin lib lib64 sbin; do ln -s "usr/$name" "$1/root/$name"; done
mount --bind /usr "$1/root/usr"
mount --bind /etc "$1/root/etc"
mount --bind "$2" "$1/root$2"
mount --rbind /dev "$1/root/dev"
mount -t proc proc "$1/root/proc"
root=$1/root
shift 2
exec chroot "$root" "$@"
"""


def in_plain_chroot(folder, *argv):
    script = ["unshare", "--mount", "sh", "-c", PLAIN_CHROOT, "sh", str(folder), REPO, *argv]
    return subprocess.run(script, capture_output=True, text=True, check=False, timeout=60)


def test_a_chroot_that_is_no_mount_point_is_reported(tmp_path):
    code = "import sys; sys.path[:0] = %r; from lab import Lab; Lab()"
    paths = [path for path in sys.path if path.endswith("tests/lab")]
    for argv in (
        ["/usr/bin/python3", "-c", code % paths],
        [SIXLANE, "bench", "forward", "--table", "10k", "--engine", "floor", "--rounds", "1"],
    ):
        done = in_plain_chroot(tmp_path, *argv)
        assert done.returncode != 0
        assert "/ is not a mount point" in done.stderr, done.stderr
        assert "mount --bind" in done.stderr
