"""What a client that watches costs, and how far apart many clients hear the same: ./dev bench fanout [CLIENTS OF EACH KIND]"""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support import Chat, Engine, ScriptedModel  # noqa: E402
from support.crowd import Client, Crowd, resident_bytes  # noqa: E402
from support.scripts import slow  # noqa: E402
from support.waiting import wait_until  # noqa: E402

IDLE = 400  # clients whose memory is measured together: pages are too coarse for one
WORDS = 200
MARK = b"stream_chunk"


def settled(pid):
    """Resident memory once it no longer changes."""
    last = [0]

    def same():
        now = resident_bytes(pid)
        last[0], before = now, last[0]
        time.sleep(0.2)
        return now == before
    wait_until(same, "memory settles")
    return last[0]


def bytes_per_idle_client(engine, kind):
    # The first ones make what all share.
    with Crowd() as crowd:
        for _ in range(IDLE):
            crowd.add(Client(engine, kind))
    wait_until(lambda: engine.api.get("/api/gateway/status").json()["sse_connections"] == 0, "they have left")
    before = settled(engine.pid)
    with Crowd() as crowd:
        crowd.add(Client(engine, kind))
        one = settled(engine.pid)
        for _ in range(2 * IDLE - 1):
            crowd.add(Client(engine, kind))
        return {"bytes": round((settled(engine.pid) - one) / (2 * IDLE - 1)), "before": before}


def fan_out(engine, model, each):
    """For every piece of an answer: how long after the first client a client has it, in milliseconds."""
    seen = {}

    def note(client, part):
        now = time.perf_counter()
        for _ in range(part.count(MARK) // 2):  # the event's name and its data's type
            seen.setdefault(client, []).append(now)

    chat = Chat(engine)
    model.set_script({"default": slow(WORDS, delay_ms=25)})
    with Crowd(note) as crowd:
        for kind in ("sse", "ws"):
            for _ in range(each):
                crowd.add(Client(engine, kind, chat.thread))
        crowd.start()
        chat.say("talk")
        wait_until(lambda: all(b"turn_finished" in client.bytes for client in crowd.clients), "all have seen the end")
    times = list(seen.values())
    pieces = min(map(len, times))
    late = sorted((one[n] - min(other[n] for other in times)) * 1000 for n in range(pieces) for one in times)
    return {"clients": 2 * each, "pieces": pieces, "p50_ms": round(late[len(late) // 2], 2), "p99_ms": round(late[len(late) * 99 // 100], 2)}


def main():
    each = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    limits = {"CHELA_LIMITS_EVENT_SUBSCRIBERS": "4000", "CHELA_LIMITS_CONNECTIONS": "4000"}
    with tempfile.TemporaryDirectory() as home, ScriptedModel() as model:
        result = {}
        for kind in ("sse", "ws"):
            with Engine(Path(home) / kind, env=limits, model_port=model.port) as engine:
                result[f"{kind}_bytes_per_idle_client"] = bytes_per_idle_client(engine, kind)["bytes"]
        with Engine(Path(home) / "fanout", env=limits, model_port=model.port) as engine:
            result["fan_out"] = fan_out(engine, model, each)
    print(json.dumps({"benchmark": "fanout", "idle_clients": 2 * IDLE, **result}))


if __name__ == "__main__":
    main()
