"""Faults of the model behind us, as a client of /v1 meets them: OpenAI's envelope, the right status, never a hang."""

import json

import httpx
import pytest

from support import wait_until
from support.faults import AFTER_TEXT, BEFORE_TEXT, TEXT
from support.scripts import call

MODELS = ["chela", "scripted"]  # the agent, and the model itself


def post(engine, model_id, stream, text="hello"):
    return engine.api.post("/v1/chat/completions", json={"model": model_id, "stream": stream,
                                                         "messages": [{"role": "user", "content": text}]})


def chunks(answer):
    """The events of a stream; the last one tells how it ended."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    return [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]


def text_of(parts):
    return "".join(json.loads(each)["choices"][0]["delta"].get("content") or "" for each in parts if '"delta"' in each)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize("fault", BEFORE_TEXT)
def test_before_any_text(engine, model, fault, model_id, stream):
    reply, status, code, _ = BEFORE_TEXT[fault]
    model.set_script({"default": reply})
    answer = post(engine, model_id, stream)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == code and len(error["message"]) > 10
    assert "<html" not in error["message"]
    if status == 429:
        assert answer.headers["retry-after"] == "90"
    assert len(model.requests()) == 1


@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize("fault", AFTER_TEXT)
def test_after_some_text_of_a_stream(engine, model, fault, model_id):
    model.set_script({"default": AFTER_TEXT[fault][0]})
    answer = post(engine, model_id, stream=True)
    assert answer.status_code == 200
    parts = chunks(answer)
    sent = text_of(parts[:-1])
    assert sent and TEXT.startswith(sent.strip())
    error = json.loads(parts[-1])["error"]
    assert error["type"] == "server_error" and error["code"] == AFTER_TEXT[fault][1]
    assert "[DONE]" not in parts
    assert len(model.requests()) == 1


@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize("fault", AFTER_TEXT)
def test_after_some_text_of_a_whole_answer(engine, model, fault, model_id):
    reply, code = AFTER_TEXT[fault]
    model.set_script({"default": reply})
    answer = post(engine, model_id, stream=False)
    assert answer.status_code == (504 if code == "timeout" else 502)
    assert answer.json()["error"]["code"] == code


# What looks odd, but is an answer.
HARMLESS = {
    "split UTF-8": ({"text": "Grüße 世界 👩‍👩‍👧", "write_bytes": 1}, "Grüße 世界 👩‍👩‍👧"),
    "one byte a chunk": ({"text": TEXT, "chunk_bytes": 1}, TEXT),
    "no [DONE]": ({"text": TEXT, "done": False}, TEXT),
    "one document although a stream was asked for": ({"text": TEXT, "stream": False}, TEXT),
    "a stray byte": ({"text": TEXT, "invalid_utf8": True}, None),
    "a wrong content type": ({"text": TEXT, "content_type": "text/plain"}, TEXT),
    "no usage": ({"events": [{"choices": [{"delta": {"content": TEXT}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]"]}, TEXT),
    "unknown fields and events": ({"events": [{"surprise": True, "choices": []}, {"choices": [{"index": 0, "delta": {"content": TEXT, "mood": "odd"}}]},
                                              {"choices": [{"delta": {}, "finish_reason": "because"}]}, "[DONE]"]}, TEXT),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize("oddity", HARMLESS)
def test_what_is_only_odd_is_an_answer(engine, model, oddity, model_id, stream):
    reply, text = HARMLESS[oddity]
    model.set_script({"default": reply})
    answer = post(engine, model_id, stream)
    assert answer.status_code == 200, answer.text
    if stream:
        parts = chunks(answer)
        assert parts[-1] == "[DONE]"
        got = text_of(parts[:-1])
    else:
        choice = answer.json()["choices"][0]
        assert choice["finish_reason"] == "stop"
        got = choice["message"]["content"]
    assert got == text if text else "\ufffd" in got and got.replace("\ufffd", "")


@pytest.mark.parametrize("stream", [False, True])
def test_call_arguments_in_single_bytes(engine, model, stream):
    model.set_script({"default": {"tool_calls": [call("weather", id="w", city="Zürich 世界"), call("weather", id="v", city="Rom")], "fragment_bytes": 1}})
    weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}
    for model_id in MODELS:
        answer = engine.api.post("/v1/chat/completions", json={
            "model": model_id, "stream": stream, "tools": [weather], "messages": [{"role": "user", "content": f"weather {model_id} {stream}"}]})
        assert answer.status_code == 200, answer.text
        if stream:
            calls = [each for part in chunks(answer)[:-1] for each in json.loads(part)["choices"][0]["delta"].get("tool_calls") or []]
        else:
            calls = answer.json()["choices"][0]["message"]["tool_calls"]
        assert [json.loads(each["function"]["arguments"])["city"] for each in calls] == ["Zürich 世界", "Rom"]


def test_a_client_that_hangs_up_ends_its_turn(engine, model):
    model.set_script({"default": {"text": TEXT, "chunk_delay_ms": 300}})  # takes seconds, never silent for long
    thread = engine.api.post("/api/chat/thread/new", json={}).json()["id"]
    body = {"model": "chela", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    headers = {"Authorization": f"Bearer {engine.token}", "X-Chela-Thread": thread}
    with httpx.stream("POST", f"{engine.base_url}/v1/chat/completions", json=body, headers=headers, timeout=60) as answer:
        next(answer.iter_lines())

    def state():
        return engine.api.get("/api/chat/history", params={"thread_id": thread}).json()["turns"][-1]["state"]
    wait_until(lambda: state() != "processing", "the turn ends")
    assert state() == "interrupted"
