# SPDX-License-Identifier: GPL-2.0-only
"""A TCP conversation between the stacks of two namespaces, by programs of their own."""

import json

PYTHON = "/usr/bin/python3"
SERVE = """
import socket
server = socket.create_server(("::", 7000), family=socket.AF_INET6)
print("up", flush=True)
peer, _ = server.accept()
total = 0
while data := peer.recv(65536):
    total += len(data)
peer.sendall(b"%d" % total)
"""
SEND = """
import json, socket, sys
peer = socket.create_connection((sys.argv[1], 7000), 30)
peer.sendall(b"x" * int(sys.argv[2]))
peer.shutdown(socket.SHUT_WR)
print(json.dumps({"received": int(peer.recv(100)), "mtu": peer.getsockopt(41, 24)}))  # IPV6_MTU
"""


def listen(ns):
    """A server there, for one conversation."""
    server = ns.popen(PYTHON, "-c", SERVE, stdout=-1, text=True)
    assert server.stdout.readline() == "up\n"


def send(ns, address, count):
    """That many bytes to it: {"received": bytes that it got, "mtu": the sender's Path MTU at the end}."""
    return json.loads(ns.run(PYTHON, "-c", SEND, address, count, timeout=100).stdout)
