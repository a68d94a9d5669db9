"""A client that is quick and rude: a WebSocket by hand over a plain socket, so that a test decides when it reads and how it goes."""

import json
import socket
import struct

from support.waiting import DEADLINE

HANDSHAKE = ("GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Gone(Exception):
    """The other side has ended the connection."""


class Wire:
    """One connection. Nothing is read unless a test asks for it."""

    def __init__(self, port, path="/", receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._calls = 0
        self._raw(HANDSHAKE.format(path=path).encode())
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        assert b" 101 " in head.split(b"\r\n")[0], head

    def _raw(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone from error

    def _more(self):
        try:
            data = self.socket.recv(1 << 18)
        except TimeoutError:
            raise AssertionError("the engine says nothing") from None
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        self._buffer += data

    def _take(self, count):
        while len(self._buffer) < count:
            self._more()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def frame(self, payload, kind=TEXT):
        """Sends one frame. Its mask is zero, which is valid and keeps the payload as it is."""
        size = len(payload)
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size) if size < 126 else struct.pack("!BBH", 0x80 | kind, 0xfe, size) \
            if size < 65536 else struct.pack("!BBQ", 0x80 | kind, 0xff, size)
        self._raw(head + b"\0\0\0\0" + payload)

    def send(self, **message):
        self.frame(json.dumps(message).encode())

    def register(self, *ids):
        for each in ids:
            self.send(type="registerfunction", id=each)

    def trigger(self, ident, kind, function_id, **config):
        self.send(type="registertrigger", id=ident, trigger_type=kind, function_id=function_id, config=config)

    def invoke(self, function_id, data=None, ident=None, **more):
        self.send(type="invokefunction", function_id=function_id, data=data or {}, **({"invocation_id": ident} if ident else {}), **more)

    def answer(self, call, value=None):
        self.send(type="invocationresult", invocation_id=call["invocation_id"], function_id=call["function_id"], result=value)

    def next(self):
        """The next message; pings of the other side are answered. Raises Gone at the end."""
        while True:
            kind, size = self._take(2)
            if size == 126:
                size, = struct.unpack("!H", self._take(2))
            elif size == 127:
                size, = struct.unpack("!Q", self._take(8))
            payload = self._take(size)
            if kind & 15 == CLOSE:
                raise Gone
            if kind & 15 == PING:
                self.frame(payload, PONG)
            elif kind & 15 in (TEXT, BINARY):
                return json.loads(payload) if kind & 15 == TEXT else payload

    def until(self, kind, **fields):
        """The messages up to the first of this type with these fields, which is the last of them."""
        taken = []
        while not taken or taken[-1]["type"] != kind or any(taken[-1].get(name) != value for name, value in fields.items()):
            taken.append(self.next())
        return taken

    def sync(self):
        """Waits until all that was sent has been taken; gives what came meanwhile."""
        self.send(type="ping")
        return self.until("pong")[:-1]

    def call(self, function_id, data=None, **more):
        """The answer's frame. What comes before it is dropped."""
        self._calls += 1
        self.invoke(function_id, data, f"call-{self._calls}", **more)
        return self.until("invocationresult", invocation_id=f"call-{self._calls}")[-1]

    def finish(self):
        """Ends its side; what was sent arrives."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
            while self.socket.recv(1 << 16):
                pass
        except OSError:
            pass
        self.socket.close()

    def reset(self):
        """Ends at once, as when a machine goes: what is under way is lost."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
