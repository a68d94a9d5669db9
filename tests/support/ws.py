"""/api/chat/ws: a client that keeps what it has seen."""

import json
from contextlib import contextmanager
from urllib.parse import urlencode

from websockets.sync.client import connect

from support.sse import Event
from support.waiting import DEADLINE


class Socket:
    """One WebSocket client. Frames wait until next() takes them."""

    def __init__(self, connection):
        self.connection = connection
        self.seen = []

    def send(self, frame):
        """An object, or text or bytes as they are."""
        self.connection.send(json.dumps(frame) if isinstance(frame, dict) else frame)

    def next(self):
        return json.loads(self.connection.recv(timeout=DEADLINE))

    def answer(self):
        """The next frame that is no event; events before it are kept in `seen`."""
        while True:
            frame = self.next()
            if frame["type"] != "event":
                return frame
            self._event(frame)

    def until(self, type, **fields):
        """As EventStream.until: the events up to this one. Other frames are passed over."""
        taken = []
        while True:
            frame = self.next()
            if frame["type"] != "event":
                continue
            taken.append(self._event(frame))
            if taken[-1].type == type and all(taken[-1].data.get(name) == value for name, value in fields.items()):
                return taken

    def _event(self, frame):
        event = Event(frame.get("id", ""), frame["event_type"], frame["data"])
        self.seen.append(event)
        return event

    def close_code(self):
        """Reads on until the connection is closed and gives the code."""
        from websockets.exceptions import ConnectionClosed
        try:
            while True:
                self.connection.recv(timeout=DEADLINE)
        except ConnectionClosed:
            return self.connection.close_code


def socket_url(engine, **params):
    query = urlencode({name: value for name, value in params.items() if value is not None})
    return f"ws://127.0.0.1:{engine.port}/api/chat/ws" + (f"?{query}" if query else "")


@contextmanager
def open_socket(engine, thread_id=None, last_event_id=None, headers=None, **more):
    """With the gateway's token in a header unless `headers` says otherwise."""
    if headers is None:
        headers = {"Authorization": f"Bearer {engine.token}"}
    token = more.pop("token", None)
    origin = more.pop("origin", None)
    url = socket_url(engine, thread_id=thread_id, last_event_id=last_event_id, token=token)
    with connect(url, additional_headers=headers, origin=origin, max_size=None, open_timeout=DEADLINE, compression=None,
                 close_timeout=DEADLINE, **more) as connection:
        yield Socket(connection)
