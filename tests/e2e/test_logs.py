"""/api/logs: the engine's log as a stream, and its level."""

import json
import socket as sockets
from contextlib import contextmanager

import pytest

from support.limits import limit
from support.sse import EventStream


@contextmanager
def log(engine):
    with engine.api.stream("GET", "/api/logs/events") as response:
        assert response.status_code == 200
        yield EventStream(response)


def until(stream, words):
    while True:
        event = stream.next()
        assert event is not None and event.type == "log"
        if words in event.data["message"]:
            return event.data


@pytest.fixture
def fresh(own_engine):
    return own_engine.start()


def test_what_was_logged_and_then_what_is(fresh):
    with log(fresh) as lines:
        ready = until(lines, "ready")
        assert (ready["type"], ready["level"], ready["target"]) == ("log", "info", "app") and ready["timestamp"].endswith("Z")
        assert "version=" in ready["message"]
        fresh.api.put("/api/settings/ui.x", json={"value": 1})
        assert until(lines, "a setting was changed")["target"] == "config"


def test_the_level_changes_while_it_runs(fresh):
    assert fresh.api.get("/api/logs/level").json() == {"level": "info"}
    with log(fresh) as lines:
        assert fresh.api.put("/api/logs/level", json={"level": "debug"}).json() == {"level": "debug"}
        fresh.api.get("/healthz")
        request = until(lines, "path=/healthz")
        assert request["level"] == "debug"
        assert fresh.api.put("/api/logs/level", json={"level": "error"}).status_code == 200
    assert fresh.api.get("/api/logs/level").json() == {"level": "error"}
    for wrong in ({"level": "loud"}, {"level": 5}, {}):
        assert fresh.api.put("/api/logs/level", json=wrong).status_code == 422
    # The setting is another way to it, and stays.
    assert fresh.api.put("/api/settings/log.level", json={"value": "warn"}).status_code == 204
    assert fresh.api.get("/api/logs/level").json() == {"level": "warn"}
    fresh.restart()
    assert fresh.api.get("/api/logs/level").json() == {"level": "warn"}


def test_only_so_many_lines_are_kept(fresh):
    fresh.api.put("/api/logs/level", json={"level": "debug"})
    for n in range(600):
        fresh.api.get(f"/nowhere/{n}")
    with log(fresh) as lines:
        shown = 1
        while "/nowhere/599" not in lines.next().data["message"]:
            shown += 1
        # Fewer than are kept. The request that asks for them may have its line among them.
        assert limit("kLogReplayEntries") - 5 <= shown <= limit("kLogReplayEntries") < limit("kLogRingEntries")


def test_secrets_are_not_in_it(fresh):
    fresh.api.put("/api/logs/level", json={"level": "trace"})
    fresh.api.get(f"/nowhere/{fresh.token}")
    with log(fresh) as lines:
        assert fresh.token not in until(lines, "/nowhere/")["message"]


def test_a_follower_that_does_not_read_holds_up_nobody(fresh):
    fresh.api.put("/api/logs/level", json={"level": "debug"})
    stalled = sockets.socket()
    stalled.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    stalled.connect(("127.0.0.1", fresh.port))
    stalled.sendall(f"GET /api/logs/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {fresh.token}\r\n\r\n".encode())
    with log(fresh) as lines:
        for n in range(3000):
            fresh.api.get(f"/nowhere/{n}/{'x' * 3000}")
        until(lines, "/nowhere/2999/")
    stalled.settimeout(20)
    received = b""
    while b"/nowhere/2999/" not in received:
        part = stalled.recv(1 << 16)
        assert part, "it is not cut off, only behind"
        received += part
    stalled.close()
    told = [json.loads(line[6:])["message"] for line in received.decode(errors="replace").splitlines() if line.startswith("data: {") and line.endswith("}")]
    assert any("lines came too fast" in each for each in told)


def test_it_is_for_administrators(engine):
    token = engine.api.post("/api/tokens", json={"permissions": ["chat:*", "system:read"]}).json()["token"]
    with engine.client(token=token) as api:
        assert api.get("/api/logs/events").status_code == 403
        assert api.get("/api/logs/level").status_code == 403
        assert api.put("/api/logs/level", json={"level": "debug"}).status_code == 403


def test_so_many_can_follow(fresh):
    from contextlib import ExitStack
    with ExitStack() as stack:
        for _ in range(limit("kMaxLogFollowers")):
            stack.enter_context(log(fresh))
        assert fresh.api.get("/api/logs/events").status_code == 429
