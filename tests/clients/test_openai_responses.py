"""The official `openai` client's Responses in front of agents and of a model that speaks chat completions."""

import openai
import pytest

from support.scripts import call, tools_then

TOOL = {"type": "function", "name": "weather", "description": "of a city", "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


def ask(client, said, model="chela", **more):
    return client.responses.create(model=model, input=said, **more)


def test_a_response(client):
    answer = ask(client, "hello there")
    assert answer.id.startswith("resp_") and answer.object == "response" and answer.status == "completed" and answer.error is None
    assert answer.output_text.endswith("hello there")
    assert answer.usage.input_tokens > 0 and answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens


@pytest.mark.parametrize("name", ["chela", "some-model"])
def test_a_stream(client, name):
    with client.responses.stream(model=name, input="hello there") as stream:
        events = list(stream)
        final = stream.get_final_response()
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(pieces) > 1 and "".join(pieces) == final.output_text and final.output_text.endswith("hello there")
    assert [event.sequence_number for event in events if hasattr(event, "sequence_number")] == sorted(
        event.sequence_number for event in events if hasattr(event, "sequence_number"))
    assert events[0].type == "response.created" and events[-1].type == "response.completed"


def test_the_agent_uses_its_own_tools(client, model):
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23")))
    answer = ask(client, "What is 17*23?")
    assert [item.type for item in answer.output] == ["message"] and answer.output_text == "it is 391"


@pytest.mark.parametrize("name", ["chela", "some-model"])
def test_the_clients_tools(client, model, name):
    model.set_script(tools_then("Rain.", call("weather", city="Rome")))
    with client.responses.stream(model=name, input="Rome?", tools=[TOOL]) as stream:
        asked = stream.get_final_response()
    (use,) = [item for item in asked.output if item.type == "function_call"]
    assert use.name == "weather" and use.arguments == '{"city":"Rome"}'
    told = ask(client, [{"role": "user", "content": "Rome?"},
                        {"type": "function_call", "call_id": use.call_id, "name": use.name, "arguments": use.arguments},
                        {"type": "function_call_output", "call_id": use.call_id, "output": "rain, 12 degrees"}], model=name, tools=[TOOL])
    assert told.output_text == "Rain."
    assert "rain, 12 degrees" in str(model.bodies()[-1]["messages"][-1]["content"])


def test_an_answer_is_gone_on_from(client, engine, model):
    first = ask(client, "my name is Ada")
    second = ask(client, "what is my name?", previous_response_id=first.id)
    assert second.previous_response_id == first.id and second.id != first.id
    assert "my name is Ada" in str(model.bodies()[-1]["messages"])
    model.set_script(tools_then("Rain.", call("weather", city="Rome")))
    asked = ask(client, "Rome?", previous_response_id=second.id, tools=[TOOL])
    (use,) = [item for item in asked.output if item.type == "function_call"]
    told = ask(client, [{"type": "function_call_output", "call_id": use.call_id, "output": "rain"}], previous_response_id=asked.id)
    assert told.output_text == "Rain."


def test_what_cannot_be_gone_on_from(client):
    answer = ask(client, "hello", model="some-model")
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, "and?", model="some-model", previous_response_id=answer.id)
    assert caught.value.param == "previous_response_id"
    with pytest.raises(openai.NotFoundError):
        ask(client, "and?", previous_response_id="resp_" + "0" * 64)


def test_reasoning_is_a_summary(client, model):
    model.set_script({"default": {"reasoning": "let me think", "text": "four"}})
    answer = ask(client, "2+2?", model="some-model", reasoning={"effort": "low"})
    assert [item.type for item in answer.output] == ["reasoning", "message"]
    assert answer.output[0].summary[0].text == "let me think" and answer.output_text == "four"
    assert model.bodies()[-1]["reasoning_effort"] == "low"


def test_what_is_cut_is_incomplete(client, model):
    model.set_script({"default": {"text": "one two", "finish_reason": "length"}})
    answer = ask(client, "count", model="some-model", max_output_tokens=2)
    assert answer.status == "incomplete" and answer.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("wrong, param", [
    ({"input": []}, "input"), ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"), ({"background": True}, "background"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type")])
def test_a_wrong_request(client, model, wrong, param):
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**{"model": "chela", "input": "x", **wrong})
    assert caught.value.param == param and model.requests() == []


def test_a_stream_that_is_cut(client, model):
    model.set_script({"default": {"text": "one two three four", "cut_after": 2}})
    with pytest.raises(openai.APIError):
        for _ in client.responses.create(model="some-model", input="x", stream=True):
            pass
