"""The official `openai` client talking to an agent: chats, streams, conversations."""

import openai
import pytest

from support.scripts import call, tools_then


def chat(client, *messages, **more):
    return client.chat.completions.create(model=more.pop("model", "chela"), messages=list(messages), **more)


def user(text):
    return {"role": "user", "content": text}


def test_a_chat(client):
    answer = chat(client, user("hello there"))
    choice = answer.choices[0]
    assert answer.id.startswith("chatcmpl-") and answer.object == "chat.completion" and answer.model == "chela"
    assert choice.message.role == "assistant" and choice.message.content.endswith("hello there")
    assert choice.finish_reason == "stop" and not choice.message.tool_calls
    assert answer.usage.prompt_tokens > 0 and answer.usage.completion_tokens > 0
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream(client):
    chunks = list(chat(client, user("hello there"), stream=True))
    assert len({chunk.id for chunk in chunks}) == 1 and {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text.endswith("hello there")
    assert len([chunk for chunk in chunks if chunk.choices[0].delta.content]) > 1
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["stop"]


def test_usage_in_a_stream(client):
    chunks = list(chat(client, user("hello"), stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_the_agent_uses_its_own_tools(client, model):
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23")))
    answer = chat(client, user("What is 17*23?"))
    assert answer.choices[0].message.content == "it is 391" and answer.choices[0].finish_reason == "stop"
    assert not answer.choices[0].message.tool_calls


def test_text_before_a_tool_is_a_paragraph(client, model):
    model.set_script({"replies": [{"text": "Let me see.", "tool_calls": [call("echo", message="x")]}, {"text": "Here it is."}]})
    assert chat(client, user("look")).choices[0].message.content == "Let me see.\n\nHere it is."
    model.set_script({"replies": [{"text": "Let me see.", "tool_calls": [call("echo", message="x")]}, {"text": "Here it is."}]})
    chunks = list(chat(client, user("look again"), stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Let me see.\n\nHere it is."


def test_a_plain_conversation_goes_on_in_one_thread(engine, client, model):
    messages, threads = [], set()
    for text in ("my name is Ada", "what is my name?", "thanks"):
        messages.append(user(text))
        raw = client.chat.completions.with_raw_response.create(model="chela", messages=messages)
        threads.add(raw.headers["x-chela-thread"])
        messages.append({"role": "assistant", "content": raw.parse().choices[0].message.content})
    assert len(threads) == 1
    turns = engine.api.get("/api/chat/history", params={"thread_id": threads.pop()}).json()["turns"]
    assert [turn["user_input"] for turn in turns] == ["my name is Ada", "what is my name?", "thanks"]


def test_two_that_continue_one_conversation_at_once_get_a_thread_each(client, model):
    from concurrent.futures import ThreadPoolExecutor

    messages = [user("one conversation")]
    answer = chat(client, *messages)
    messages += [{"role": "assistant", "content": answer.choices[0].message.content}, user("and now?")]
    model.set_script({"default": {"text": "this", "first_delay_ms": 300}})

    def go_on(_):
        return client.chat.completions.with_raw_response.create(model="chela", messages=messages)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(go_on, range(4)))
    assert len({each.headers["x-chela-thread"] for each in answers}) == 4
    assert [each.parse().choices[0].message.content for each in answers] == ["this"] * 4
    for body in model.bodies()[-4:]:
        assert [each["role"] for each in body["messages"]] == ["system", "user", "assistant", "user"]


def test_an_unknown_history_begins_a_thread_of_its_own(client, model):
    chat(client, user("what is the code?"), {"role": "assistant", "content": "It is 1234."}, user("say it again"))
    sent = model.bodies()[-1]["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"] == "It is 1234." and sent[3]["content"].endswith("say it again")


def test_a_thread_can_be_named(engine, client, model):
    thread = engine.api.post("/api/chat/thread/new", json={}).json()["id"]
    chat(client, user("one"), extra_headers={"X-Chela-Thread": thread})
    chat(client, user("two"), metadata={"thread_id": thread})
    turns = engine.api.get("/api/chat/history", params={"thread_id": thread}).json()["turns"]
    assert [turn["user_input"] for turn in turns] == ["one", "two"]
    with pytest.raises(openai.NotFoundError):
        chat(client, user("three"), extra_headers={"X-Chela-Thread": "nonsense"})


def test_the_clients_system_text_comes_after_ours(client, model):
    chat(client, {"role": "system", "content": "Answer like a pirate."}, user("hello"))
    system = model.bodies()[-1]["messages"][0]["content"]
    assert system.endswith("Answer like a pirate.") and "Chela" in system


def test_sampling_reaches_the_model(client, model):
    chat(client, user("hello"), temperature=0.25, max_tokens=17)
    body = model.bodies()[-1]
    assert body["temperature"] == 0.25
    assert 17 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_content_parts_of_text(client):
    parts = [{"type": "text", "text": "hello"}, {"type": "text", "text": "there"}]
    assert "hello\nthere" in chat(client, {"role": "user", "content": parts}).choices[0].message.content


def test_the_model_itself_is_a_model_too(client, model):
    answer = chat(client, {"role": "system", "content": "raw"}, user("hello"), model="scripted", seed=7,
                  extra_body={"unknown_field": {"kept": True}})
    assert answer.choices[0].message.content == "echo: hello"
    body = model.bodies()[-1]
    assert [each["role"] for each in body["messages"]] == ["system", "user"]
    assert body["seed"] == 7 and body["unknown_field"] == {"kept": True} and "tools" not in body


def test_the_model_itself_streams(client):
    chunks = list(chat(client, user("hello"), model="scripted", stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "echo: hello"
    assert chunks[-1].usage.total_tokens > 0


def test_a_model_is_found_with_its_slash_as_it_is_or_escaped(engine):
    for path in ("/v1/models/chela/default", "/v1/models/chela%2Fdefault"):
        assert engine.api.get(path).json()["id"] == "chela/default"
    missing = engine.api.get("/v1/models/no/such/model")
    assert missing.status_code == 404 and missing.json()["error"]["code"] == "model_not_found"
    parameters = engine.api.get("/openapi.json").json()["paths"]["/v1/models/{id}"]["get"]["parameters"]
    assert [(each["name"], each["in"], each["description"]) for each in parameters] == [("id", "path", "may hold slashes")]


def test_models_are_listed(client):
    names = [each.id for each in client.models.list()]
    assert names[:2] == ["chela", "chela/default"] and "scripted" in names
    assert client.models.retrieve("chela").owned_by == "chela"
    assert client.models.retrieve("chela/default").id == "chela/default"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nonsense")


def test_an_agent_by_its_name(client):
    assert chat(client, user("hello"), model="chela/default").model == "chela/default"


def test_the_asynchronous_client(engine, model):
    import asyncio

    async def both():
        async with openai.AsyncOpenAI(base_url=f"{engine.base_url}/v1", api_key=engine.token, max_retries=0) as client:
            answers = await asyncio.gather(*[
                client.chat.completions.create(model="chela", messages=[user(f"message {n}")]) for n in range(8)])
            return [each.choices[0].message.content for each in answers]

    answers = asyncio.run(both())
    assert all(text.endswith(f"message {n}") for n, text in enumerate(answers))
