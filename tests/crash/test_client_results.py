"""A client brings the results of its tools and says something in the same request; the engine dies around writing them down.

Needs a build with crash points: the presets dev and tsan (CHELA_BUILD)."""

import pytest

from crash.driver import check_log, needs_crash_points
from support.scripts import call

pytestmark = needs_crash_points

WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
SCRIPT = {"rules": [{"when": {"last_role": "user", "last_contains": "weather"}, "reply": {"tool_calls": [call("weather", id="a"), call("weather", id="b")]}}],
          "default": {"text": "all done"}}


def ask(client, messages):
    """Sends again after a crash, as a client with a key does."""
    return client.request("POST", "/v1/chat/completions", headers={"Idempotency-Key": f"k{len(messages)}"},
                          json={"model": "chela", "messages": messages, "tools": [WEATHER]})


@pytest.mark.parametrize("point", ["ToolFinished:1:before", "ToolFinished:2:before", "Steered:1:before",
                                   "ToolFinished:1:after", "ToolFinished:2:after", "Steered:1:after"])
def test_results_and_their_message_are_one_step(start, model, point):
    model.set_script(SCRIPT)
    client = start(point)
    messages = [{"role": "user", "content": "weather?"}]
    first = ask(client, messages)
    client.thread = first.headers["x-chela-thread"]
    calls = first.json()["choices"][0]["message"]
    assert [each["id"] for each in calls["tool_calls"]] == ["a", "b"]

    messages += [calls, {"role": "tool", "tool_call_id": "a", "content": "sun"}, {"role": "tool", "tool_call_id": "b", "content": "rain"},
                 {"role": "user", "content": "and hurry"}]
    answer = ask(client, messages)
    assert client.crashes == 1, f"{point} was never reached"
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-chela-thread"] == client.thread
    assert answer.json()["choices"][0]["message"]["content"] == "all done"
    history = client.history()
    assert len(history["turns"]) == 1 and history["turns"][0]["steered"] == ["and hurry"]
    kinds = [record["kind"] for record in check_log(client)]
    at = kinds.index("ToolFinished")
    assert kinds[at:at + 3] == ["ToolFinished", "ToolFinished", "Steered"] and kinds.count("Steered") == 1

    # What the client has seen is what the engine knows: the conversation goes on in its thread.
    messages += [answer.json()["choices"][0]["message"], {"role": "user", "content": "thanks"}]
    assert ask(client, messages).headers["x-chela-thread"] == client.thread
