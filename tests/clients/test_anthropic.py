"""The official `anthropic` client in front of agents and of a model that speaks another protocol."""

import anthropic
import pytest

from support.scripts import call, tools_then

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOL = {"name": "weather", "description": "the weather of a city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


@pytest.fixture
def claude(engine, model):
    with anthropic.Anthropic(base_url=engine.base_url, api_key=engine.token, max_retries=0, timeout=60) as made:
        yield made


def ask(claude, content, model="chela", **more):
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    return claude.messages.create(model=model, max_tokens=500, messages=messages, **more)


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def test_a_message(claude):
    message = ask(claude, "hello there")
    assert message.id.startswith("msg_") and message.type == "message" and message.role == "assistant" and message.model == "chela"
    assert text_of(message).endswith("hello there")
    assert message.stop_reason == "end_turn" and message.stop_sequence is None
    assert message.usage.input_tokens > 0 and message.usage.output_tokens > 0


@pytest.mark.parametrize("name", ["chela", "some-model"])
def test_a_stream(claude, name):
    with claude.messages.stream(model=name, max_tokens=500, messages=[{"role": "user", "content": "hello there"}]) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    assert len(pieces) > 1 and "".join(pieces) == text_of(final)
    assert text_of(final).endswith("hello there")
    assert final.stop_reason == "end_turn" and final.usage.output_tokens > 0


def test_the_agent_uses_its_own_tools(claude, model):
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23")))
    message = ask(claude, "What is 17*23?")
    assert [block.type for block in message.content] == ["text"] and text_of(message) == "it is 391"


@pytest.mark.parametrize("name", ["chela", "some-model"])
def test_the_clients_tools(claude, model, name):
    model.set_script(tools_then("Rain.", call("weather", city="Rome")))
    with claude.messages.stream(model=name, max_tokens=500, tools=[TOOL], messages=[{"role": "user", "content": "Rome?"}]) as stream:
        asked = stream.get_final_message()
    (use,) = [block for block in asked.content if block.type == "tool_use"]
    assert (use.name, use.input, asked.stop_reason) == ("weather", {"city": "Rome"}, "tool_use")
    told = ask(claude, [{"role": "user", "content": "Rome?"}, {"role": "assistant", "content": asked.content},
                        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "rain, 12 degrees"}]}],
               model=name, tools=[TOOL])
    assert text_of(told) == "Rain." and told.stop_reason == "end_turn"
    assert "rain, 12 degrees" in str(model.bodies()[-1]["messages"][-1]["content"])


def test_a_conversation_goes_on_in_one_thread(claude, engine):
    messages, threads = [], set()
    for text in ("my name is Ada", "what is my name?"):
        messages.append({"role": "user", "content": text})
        raw = claude.messages.with_raw_response.create(model="chela", max_tokens=100, messages=messages)
        threads.add(raw.headers["x-chela-thread"])
        messages.append({"role": "assistant", "content": raw.parse().content})
    assert len(threads) == 1


def test_what_the_model_is_sent(claude, model):
    ask(claude, [{"role": "user", "content": [{"type": "text", "text": "what is it?"},
                                              {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]}],
        model="some-model", system=[{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}], extra_body={"temperature": 0.5},
        stop_sequences=["END"], tools=[TOOL], tool_choice={"type": "any"})
    body = model.bodies()[-1]
    assert body["model"] == "some-model" and body["max_tokens"] == 500 and body["temperature"] == 0.5
    assert body["stop"] == ["END"] and body["tool_choice"] == "required"
    assert body["tools"][0]["function"]["parameters"] == TOOL["input_schema"]
    system, user = body["messages"]
    assert system == {"role": "system", "content": "be brief"}
    assert user["content"][0] == {"type": "text", "text": "what is it?"}
    assert user["content"][1]["image_url"]["url"] == f"data:image/png;base64,{PIXEL}"


def test_reasoning_is_thinking(claude, model):
    model.set_script({"default": {"reasoning": "let me think", "text": "four"}})
    message = ask(claude, "2+2?", model="some-model")
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.content[0].thinking == "let me think"
    with claude.messages.stream(model="some-model", max_tokens=9, messages=[{"role": "user", "content": "2+2?"}]) as stream:
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text"] and text_of(final) == "four"


@pytest.mark.parametrize("wrong", [
    {"messages": []}, {"messages": [{"role": "user", "content": [{"type": "document"}]}]},
    {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, {"model": " chela"}])
def test_a_wrong_request(claude, model, wrong):
    with pytest.raises(anthropic.BadRequestError) as caught:
        claude.messages.create(**{"model": "chela", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}], **wrong})
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert model.requests() == []


def test_a_wrong_token(engine):
    with anthropic.Anthropic(base_url=engine.base_url, api_key="wrong", max_retries=0) as claude:
        with pytest.raises(anthropic.AuthenticationError) as caught:
            ask(claude, "hello")
    assert caught.value.body["error"]["type"] == "authentication_error"


def test_an_agent_that_is_none(claude):
    with pytest.raises(anthropic.NotFoundError):
        ask(claude, "hello", model="chela/nobody")


def test_failures_behind_us(claude, model):
    model.set_script({"default": {"status": 429, "retry_after": "7"}})
    with pytest.raises(anthropic.RateLimitError) as caught:
        ask(claude, "hello", model="some-model")
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.body["error"]["type"] == "rate_limit_error"


def test_a_stream_that_is_cut(claude, model):
    model.set_script({"default": {"text": "one two three four", "cut_after": 2}})
    with pytest.raises(anthropic.APIStatusError):
        with claude.messages.stream(model="some-model", max_tokens=50, messages=[{"role": "user", "content": "x"}]) as stream:
            for _ in stream:
                pass
