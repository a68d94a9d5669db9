"""The official Python clients ask a model itself, whatever protocol it speaks behind us."""

import json

import anthropic
import openai
import pytest

from support.scripts import call

TEXT = "one two three four five six seven eight nine ten"
USAGE = {"input": 100, "output": 7, "cached": 60}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkY+BhAAAAngBSH1Ig6AAAAABJRU5ErkJggg=="
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": CITY}}
RESPONSES_TOOL = {"type": "function", "name": "weather", "description": "of a city", "strict": False, "parameters": CITY}
MESSAGES_TOOL = {"name": "weather", "description": "of a city", "input_schema": CITY}
# The result's text tells the second call from the first: one of the protocols has no messages of tools.
WEATHER = {"rules": [{"when": {"last_contains": "12 degrees"}, "reply": {"text": "Rain."}}],
           "default": {"tool_calls": [call("weather", id="w1", city="Rome")]}}


@pytest.fixture
def client(upstream):
    engine = upstream.engine
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key=engine.token, max_retries=0, timeout=60) as made:
        yield made


@pytest.fixture
def claude(upstream):
    engine = upstream.engine
    with anthropic.Anthropic(base_url=engine.base_url, api_key=engine.token, max_retries=0, timeout=60) as made:
        yield made


def chat(client, content="hello there", **more):
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    return client.chat.completions.create(model="scripted", messages=messages, **more)


def respond(client, said="hello there", **more):
    return client.responses.create(model="scripted", input=said, **more)


def ask(claude, content="hello there", **more):
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    return claude.messages.create(model="scripted", max_tokens=500, messages=messages, **more)


def last_body(upstream):
    return json.dumps(upstream.asked()[-1]["body"])


# --- chat completions

def test_chat(client):
    answer = chat(client)
    assert answer.choices[0].message.content == "echo: hello there" and answer.choices[0].finish_reason == "stop"
    assert answer.model == "scripted"


def test_chat_streams(client, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "reasoning": "well", "usage": USAGE}})
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    pieces = [each.choices[0].delta.content for each in chunks if each.choices and each.choices[0].delta.content]
    assert len(pieces) > 1 and "".join(pieces) == TEXT
    usage = chunks[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (100, 7)
    assert usage.prompt_tokens_details.cached_tokens == (60 if upstream.tells_cached_tokens else 0)


def test_chat_tells_what_it_took(client, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "usage": USAGE}})
    usage = chat(client).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100, 7, 107)
    assert usage.prompt_tokens_details.cached_tokens == (60 if upstream.tells_cached_tokens else 0)


@pytest.mark.parametrize("stream", [False, True])
def test_chat_with_a_tool(client, upstream, stream):
    upstream.model.set_script(WEATHER)
    messages = [{"role": "user", "content": "Rome?"}]
    if stream:
        with client.chat.completions.stream(model="scripted", messages=messages, tools=[CHAT_TOOL]) as events:
            asked = next(each.snapshot for each in reversed(list(events)) if each.type == "chunk").choices[0]
    else:
        asked = chat(client, messages, tools=[CHAT_TOOL]).choices[0]
    (use,) = asked.message.tool_calls
    assert asked.finish_reason == "tool_calls" and use.id and use.function.name == "weather"
    assert json.loads(use.function.arguments) == {"city": "Rome"}
    messages += [{"role": "assistant", "content": None, "tool_calls": [
        {"id": use.id, "type": "function", "function": {"name": "weather", "arguments": use.function.arguments}}]},
        {"role": "tool", "tool_call_id": use.id, "content": "rain, 12 degrees"}]
    assert chat(client, messages, tools=[CHAT_TOOL]).choices[0].message.content == "Rain."


def test_chat_with_an_image(client, upstream):
    chat(client, [{"role": "user", "content": [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]}])
    assert PIXEL in last_body(upstream) and "what is it?" in last_body(upstream)


def test_chat_cut_in_the_middle(client, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "cut_after": 7}})
    pieces = []
    with pytest.raises(openai.APIError) as caught:
        for chunk in chat(client, stream=True):
            pieces.append(chunk.choices[0].delta.content or "")
    assert "".join(pieces) and TEXT.startswith("".join(pieces))
    assert caught.value.body["type"] == "server_error"
    with pytest.raises(openai.InternalServerError):
        chat(client)
    assert len(upstream.asked()) == 2


FAILURES = [
    ({"status": 400, "error": {"message": "no such thing"}}, "BadRequestError"),
    ({"status": 401, "error": {"message": "who are you"}}, "InternalServerError"),
    ({"status": 429, "retry_after": "120", "error": {"message": "slow down"}}, "RateLimitError"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reply, kind", FAILURES)
@pytest.mark.parametrize("way", ["chat", "responses", "messages"])
def test_what_the_upstream_refuses(client, claude, upstream, way, reply, kind, stream):
    upstream.model.set_script({"default": reply})
    ways = {"chat": lambda: chat(client, stream=stream), "responses": lambda: respond(client, stream=stream),
            "messages": lambda: ask(claude, stream=stream)}
    package = anthropic if way == "messages" else openai
    with pytest.raises(getattr(package, kind)) as caught:
        ways[way]()
    if reply["status"] == 429:
        assert caught.value.response.headers["retry-after"] == "120"
    if reply["status"] == 401:
        assert caught.value.status_code == 502
        if way != "messages":
            assert caught.value.code == "upstream_auth"
    assert len(upstream.asked()) == 1


# --- responses

def test_a_response(client, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "usage": USAGE}})
    answer = respond(client)
    assert answer.output_text == TEXT and answer.status == "completed"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (100, 7)
    assert answer.usage.input_tokens_details.cached_tokens == (60 if upstream.tells_cached_tokens else 0)


