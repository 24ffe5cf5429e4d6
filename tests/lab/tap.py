# SPDX-License-Identifier: GPL-2.0-only
"""Raw frames in and out of one device, by AF_PACKET. Standard library only.

Knows nothing of routers: a frame is bytes. A tap reads frames that arrive, never those that are sent
through the device. lost() counts the frames that the tap itself lost, so that no test blames the router.
"""

import errno
import itertools
import select
import socket
import struct
import threading
import time

from netns import PATIENCE

ETH_P_ALL = 0x0003
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP = 1
PACKET_STATISTICS = 6
PACKET_AUXDATA = 8
AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
PACKET_MR_PROMISC = 1
PACKET_IGNORE_OUTGOING = 23
SO_RCVBUFFORCE = 33
RCVBUF_BYTES = 64 << 20
MOST_UNREAD = 10000  # small frames, which take 2 KB there at most

# IEEE 802 local experimental ethertype: every router under test hands it up untouched.
MARKER_TYPE = b"\x88\xb5"
_marker_numbers = itertools.count()


class Tap:
    """A socket on a device of a namespace, and the frames it has read so far."""

    def __init__(self, ns, dev):
        self.ns, self.dev, self.frames = ns, dev, []
        self._lock = threading.Lock()
        with ns.entered():
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            index = socket.if_nametoindex(dev)
        ns.lab.own_socket(self.sock)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF_BYTES)
        self.sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        request = struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b"")
        self.sock.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
        self.sock.bind((dev, ETH_P_ALL))
        self.sock.setblocking(False)

    def send(self, frame):
        # ENOBUFS: a veth's ring is full, and the frame was not sent.
        was_down = False
        while True:
            try:
                return self.sock.send(frame)
            except OSError as error:
                if error.errno == errno.ENETDOWN and not was_down:
                    was_down = True  # an earlier state of the device, reported once
                    continue
                if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                    raise
                select.select([], [self.sock], [], 0.01)

    def _receive(self):
        return self.sock.recv(65536)

    def drain(self):
        """Read what is there; returns all frames since the last clear()."""
        with self._lock:
            while True:
                try:
                    self.frames.append(self._receive())
                except BlockingIOError:
                    return self.frames
                except OSError as error:
                    # Reported once when the device goes down; earlier frames are still there.
                    if error.errno != errno.ENETDOWN:
                        raise

    def clear(self):
        self.drain()
        self.frames = []

    def wait(self, ready, timeout=5.0, what="frame"):
        """Read until ready(frames) is true; returns its value."""
        timeout *= PATIENCE
        deadline = time.monotonic() + timeout
        while True:
            value = ready(self.drain())
            if value:
                return value
            if time.monotonic() > deadline:
                raise TimeoutError("%s on %s: not within %g s" % (what, self.dev, timeout))
            select.select([self.sock], [], [], 0.05)

    def lost(self):
        """Frames this socket dropped since the last call: the test's own fault."""
        raw = self.sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        return struct.unpack("II", raw)[1]


class TaggedTap(Tap):
    """A tap that reads frames as they were on the wire: the kernel hands VLAN tags over beside the frame."""

    def __init__(self, ns, dev):
        super().__init__(ns, dev)
        self.sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)

    def _receive(self):
        frame, notes, _, _ = self.sock.recvmsg(65536, socket.CMSG_SPACE(AUXDATA.size))
        for level, kind, data in notes:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = AUXDATA.unpack(data[: AUXDATA.size])
                if status & TP_STATUS_VLAN_VALID:
                    tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                    return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame


def pass_marker(sender, receiver, timeout=5.0):
    """Send a frame that nobody routes and wait for it: all sent before it has arrived too."""
    marker = b"sixlane-marker-%d." % next(_marker_numbers)
    frame = b"\xff" * 6 + b"\x02\x00\x00\x00\x00\xff" + MARKER_TYPE + marker
    start = len(receiver.drain())
    sender.send(frame.ljust(60, b"\0"))
    receiver.wait(lambda frames: any(marker in f for f in frames[start:]), timeout, "marker")


class Flow(threading.Thread):
    """A constant stream of numbered frames from a tap, until stop().

    make(number) gives the frame. About `rate` frames a second are sent, evenly. With `reader`, the tap where they
    arrive, it waits when too many are unread.
    """

    def __init__(self, tap, make, rate=2000, reader=None):
        super().__init__(daemon=True)
        self.tap, self.make, self.rate, self.sent = tap, make, rate, 0
        self.reader = reader
        self._stop_asked, self.error = threading.Event(), None

    def run(self):
        started = time.monotonic()
        try:
            while not self._stop_asked.is_set():
                due = int((time.monotonic() - started) * self.rate)
                if self.reader:
                    due = min(due, len(self.reader.frames) + MOST_UNREAD)
                for number in range(self.sent, due):
                    self.tap.send(self.make(number))
                    self.sent = number + 1
                self._stop_asked.wait(1 / 1000)
        except Exception as error:  # stop() raises it
            self.error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_exc):
        self.stop()

    def stop(self):
        """End the stream; returns how many frames went out, or raises what ended it."""
        self._stop_asked.set()
        self.join()
        if self.error:
            raise self.error
        return self.sent
