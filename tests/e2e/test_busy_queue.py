"""agent.busy = "queue": a message to a busy thread waits for its own turn."""

import pytest

from support import wait_until
from support.limits import limit
from support.scripts import HANG


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_AGENT_BUSY": "queue"}


def test_waiting_messages_get_turns_of_their_own_in_order(chat, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    first = chat.send("hang please")
    second = chat.send("second")
    third = chat.send("third")
    assert len({first["turn_id"], second["turn_id"], third["turn_id"]}) == 3
    assert chat.interrupt().status_code == 200
    assert chat.wait(second["turn_id"])["reply"].endswith("second")
    assert chat.wait(third["turn_id"])["reply"].endswith("third")
    assert [turn["user_input"] for turn in chat.turns()] == ["hang please", "second", "third"]
    assert [turn["state"] for turn in chat.turns()] == ["interrupted", "completed", "completed"]


def test_the_queue_has_an_end(chat, model):
    model.set_script({"rules": [{"when": {"last_user_contains": "hang"}, "reply": HANG}]})
    chat.send("hang please")
    statuses = []
    for n in range(limit("kMaxQueuedTurns") + 1):
        answer = chat.api.post("/api/chat/send", json={"content": f"message {n}", "thread_id": chat.thread})
        statuses.append(answer.status_code)
        if answer.status_code != 202:
            break
    assert statuses[-1] == 429 and statuses.count(202) == limit("kMaxQueuedTurns")
    chat.interrupt()
    chat.wait_for_state("completed")
    # What was accepted is answered, all of it.
    wait_until(lambda: [turn["state"] for turn in chat.turns()].count("completed") == limit("kMaxQueuedTurns"), "the queue is worked off")
