"""Kill -9 at random moments of 200 turns: every acknowledged input ends in exactly one reply, and nothing runs twice."""

import concurrent.futures
import random
import threading
import time

import httpx
from support import wait_until

TURNS = 200
CLIENTS = 4
KILLS = 20

SCRIPT = {
    "rules": [
        {"when": {"last_role": "user", "last_user_contains": "number"},
         "reply": {"tool_calls": [{"name": "memory_write", "arguments": {"content": "tick {last_user}", "target": "count.md", "append": True}}],
                   "chunk_delay_ms": 2}},
    ],
    "default": {"text": "this is done now", "chunk_delay_ms": 2},
}


class Killer:
    """Ends the engine now and then and starts it again; clients only see broken connections."""

    def __init__(self, engine, seed):
        self.engine, self.random = engine, random.Random(seed)
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.kills = 0

    def run(self):
        while self.kills < KILLS and not self.stopping.wait(self.random.uniform(0.02, 0.5)):
            with self.lock:
                self.engine.kill9()
                self.engine.start()
                self.kills += 1
        self.stopping.wait()  # the engine dies with the thread that started it


def persist(killer, method, path, **more):
    """Tries until it is answered, whatever happens to the engine meanwhile."""
    end, last = time.monotonic() + 60, None
    while time.monotonic() < end:
        try:
            with killer.lock:
                url, headers = killer.engine.base_url, {"Authorization": f"Bearer {killer.engine.token}"}
            return httpx.request(method, url + path, headers=headers, timeout=20, **more)
        except (httpx.TransportError, OSError) as error:
            last = error
            time.sleep(0.01)
    raise AssertionError(f"the engine answers no more: {last!r}")


def one_client(killer, number):
    thread = persist(killer, "POST", "/api/chat/thread/new", json={}).raise_for_status().json()["id"]
    keys = []
    for n in range(TURNS // CLIENTS):
        key = f"{number}-{n}"
        answer = persist(killer, "POST", "/api/chat/send",
                         json={"content": f"number {key}", "thread_id": thread, "idempotency_key": key})
        assert answer.status_code == 202, answer.text
        keys.append(key)

        def ended(count=n + 1):
            turns = persist(killer, "GET", "/api/chat/history", params={"thread_id": thread, "limit": 200}).raise_for_status().json()["turns"]
            return len(turns) >= count and turns[-1]["state"] in ("completed", "failed")

        wait_until(ended, f"turn {key} ends", 60)
    return thread, keys


def test_200_turns_under_kill_9(own_engine, model):
    model.set_script(SCRIPT)
    own_engine.start()
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    killer = Killer(own_engine, seed)
    killing = threading.Thread(target=killer.run)
    killing.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            results = list(pool.map(lambda number: one_client(killer, number), range(CLIENTS)))
    finally:
        killer.stopping.set()
        killing.join()
    own_engine.wait_dead()
    own_engine.start()

    assert killer.kills > 0
    for thread, keys in results:
        history = persist(killer, "GET", "/api/chat/history", params={"thread_id": thread, "limit": 200}).json()
        assert [turn["user_input"] for turn in history["turns"]] == [f"number {key}" for key in keys]
        for turn in history["turns"]:
            assert turn["state"] == "completed", turn
            assert turn["response"] == "this is done now"
        records = persist(killer, "GET", f"/api/threads/{thread}/log", params={"limit": 1000}).json()["records"]
        started = [record["body"]["id"] for record in records if record["kind"] == "ToolStarted"]
        assert len(started) == len(set(started)), "a call that may run once was started twice"
        assert persist(killer, "POST", f"/api/threads/{thread}/replay", json={}).json()["differences"] == []
