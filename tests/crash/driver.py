"""A client that wants one thing done and does not give up: it sends again after a crash, with the same key, and answers what is asked."""

import time

import httpx
import pytest

from support import Engine, wait_until
from support.process import BUILD

PATIENCE = 60

# Two batches of tools and an approval. What the model says depends only on what it sees, so it says the same after a crash.
SCRIPT = {
    "rules": [
        {"when": {"last_role": "user", "last_user_contains": "[go]"},
         "reply": {"tool_calls": [
             {"id": "tick", "name": "memory_write", "arguments": {"content": "tick", "target": "count.md", "append": True}},
             {"id": "one", "name": "echo", "arguments": {"message": "batch-one"}}]}},
        {"when": {"last_role": "tool", "last_contains": "batch-one"},
         "reply": {"text": "Now the file.", "tool_calls": [
             {"id": "file", "name": "write_file", "arguments": {"path": "out.txt", "content": "written"}},
             {"id": "two", "name": "echo", "arguments": {"message": "batch-two"}}]}},
        {"when": {"last_role": "user", "last_user_contains": "[secret]"},
         "reply": {"tool_calls": [{"id": "ask", "name": "request_secret", "arguments": {"name": "some_key"}}]}},
        {"when": {"last_user_contains": "[fail]"}, "reply": {"status": 401, "error": {"message": "no"}}},
        {"when": {"last_user_contains": "[long]"}, "reply": {"text": "long " * 400}},
    ],
    "default": {"text": "all done"},
}


def has_crash_points():
    cache = BUILD / "CMakeCache.txt"
    return cache.is_file() and "CHELA_CRASH_POINTS:BOOL=ON" in cache.read_text()


needs_crash_points = pytest.mark.skipif(not has_crash_points(), reason="this build has no crash points; use ./dev check crash")


class Client:
    """Drives one turn on one engine that may die at any time. `restart` brings the engine back without its crash point."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.crashes = 0
        self.thread = None

    def restart(self):
        self.crashes += 1
        self.engine.wait_dead()
        self.engine.env.pop("CHELA_CRASH_AT", None)
        self.engine.start()

    def request(self, method, path, **more):
        """Tries until it is answered; a connection that breaks means that the engine died."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                return self.engine.api.request(method, path, **more)
            except (httpx.TransportError, OSError):
                self.restart()
        raise AssertionError("the engine answers no more")

    def open_thread(self):
        self.thread = self.request("POST", "/api/chat/thread/new", json={}).raise_for_status().json()["id"]

    def send(self, content, key):
        answer = self.request("POST", "/api/chat/send",
                              json={"content": content, "thread_id": self.thread, "idempotency_key": key})
        assert answer.status_code == 202, answer.text
        return answer.json()

    def history(self):
        return self.request("GET", "/api/chat/history", params={"thread_id": self.thread}).raise_for_status().json()

    def last_turn(self):
        turns = self.history()["turns"]
        return turns[-1] if turns else {"state": "none"}

    def wait_for(self, *states):
        def look():
            turn = self.last_turn()
            return turn if turn["state"] in states else None

        return wait_until(look, f"the turn becomes {' or '.join(states)}")

    def approve_when_asked(self):
        """Answers yes as often as it takes; gives the last turn when it has ended."""
        while True:
            turn = self.wait_for("awaiting_approval", "completed", "failed", "interrupted")
            if turn["state"] != "awaiting_approval":
                return turn
            pending = self.history()["pending_approval"]
            if pending is None:
                continue
            answer = self.request("POST", "/api/chat/approval", json={"request_id": pending["request_id"], "action": "approve"})
            # 404 and 409: the first answer was on disk when the engine died.
            assert answer.status_code in (202, 404, 409), answer.text

    def records(self):
        return self.request("GET", f"/api/threads/{self.thread}/log").raise_for_status().json()["records"]

    def ticks(self):
        answer = self.request("GET", "/api/memory/read", params={"path": "count.md"})
        return answer.json()["content"].count("tick") if answer.status_code == 200 else 0


def check_log(client):
    """What must hold for any thread, however often its engine died."""
    records = client.records()
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    started = [record["body"]["id"] for record in records if record["kind"] == "ToolStarted"]
    for once in ("tick", "file"):
        assert started.count(once) <= 1, f"{once} was started {started.count(once)} times"
    finished = [record["body"]["id"] for record in records if record["kind"] == "ToolFinished"]
    assert len(finished) == len(set(finished)), "a call has two results"
    asked = [record["body"]["call_id"] for record in records if record["kind"] == "Asked"]
    assert len(asked) == len(set(asked)), "a question was asked twice"
    report = client.request("POST", f"/api/threads/{client.thread}/replay", json={})
    assert report.status_code == 200, report.text
    assert report.json()["differences"] == []
    return records
