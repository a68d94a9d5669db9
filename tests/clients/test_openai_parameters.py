"""Every parameter of a chat with an agent reaches its model, or is refused by its name."""

import openai
import pytest

from support.scripts import call, tools_then

HELLO = [{"role": "user", "content": "hello"}]
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}


def ask(client, messages=HELLO, **more):
    return client.chat.completions.with_raw_response.create(model="chela", messages=messages, **more)


def differences(engine, thread):
    report = engine.api.post(f"/api/threads/{thread}/replay", json={}).raise_for_status().json()
    assert report["requests"] > 0
    return report["differences"]


@pytest.mark.parametrize("field, value", [
    ("temperature", 0.25), ("top_p", 0.5), ("presence_penalty", 0.75), ("frequency_penalty", -0.5), ("seed", 7), ("stop", ["END", "FIN"]),
    ("response_format", {"type": "json_object"}), ("response_format", SCHEMA), ("reasoning_effort", "low"), ("parallel_tool_calls", False)])
def test_a_parameter_reaches_every_model_call(engine, client, model, field, value):
    model.set_script(tools_then("done", call("echo", message="x")))
    thread = ask(client, **{field: value}).headers["x-chela-thread"]
    bodies = model.bodies()
    assert len(bodies) == 2
    assert [body[field] for body in bodies] == [value, value]
    assert differences(engine, thread) == []


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_longest_answer_by_both_names(client, model, field):
    ask(client, **{field: 17})
    body = model.bodies()[-1]
    assert 17 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_forced_choice_holds_for_the_first_model_call(engine, client, model, choice):
    model.set_script(tools_then("done", call("weather", id="f1")))
    answer = ask(client, tools=[WEATHER], tool_choice=choice)
    message = answer.parse().choices[0].message
    assert message.tool_calls[0].function.name == "weather"
    messages = [*HELLO, message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": "f1", "content": "sun"}]
    ask(client, messages, tools=[WEATHER], tool_choice=choice)
    first, second = model.bodies()
    assert first["tool_choice"] == choice and "tool_choice" not in second
    assert differences(engine, answer.headers["x-chela-thread"]) == []


def test_no_tools_are_called_when_none_may_be(client, model):
    model.set_script({"default": {"text": "just text", "tool_calls": [call("echo", message="x")]}})
    answer = ask(client, tools=[WEATHER], tool_choice="none").parse().choices[0]
    assert answer.message.content == "just text" and not answer.message.tool_calls and answer.finish_reason != "tool_calls"
    assert [body["tool_choice"] for body in model.bodies()] == ["none"]


def test_a_choice_of_a_tool_that_there_is_not(client, model):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, tool_choice={"type": "function", "function": {"name": "nothing"}})
    assert caught.value.param == "tool_choice"
    assert model.requests() == []


@pytest.mark.parametrize("field, value", [
    ("n", 2), ("logprobs", True), ("top_logprobs", 2), ("logit_bias", {"1": 5}), ("modalities", ["text", "audio"]),
    ("prediction", {"type": "content", "content": "x"}), ("functions", [{"name": "f"}]), ("function_call", "auto")])
def test_what_an_agent_cannot_do_is_refused(client, model, field, value):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, extra_body={field: value})
    assert caught.value.param == field and caught.value.body["type"] == "invalid_request_error"
    assert model.requests() == []


def test_fields_that_nobody_knows_change_nothing(client, model):
    ask(client, extra_body={"logprobs": False, "future_field": {"a": 1}, "n": None, "top_p": None})
    assert not {"logprobs", "future_field", "n", "top_p"} & set(model.bodies()[-1])
