"""Server-sent events of the gateway, read when a test asks for them."""

import json
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from support.waiting import DEADLINE


@dataclass
class Event:
    id: str
    type: str
    data: dict


class EventStream:
    """What a subscriber sees. The stream is live from its creation; events wait until next() takes them."""

    def __init__(self, response):
        self.response = response
        self.seen = []
        self._lines = response.iter_lines()

    def next(self):
        """The next event; None when the engine ended the stream."""
        fields = {"id": "", "event": "message", "data": []}
        for line in self._lines:
            if line == "" and fields["data"]:
                event = Event(fields["id"], fields["event"], json.loads("\n".join(fields["data"])))
                self.seen.append(event)
                return event
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                fields["data"].append(value)
            elif name in ("id", "event"):
                fields[name] = value
        return None

    def until(self, type, **fields):
        """Takes events up to the first of this type whose data has these fields; gives all taken, that one last."""
        taken = []
        while True:
            event = self.next()
            assert event is not None, f"the stream ended before {type}; seen: {[each.type for each in taken]}"
            taken.append(event)
            if event.type == type and all(event.data.get(name) == value for name, value in fields.items()):
                return taken


def text_of(events):
    """What a client shows at the end: chunks in order, replaced where the stream says so."""
    text = ""
    for each in events:
        if each.type == "stream_reset":
            text = each.data["text"]
        elif each.type == "stream_chunk":
            text += each.data["content"]
    return text


@contextmanager
def open_events(base_url, token, last_event_id=None, **params):
    headers = {"Authorization": f"Bearer {token}"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    timeout = httpx.Timeout(DEADLINE)
    with httpx.Client(base_url=base_url, headers=headers, timeout=timeout) as client:
        with client.stream("GET", "/api/chat/events", params=params) as response:
            if response.status_code != 200:
                response.read()
                raise AssertionError(f"events: {response.status_code} {response.text}")
            yield EventStream(response)
