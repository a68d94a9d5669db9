"""A hundred clients of each kind watch, and one of each does not read: the others get everything, and memory stays bounded."""

import pytest

from support import Chat, wait_until
from support.crowd import Client, Crowd, own_memory, resident_bytes
from support.scripts import call, slow, tools_then
from support.sse import text_of

OF_EACH = 100
MIB = 1 << 20
# What two clients that do not read may hold (queue and unsent bytes), and what the long answers cost the engine itself.
MAX_GROWTH = 128 * MIB


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_LIMITS_EVENT_SUBSCRIBERS": str(2 * OF_EACH)}


def test_a_hundred_of_each_with_one_of_each_stalled(engine, model):
    watched = Chat(engine)
    with Crowd() as crowd:
        # The stalled ones watch everything their user does, the others one thread: what fills the former does not touch the latter.
        stalled = [crowd.add(Client(engine, kind, stalled=True)) for kind in ("sse", "ws")]
        reading = [crowd.add(Client(engine, kind, watched.thread)) for kind in ("sse", "ws") for _ in range(OF_EACH - 1)]
        crowd.start()
        status = engine.api.get("/api/gateway/status").json()
        assert (status["sse_connections"], status["ws_connections"]) == (OF_EACH, OF_EACH)
        assert engine.api.get("/api/chat/events").status_code == 429
        before = resident_bytes(engine.pid)

        replies = []
        for n in range(5):
            model.set_script({"default": {"text": f"{n} " + "long " * 400_000, "chunk_bytes": 4000}})
            Chat(engine).say("talk")  # 2 MB in a thread of its own
            model.set_script(tools_then(f"reply {n}", call("calculator", expression=f"{n}+1")) if n % 2 else {"default": slow(40, delay_ms=1)})
            replies.append(watched.say(f"message {n}")["reply"])

        def whole(client):
            return bytes(client.bytes).count(b'"type":"turn_finished"') >= len(replies)
        wait_until(lambda: all(map(whole, reading)), "every client that reads has seen every turn")
        grown = resident_bytes(engine.pid) - before

        assert grown < MAX_GROWTH or not own_memory(engine.program), f"{grown / MIB:.0f} MiB more"

        for client in reading:
            events = client.events()
            assert [each.data["content"] for each in events if each.type == "response"] == replies
            assert {each.data["thread_id"] for each in events} == {watched.thread}
            places = [tuple(map(int, each.id.split("."))) for each in events if each.id]
            assert places == sorted(places) and len(set(places)) == len(places)
            assert "stream_reset" not in {each.type for each in events}
            for turn in {each.data["turn_id"] for each in events}:
                own = [each for each in events if each.data["turn_id"] == turn]
                assert text_of(own) == next(each.data["content"] for each in own if each.type == "response")
        # They find that they were cut off long before: what was made meanwhile is not there for them.
        for client in stalled:
            client.drain()
            events = client.events()
            assert events[-1].type == "stream_reset" and sum(each.type == "response" for each in events) < 10

    def gone():
        now = engine.api.get("/api/gateway/status").json()
        return now["sse_connections"] == now["ws_connections"] == 0
    wait_until(gone, "all have left")
