# SPDX-License-Identifier: Apache-2.0
"""A client connection of a transcript: a plain socket, read line by line."""
import json
import os
import re
import socket
import struct
import time


class Closed(Exception):
    """The server closed the connection."""


class Diagnosis:
    """Asks the kernel (sock_diag) how much the owner of a loopback TCP socket has not yet read."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)  # NETLINK_SOCK_DIAG
        self.sock.settimeout(5)

    def unread(self, port, peer_port):
        """Bytes that wait at 127.0.0.1:port from peer_port; 0 too when the socket is gone."""
        loopback = socket.inet_aton("127.0.0.1") + bytes(12)
        ident = struct.pack(">HH", port, peer_port) + loopback + loopback + struct.pack("=III", 0, ~0 & 0xffffffff, ~0 & 0xffffffff)
        body = struct.pack("=BBBxI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0xffffffff) + ident
        # SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST
        self.sock.send(struct.pack("=IHHII", 16 + len(body), 20, 1, 0, 0) + body)
        answer = self.sock.recv(4096)
        if struct.unpack_from("=H", answer, 4)[0] != 20:
            return 0
        return struct.unpack_from("=I", answer, 16 + 4 + 48 + 4)[0]


class Client:
    """One socket; what it sends may be cut into single bytes, each read by the server before the next."""

    def __init__(self, name, address, timeout, note, options):
        self.name = name
        self.note = note
        self.timeout = timeout
        self.split = options.get("split", False)
        self.pings = options.get("pings", False)
        self.buf = b""
        self.info = {}
        self.diagnosis = None
        self.server_port = address[1]
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if "rcvbuf" in options:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options["rcvbuf"])
        self.sock.settimeout(timeout)
        self.sock.connect(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = self.sock.getsockname()[1]

    def send(self, data, quiet=False, whole=False):
        if not quiet:
            self.note("%s> %s" % (self.name, show(data)))
        try:
            if self.split and not whole and len(data) <= 4096:
                for i in range(len(data)):
                    self.sock.sendall(data[i:i + 1])
                    self.wait_read()
            else:
                self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # what the server said before it closed is still to be read

    def wait_read(self):
        """Returns when the server has read all that was sent."""
        deadline = time.monotonic() + self.timeout
        if self.diagnosis is None:
            self.diagnosis = Diagnosis()
        while self.diagnosis.unread(self.server_port, self.port):
            if time.monotonic() > deadline:
                raise TimeoutError("the server does not read")
            os.sched_yield()

    def line(self):
        """The next line without its CRLF; a PING of the server is answered here, unless asked for."""
        line = self.any_line()
        while line == b"PING" and not self.pings:
            self.send(b"PONG\r\n", quiet=True)
            line = self.any_line()
        return line

    def any_line(self):
        deadline = time.monotonic() + self.timeout
        while b"\r\n" not in self.buf:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("nothing came")
            self.sock.settimeout(left)
            try:
                data = self.sock.recv(65536)
            except (TimeoutError, socket.timeout):
                raise TimeoutError("nothing came") from None
            except ConnectionResetError:
                data = b""
            if not data:
                raise Closed("closed by the server" + (", with %s unfinished" % show(self.buf) if self.buf else ""))
            self.buf += data
        line, self.buf = self.buf.split(b"\r\n", 1)
        self.note("%s< %s" % (self.name, show(line)))
        return line

    def gather(self):
        """Takes in what has come, without waiting."""
        self.sock.setblocking(False)
        try:
            while True:
                data = self.sock.recv(65536)
                if not data:
                    break
                self.buf += data
        except (BlockingIOError, ConnectionResetError):
            pass
        self.sock.settimeout(self.timeout)

    def read_info(self):
        line = self.line()
        if not line.startswith(b"INFO "):
            raise ValueError("expected INFO, got %s" % show(line))
        self.info = json.loads(line[5:])

    def close(self, reset=False):
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()
        if self.diagnosis:
            self.diagnosis.sock.close()


def show(data):
    """Bytes as a transcript would write them, long ones cut."""
    text = data.decode("latin-1").replace("\\", "\\\\")
    text = re.sub(r"[\x00-\x1f\x7f-\xff]",
                  lambda m: {"\r": "\\r", "\n": "\\n", "\t": "\\t"}.get(m.group(), "\\x%02x" % ord(m.group())), text)
    return text if len(text) <= 400 else text[:300] + " … %d bytes … " % (len(text) - 400) + text[-100:]