def test_a_response_streams(client, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "usage": USAGE}})
    events = list(respond(client, stream=True))
    pieces = [each.delta for each in events if each.type == "response.output_text.delta"]
    assert len(pieces) > 1 and "".join(pieces) == TEXT
    assert events[-1].type == "response.completed" and events[-1].response.usage.input_tokens == 100


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_with_a_tool(client, upstream, stream):
    upstream.model.set_script(WEATHER)
    if stream:
        with client.responses.stream(model="scripted", input="Rome?", tools=[RESPONSES_TOOL]) as events:
            asked = events.get_final_response()
    else:
        asked = respond(client, "Rome?", tools=[RESPONSES_TOOL])
    (use,) = [item for item in asked.output if item.type == "function_call"]
    assert use.name == "weather" and json.loads(use.arguments) == {"city": "Rome"}
    told = respond(client, [
        {"role": "user", "content": "Rome?"},
        {"type": "function_call", "call_id": use.call_id, "name": use.name, "arguments": use.arguments},
        {"type": "function_call_output", "call_id": use.call_id, "output": "rain, 12 degrees"}], tools=[RESPONSES_TOOL])
    assert told.output_text == "Rain."


def test_a_response_with_an_image(client, upstream):
    respond(client, [{"role": "user", "content": [
        {"type": "input_text", "text": "what is it?"},
        {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}"}]}])
    assert PIXEL in last_body(upstream) and "what is it?" in last_body(upstream)


def test_a_response_cut_in_the_middle(client, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "cut_after": 7}})
    seen = []
    with pytest.raises(openai.APIError):
        for event in respond(client, stream=True):
            seen.append(event)
    text = "".join(each.delta for each in seen if each.type == "response.output_text.delta")
    assert text and TEXT.startswith(text) and "response.completed" not in [each.type for each in seen]
    with pytest.raises(openai.InternalServerError):
        respond(client)


# --- messages

def test_a_message(claude, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "usage": USAGE}})
    message = ask(claude)
    assert message.content[0].text == TEXT and message.stop_reason == "end_turn"
    cached = 60 if upstream.tells_cached_tokens else 0
    assert (message.usage.input_tokens, message.usage.output_tokens) == (100 - cached, 7)
    assert (message.usage.cache_read_input_tokens or 0) == cached


def test_a_message_streams(claude, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "usage": USAGE}})
    with claude.messages.stream(model="scripted", max_tokens=500,
                                messages=[{"role": "user", "content": "hello"}]) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    assert len(pieces) > 1 and "".join(pieces) == TEXT
    cached = 60 if upstream.tells_cached_tokens else 0
    assert (final.usage.input_tokens, final.usage.output_tokens) == (100 - cached, 7)


@pytest.mark.parametrize("stream", [False, True])
def test_a_message_with_a_tool(claude, upstream, stream):
    upstream.model.set_script(WEATHER)
    messages = [{"role": "user", "content": "Rome?"}]
    if stream:
        with claude.messages.stream(model="scripted", max_tokens=500, messages=messages, tools=[MESSAGES_TOOL]) as events:
            asked = events.get_final_message()
    else:
        asked = ask(claude, messages, tools=[MESSAGES_TOOL])
    (use,) = [block for block in asked.content if block.type == "tool_use"]
    assert (use.name, use.input, asked.stop_reason) == ("weather", {"city": "Rome"}, "tool_use")
    messages += [{"role": "assistant", "content": asked.content},
                 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "rain, 12 degrees"}]}]
    assert ask(claude, messages, tools=[MESSAGES_TOOL]).content[0].text == "Rain."


def test_a_message_with_an_image(claude, upstream):
    ask(claude, [{"role": "user", "content": [
        {"type": "text", "text": "what is it?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]}])
    assert PIXEL in last_body(upstream) and "what is it?" in last_body(upstream)


def test_a_message_cut_in_the_middle(claude, upstream):
    upstream.model.set_script({"default": {"text": TEXT, "cut_after": 7}})
    with claude.messages.stream(model="scripted", max_tokens=500,
                                messages=[{"role": "user", "content": "hello"}]) as stream:
        pieces = []
        with pytest.raises(anthropic.APIStatusError) as caught:
            pieces.extend(stream.text_stream)
    assert caught.value.body["error"]["type"] == "api_error"
    with pytest.raises(anthropic.InternalServerError):
        ask(claude)


# --- models

def test_models_are_listed(client, claude):
    names = [each.id for each in client.models.list()]
    assert "chela" in names and "scripted" in names
    assert client.models.retrieve("scripted").id == "scripted"
    assert [each.id for each in claude.models.list()] == names
