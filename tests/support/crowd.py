"""Many clients of the event streams in one process: bytes are kept as they come, and read as events afterwards."""

import json
import selectors
import socket
import threading
from pathlib import Path

from support.sse import Event

SECONDS = 60


class Client:
    """One raw connection that watches events, as SSE or over a WebSocket. A stalled one reads its head only."""

    def __init__(self, engine, kind, thread_id=None, stalled=False):
        self.kind, self.stalled = kind, stalled
        self.bytes = bytearray()
        self.socket = socket.socket()
        if stalled:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(SECONDS)
        self.socket.connect(("127.0.0.1", engine.port))
        path = "/api/chat/events" if kind == "sse" else "/api/chat/ws"
        query = f"?thread_id={thread_id}" if thread_id else ""
        head = f"GET {path}{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {engine.token}\r\n"
        head += "Connection: close\r\n" if kind == "sse" else "Connection: Upgrade\r\n"
        if kind == "ws":
            head += "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        self.socket.sendall((head + "\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = self.socket.recv(1 if stalled else 4096)
            assert part, "the engine closed instead of answering"
            answer += part
        self.head, _, rest = answer.partition(b"\r\n\r\n")
        self.bytes += rest
        assert self.head.split()[1] == (b"200" if kind == "sse" else b"101"), self.head

    def events(self):
        """What it has got so far, whole events only."""
        return list(sse_events(bytes(self.bytes)) if self.kind == "sse" else ws_events(bytes(self.bytes)))

    def drain(self):
        """Reads on until the engine closes."""
        while part := self.socket.recv(1 << 16):
            self.bytes += part

    def close(self):
        self.socket.close()


def chunks(body):
    """The content of a chunked body as far as it has come."""
    at = 0
    while (end := body.find(b"\r\n", at)) >= 0:
        size = int(body[at:end], 16)
        if size == 0 or len(body) < end + 2 + size:
            return
        yield body[end + 2:end + 2 + size]
        at = end + 2 + size + 2


def sse_events(body):
    for block in b"".join(chunks(body)).split(b"\n\n")[:-1]:
        fields = {}
        for line in block.decode().splitlines():
            name, _, value = line.partition(": ")
            fields[name] = value
        if "data" in fields:
            yield Event(fields.get("id", ""), fields["event"], json.loads(fields["data"]))


def frames(body):
    """(opcode, payload) of a server's frames, which have no mask."""
    at = 0
    while at + 2 <= len(body):
        length, head = body[at + 1] & 127, 2
        if length > 125:
            head = 4 if length == 126 else 10
            length = int.from_bytes(body[at + 2:at + head], "big")
        if at + head + length > len(body):
            return
        yield body[at] & 15, body[at + head:at + head + length]
        at += head + length


def ws_events(body):
    for opcode, payload in frames(body):
        frame = json.loads(payload) if opcode == 1 else {}
        if frame.get("type") == "event":
            yield Event(frame.get("id", ""), frame["event_type"], frame["data"])


class Crowd:
    """Clients that one thread reads from, all but the stalled ones."""

    def __init__(self, on_bytes=None):
        self.clients = []
        self._on_bytes = on_bytes  # called with (client, bytes) from the reading thread
        self._selector = selectors.DefaultSelector()
        self._stop = False
        self._thread = threading.Thread(target=self._read, daemon=True)

    def add(self, client):
        self.clients.append(client)
        if not client.stalled:
            client.socket.setblocking(False)
            self._selector.register(client.socket, selectors.EVENT_READ, client)
        return client

    def start(self):
        self._thread.start()
        return self

    def _read(self):
        while not self._stop:
            for key, _ in self._selector.select(timeout=0.2):
                try:
                    part = key.data.socket.recv(1 << 18)
                except BlockingIOError:
                    continue
                if not part:
                    self._selector.unregister(key.fileobj)
                    continue
                key.data.bytes += part
                if self._on_bytes:
                    self._on_bytes(key.data, part)

    def close(self):
        self._stop = True
        if self._thread.is_alive():
            self._thread.join()
        for client in self.clients:
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def own_memory(program):
    """Whether what the program holds is its own. A sanitizer keeps freed memory and a shadow of all of it."""
    code = Path(program).read_bytes()
    return b"__asan_init" not in code and b"__tsan_init" not in code


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))
