# SPDX-License-Identifier: Apache-2.0
"""A client for load and overload tests: a socket that speaks the protocol, every wait with a limit."""
import json
import socket
import struct

CONNECT = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}


class Peer:
    """One connection; what it sends and reads is up to its owner."""

    def __init__(self, address, user=None, secret=None, patience=20, rcvbuf=0):
        self.buf = b""
        self.sock = socket.socket()
        self.sock.settimeout(patience)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.connect(address)
        self.port = self.sock.getsockname()[1]
        options = dict(CONNECT, **({"user": user, "pass": secret} if user else {}))
        self.sock.sendall(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def line(self):
        while b"\r\n" not in self.buf:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError("closed")
            self.buf += data
        line, self.buf = self.buf.split(b"\r\n", 1)
        return line

    def take(self, size):
        while len(self.buf) < size + 2:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError("closed")
            self.buf += data
        data, self.buf = self.buf[:size], self.buf[size + 2:]
        return data

    def message(self):
        """The next message as (subject, payload with headers), answering PINGs on the way."""
        while True:
            line = self.line()
            if line == b"PING":
                self.send(b"PONG\r\n")
            elif line.startswith((b"MSG ", b"HMSG ")):
                word = line.split()
                return word[1], self.take(int(word[-1]))
            elif line.startswith(b"-ERR"):
                raise ConnectionError(line.decode())

    def message_with_reply(self):
        """The reply subject of the next message, which has no headers of interest."""
        while True:
            line = self.line()
            if line == b"PING":
                self.send(b"PONG\r\n")
            elif line.startswith((b"MSG ", b"HMSG ")):
                word = line.split()
                self.take(int(word[-1]))
                return word[3]

    def fence(self):
        self.send(b"PING\r\n")
        while self.line() != b"PONG":
            pass

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def ready(self):
        """Returns when CONNECT has been taken."""
        while self.line() != b"PONG":
            pass
        return self

    def ask(self, subject, body=b"", inbox=b"_INBOX.ask"):
        """One request; the payload of its answer, without headers or not."""
        self.send(b"SUB %s ask\r\nUNSUB ask 1\r\nPUB %s %s %d\r\n%s\r\n" % (inbox, subject, inbox, len(body), body))
        while True:
            got, payload = self.message()
            if got == inbox:
                return payload
