"""The official `openai` client with tools of its own, and answering approvals."""

import json

import openai
import pytest

from support.scripts import call, tools_then

WEATHER = {"type": "function", "function": {"name": "weather", "description": "the weather of a city",
                                            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
WRITE = tools_then("all done", call("write_file", path="plain.txt", content="hello"))


def ask(client, messages, **more):
    return client.chat.completions.create(model="chela", messages=messages, **more)


def taken(message):
    """An answer as the next request's message, as client code does it."""
    return message.model_dump(exclude_none=True)


def result(call_id, text):
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def test_a_tool_round_trip(client, model):
    model.set_script(tools_then("It rains in Rome.", call("weather", id="w1", city="Rome")))
    messages = [{"role": "user", "content": "How is the weather in Rome?"}]
    answer = ask(client, messages, tools=[WEATHER]).choices[0]
    assert answer.finish_reason == "tool_calls"
    wanted = answer.message.tool_calls[0]
    assert (wanted.id, wanted.function.name, json.loads(wanted.function.arguments)) == ("w1", "weather", {"city": "Rome"})
    offered = [each["function"]["name"] for each in model.bodies()[0]["tools"]]
    assert "weather" in offered and "calculator" in offered

    messages += [taken(answer.message), result("w1", "rain, 12 degrees")]
    final = ask(client, messages, tools=[WEATHER]).choices[0]
    assert (final.finish_reason, final.message.content) == ("stop", "It rains in Rome.")
    told = [each for each in model.bodies()[-1]["messages"] if each["role"] == "tool"]
    assert [each["content"] for each in told] == ["rain, 12 degrees"]

    # And the conversation goes on in the same thread.
    messages += [taken(final.message), {"role": "user", "content": "Thank you"}]
    model.set_script({})
    assert ask(client, messages, tools=[WEATHER]).choices[0].message.content.endswith("Thank you")
    assert [each["role"] for each in model.bodies()[-1]["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_results_and_a_message_in_one_request(engine, client, model):
    model.set_script({"rules": [{"when": {"last_contains": "quick"}, "reply": {"text": "Rain."}},
                                {"when": {"last_role": "user"}, "reply": {"tool_calls": [call("weather", id="m1", city="Rome")]}}]})
    messages = [{"role": "user", "content": "weather?"}]
    answer = ask(client, messages, tools=[WEATHER]).choices[0]
    messages += [taken(answer.message), result("m1", "rain"), {"role": "user", "content": "be quick"}]
    raw = client.chat.completions.with_raw_response.create(model="chela", messages=messages, tools=[WEATHER])
    final = raw.parse().choices[0]
    assert final.message.content == "Rain."
    assert [each["role"] for each in model.bodies()[-1]["messages"]] == ["system", "user", "assistant", "tool", "user"]

    # The conversation, this message in it, goes on in the same thread.
    messages += [taken(final.message), {"role": "user", "content": "Thank you"}]
    model.set_script({})
    again = client.chat.completions.with_raw_response.create(model="chela", messages=messages)
    assert again.headers["x-chela-thread"] == raw.headers["x-chela-thread"]
    assert len(engine.api.get("/api/chat/history", params={"thread_id": raw.headers["x-chela-thread"]}).json()["turns"]) == 2


def test_a_tool_round_trip_in_a_stream(client, model):
    model.set_script(tools_then("It rains.", call("weather", id="w2", city="Oslo")))
    messages = [{"role": "user", "content": "weather of Oslo?"}]
    with client.chat.completions.stream(model="chela", messages=messages, tools=[WEATHER]) as stream:
        answer = stream.get_final_completion().choices[0]
    assert answer.finish_reason == "tool_calls" and answer.message.tool_calls[0].id == "w2"
    messages += [{"role": "assistant", "tool_calls": [{"id": "w2", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}]},
                 result("w2", "rain")]
    chunks = list(ask(client, messages, tools=[WEATHER], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "It rains."


def test_parallel_calls_and_own_tools_in_one_answer(client, model):
    model.set_script(tools_then("done", call("weather", id="a", city="A"), call("calculator", id="b", expression="6*7"),
                                call("weather", id="c", city="C")))
    messages = [{"role": "user", "content": "all of it"}]
    answer = ask(client, messages, tools=[WEATHER]).choices[0]
    assert [each.id for each in answer.message.tool_calls] == ["a", "c"]
    messages += [taken(answer.message), result("c", "cold"), result("a", "warm")]
    assert ask(client, messages, tools=[WEATHER]).choices[0].message.content == "done"
    told = {each["tool_call_id"]: each["content"] for each in model.bodies()[-1]["messages"] if each["role"] == "tool"}
    assert told["a"] == "warm" and told["c"] == "cold" and "42" in told["b"]


def test_own_names_win(client, model):
    fake = {"type": "function", "function": {"name": "calculator", "description": "not the real one", "parameters": {"type": "object", "properties": {}}}}
    model.set_script(tools_then("it is 42", call("calculator", expression="6*7")))
    assert ask(client, [{"role": "user", "content": "compute"}], tools=[fake]).choices[0].message.content == "it is 42"
    offered = [each["function"]["description"] for each in model.bodies()[0]["tools"] if each["function"]["name"] == "calculator"]
    assert len(offered) == 1 and offered != ["not the real one"]


def test_results_nobody_waits_for_are_404(client):
    messages = [{"role": "user", "content": "hm"},
                {"role": "assistant", "tool_calls": [{"id": "zz", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
                result("zz", "rain")]
    with pytest.raises(openai.NotFoundError):
        ask(client, messages, tools=[WEATHER])


def test_results_survive_a_restart(own_engine, model):
    model.set_script(tools_then("It rains.", call("weather", id="r1", city="Rome")))
    own_engine.start()
    messages = [{"role": "user", "content": "weather?"}]

    def asked():
        with openai.OpenAI(base_url=f"{own_engine.base_url}/v1", api_key=own_engine.token, max_retries=0) as client:
            return ask(client, messages, tools=[WEATHER]).choices[0]
    answer = asked()
    own_engine.kill9()
    own_engine.start()
    messages += [taken(answer.message), result("r1", "rain")]
    assert asked().message.content == "It rains."


@pytest.mark.parametrize("word, written", [("yes", True), ("no", False)])
def test_a_plain_word_answers_a_pending_approval(engine, client, model, word, written):
    file = engine.home / "workspace/default/plain.txt"
    file.unlink(missing_ok=True)
    model.set_script(WRITE)
    messages = [{"role": "user", "content": f"write it ({word})"}]
    asked = ask(client, messages)
    choice = asked.choices[0]
    assert choice.finish_reason == "stop" and "write_file" in choice.message.content and "plain.txt" in choice.message.content
    assert asked.approval["tool_name"] == "write_file" and asked.approval["request_id"]
    assert json.loads(asked.approval["parameters"])["path"] == "plain.txt"
    assert not file.exists()

    messages += [taken(choice.message), {"role": "user", "content": word}]
    answer = ask(client, messages)
    assert answer.choices[0].message.content == "all done"
    assert getattr(answer, "approval", None) is None
    assert file.exists() == written

    messages += [taken(answer.choices[0].message), {"role": "user", "content": "and now?"}]
    model.set_script({})
    assert ask(client, messages).choices[0].message.content.endswith("and now?")
    assert len(model.bodies()[-1]["messages"]) > 4, "the conversation went on in its thread"


def test_an_approval_in_a_stream(client, model):
    model.set_script(WRITE)
    messages = [{"role": "user", "content": "write it in a stream"}]
    chunks = list(ask(client, messages, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert "write_file" in text and chunks[-1].choices[0].finish_reason == "stop"
    assert chunks[-1].approval["tool_name"] == "write_file"
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "yes"}]
    chunks = list(ask(client, messages, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "all done"


def test_a_call_can_wait_for_the_answer_from_elsewhere(engine, client, model):
    from concurrent.futures import ThreadPoolExecutor

    model.set_script(WRITE)
    thread = engine.api.post("/api/chat/thread/new", json={}).json()["id"]
    headers = {"X-Chela-Approvals": "wait", "X-Chela-Thread": thread}
    with ThreadPoolExecutor(1) as pool, engine.events(thread_id=thread) as events:
        waiting = pool.submit(ask, client, [{"role": "user", "content": "write and wait"}], extra_headers=headers)
        request = events.until("approval_needed")[-1].data["request_id"]
        assert not waiting.done()
        assert engine.api.post("/api/chat/approval", json={"request_id": request, "action": "approve"}).status_code == 202
        assert waiting.result(60).choices[0].message.content == "all done"
