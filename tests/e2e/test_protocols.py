"""Turns of an agent over each protocol that models speak, configured by the environment alone."""

import json

import pytest

from support import Chat, ScriptedModel
from support.engine import API_KEY
from support.scripts import call
from support.sse import text_of
from support.upstreams import NO_KEY, PROTOCOLS, Upstream, engine_of

# What providers of each protocol say of a prompt that is too long.
TOO_LONG = {
    "openai_chat": {"message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
                    "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"},
    "openai_responses": {"message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
                         "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"},
    "anthropic": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"},
    "gemini": {"code": 400, "status": "INVALID_ARGUMENT",
               "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
    "ollama": {"message": "the input length exceeds the context length"},
    "bedrock": {"message": "Input is too long for requested model."},
    "nearai": {"message": "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (38000 in the "
                          "messages, 2000 in the completion).", "type": "BadRequestError", "param": None, "code": 400},
}

TEXT = "one two three four five six seven eight"


@pytest.fixture(scope="module", params=PROTOCOLS)
def running(request, tmp_path_factory):
    with ScriptedModel() as model, engine_of(request.param, tmp_path_factory.mktemp("home"), model.port) as engine:
        yield Upstream(request.param, engine, model)


@pytest.fixture
def upstream(running):
    running.model.set_script({})
    return running


def test_a_turn_with_a_tool(upstream):
    upstream.model.set_script({
        "rules": [{"when": {"last_contains": "391"}, "reply": {"text": "It is 391."}}],
        "default": {"reasoning": "let me see", "tool_calls": [call("calculator", id="c1", expression="17*23")]}})
    chat = Chat(upstream.engine)
    chat.say("What is 17*23?")
    turn = chat.last()
    assert (turn["state"], turn["response"]) == ("completed", "It is 391.")
    assert [each["name"] for each in turn["tool_calls"]] == ["calculator"]
    first, second = upstream.asked()
    assert "calculator" in json.dumps(first["body"]) and "391" in json.dumps(second["body"])
    if upstream.protocol not in NO_KEY:
        assert API_KEY not in json.dumps([first["body"], second["body"]])
    assert API_KEY not in upstream.engine.log_text()


def test_a_conversation_goes_on(upstream):
    chat = Chat(upstream.engine)
    assert chat.say("my name is Ada")["reply"].endswith("my name is Ada")
    assert chat.say("what is my name?")["reply"].endswith("what is my name?")
    assert "my name is Ada" in json.dumps(upstream.asked()[-1]["body"])


def test_the_answer_is_shown_while_it_comes(upstream):
    upstream.model.set_script({"default": {"text": TEXT}})
    chat = Chat(upstream.engine)
    with upstream.engine.events(chat.thread) as events:
        chat.send("count")
        seen = events.until("turn_finished")
    pieces = [each.data["content"] for each in seen if each.type == "stream_chunk"]
    assert len(pieces) > 1 and text_of(seen) == TEXT


def test_a_refused_key_is_not_tried_again(upstream):
    upstream.model.set_script({"default": {"status": 401, "error": {"message": f"wrong key {API_KEY}"}}})
    turn = Chat(upstream.engine).say("hello")
    assert turn["state"] == "failed" and API_KEY not in turn["error"]
    assert len(upstream.asked()) == 1


def test_a_busy_provider_is_asked_again(upstream):
    upstream.model.set_script({"replies": [{"status": 429, "retry_after": "0"}], "default": {"text": "now"}})
    assert Chat(upstream.engine).say("hello")["reply"] == "now"
    assert len(upstream.asked()) == 2


def test_a_prompt_that_is_too_long_is_compacted_and_sent_again(upstream):
    chat = Chat(upstream.engine)
    for number in range(6):
        chat.say(f"message {number} " + "word " * 400)
    too_long = {"status": 400, "error": TOO_LONG[upstream.protocol]}
    upstream.model.set_script({"replies": [too_long], "default": {"text": "short again"}})
    turn = chat.say("go on")
    assert (turn["state"], turn["reply"]) == ("completed", "short again")
    sizes = [len(json.dumps(each["body"])) for each in upstream.asked()]
    assert sizes[-1] < sizes[0]


@pytest.mark.parametrize("stream", [False, True])
def test_a_stream_cut_in_the_middle_has_the_right_envelope(upstream, stream):
    upstream.model.set_script({"default": {"text": TEXT, "cut_after": 6}})
    answer = upstream.engine.api.post("/v1/chat/completions", json={
        "model": "chela", "stream": stream, "messages": [{"role": "user", "content": "count"}]})
    if stream:
        assert answer.status_code == 200
        lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
        assert "[DONE]" not in lines and len(lines) > 1
        error = json.loads(lines[-1])["error"]
    else:
        assert answer.status_code == 502
        error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["type"] == "server_error"
    assert len(upstream.asked()) == 1
