"""Tool calls that models write as text: every notation through a whole turn, with tools offered by the protocol and in the prompt."""

import json

import anthropic
import openai
import pytest

from support import Chat
from support.sse import text_of

ARGUMENTS = {"message": "seven"}
CALL = '{"name": "echo", "arguments": {"message": "seven"}}'
FORMATS = {
    "triangles": f"\u25c1\n{CALL}\n\u25b7",
    "triangle left open": f"\u25c1\n{CALL}\n",
    "OpenAI body": json.dumps({"tool_calls": [{"type": "function", "function": {"name": "echo", "arguments": json.dumps(ARGUMENTS)}}]}),
    "Hermes": f"<tool_call>\n{CALL}\n</tool_call>",
    "toolcall": f"<toolcall>{CALL}</toolcall>",
    "tool-call": f"<tool-call>{CALL}</tool-call>",
    "invoke": f"<invoke>{CALL}</invoke>",
    "function_call": f"<function_call>{CALL}</function_call>",
    "tools": f"<tools>{CALL}</tools>",
    "tool_calls": f"<tool_calls>[{CALL}]</tool_calls>",
    "function_calls": '<function_calls>\n<invoke name="echo">\n<parameter name="message">seven</parameter>\n</invoke>\n</function_calls>',
    "attributed invoke": '<invoke name="echo"><parameter name="message">seven</parameter></invoke>',
    "MiniMax": '<minimax:tool_call><invoke name="echo"><parameter name="message">seven</parameter></invoke></minimax:tool_call>',
    "Grok": '<xai:function_call name="echo"><xai:parameter name="message">seven</xai:parameter></xai:function_call>',
    "Qwen3-Coder": "<tool_call>\n<function=echo>\n<parameter=message>\nseven\n</parameter>\n</function>\n</tool_call>",
    "Qwen3-Coder bare": "<function=echo>\n<parameter=message>\nseven\n</parameter>\n</function>",
    "GLM 4.5": "<tool_call>echo\n<arg_key>message</arg_key>\n<arg_value>seven</arg_value>\n</tool_call>",
    "GLM line": "echo/message>seven",
    "GLM in a tag": "<tool_call>echo>seven</tool_call>",
    "elements": "<tool_call><echo><message>seven</message></echo></tool_call>",
    "Llama 3": '<|python_tag|>{"name": "echo", "parameters": {"message": "seven"}}<|eom_id|>',
    "Llama 3 bare": '{"name": "echo", "parameters": {"message": "seven"}}<|eot_id|>',
    "Llama's own": '<|python_tag|>echo.call(message="seven")',
    "Llama 4": '[echo(message="seven")]',
    "Llama 4 with marks": '<|python_start|>[echo(message="seven")]<|python_end|>',
    "Mistral list": f"[TOOL_CALLS] [{CALL}]",
    "Mistral name": '[TOOL_CALLS]echo{"message": "seven"}',
    "Mistral arguments": '[TOOL_CALLS]echo[ARGS]{"message": "seven"}',
    "DeepSeek V3": "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>echo\n"
                   '```json\n{"message": "seven"}\n```<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>',
    "DeepSeek V3.1": "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>echo<\uff5ctool\u2581sep\uff5c>"
                     '{"message": "seven"}<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>',
    "Kimi": '<|tool_calls_section_begin|><|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>{"message": "seven"}<|tool_call_end|>'
            "<|tool_calls_section_end|>",
    "Cohere": 'Action: ```json\n[{"tool_name": "echo", "parameters": {"message": "seven"}}]\n```',
    "Cohere with marks": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "echo", "parameters": {"message": "seven"}}]<|END_ACTION|>',
    "Granite": f"<|tool_call|>[{CALL}]",
    "Phi-4": f"<|tool_call|>[{CALL}]<|/tool_call|>",
    "Phi-4 functools": f"functools[{CALL}]",
    "fence": f"```tool_call\n{CALL}\n```",
    "named fence": '```tool echo\n{"message": "seven"}\n```',
    "FunctionCall": "<FunctionCall>\necho\n<code>message>seven</code>\n</FunctionCall>",
    "Perl": '[TOOL_CALL]{tool => "echo", args => {--message "seven"}}[/TOOL_CALL]',
    "Perl lines": 'TOOL_CALL\n{tool => "echo", args => {--message "seven"}}\n/TOOL_CALL',
}
WHOLE_ANSWERS = {"OpenAI body", "Llama 3 bare", "Llama 4"}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "of a city",
                                            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


@pytest.fixture(scope="module")
def engine(tmp_path_factory, module_model):
    from support import Engine
    made = Engine(tmp_path_factory.mktemp("home"), model_port=module_model.port)
    folder = made.home / "agents" / "prompted"
    folder.mkdir(parents=True)
    (made.home / "models.toml").write_text('[models.openai_compatible]\nplain = { context = 100000, tools = "prompted" }\n')
    (folder / "agent.toml").write_text('[agent]\nname = "prompted"\n[agent.model]\ntool_dispatcher = "prompted"\n')
    with made:
        yield made


def script(text, **more):
    """The text, and once a result is there, the answer."""
    done = {"text": "It said seven.", "chunk_bytes": 3}
    return {"rules": [{"when": {"last_role": "tool"}, "reply": done}, {"when": {"last_contains": "[Tool results]"}, "reply": done},
                      {"when": {"last_role": "user"}, "reply": {"text": text, **more}}]}


def thread_of(engine, agent):
    chat = Chat(engine, new=False)
    chat.thread = engine.api.post("/api/chat/thread/new", json={"agent": agent}).raise_for_status().json()["id"]
    return chat


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("agent", ["default", "prompted"])
@pytest.mark.parametrize("notation", FORMATS)
def test_a_call_in_every_notation(engine, model, notation, agent, size):
    before = "" if notation in WHOLE_ANSWERS else "<think>I <could> call</think>Let me ask.\n"
    said = "" if notation in WHOLE_ANSWERS else "Let me ask."
    model.set_script(script(before + FORMATS[notation], chunk_bytes=size))
    chat = thread_of(engine, agent)
    with engine.events(thread_id=chat.thread) as events:
        assert chat.say("ask it")["state"] == "completed"
        seen = events.until("turn_finished")

    # The tool ran with these arguments, and its result went back.
    turn = chat.last()
    assert [(each["name"], each["parameters"] if "parameters" in each else each["arguments"]) for each in turn["tool_calls"]] == [
        ("echo", ARGUMENTS)]
    first, second = model.bodies()
    assert "seven" in second["messages"][-1]["content"]
    prompted = agent == "prompted"
    assert ("tools" not in first) == prompted and ("## Tool Use Protocol" in first["messages"][0]["content"]) == prompted
    assert ("**echo**" in first["messages"][0]["content"]) == prompted
    assert second["messages"][-1]["role"] == ("user" if prompted else "tool")
    assert ("\u25c1" in (second["messages"][-2]["content"] or "")) == prompted
    assert second["messages"][:len(first["messages"])] == first["messages"]

    # Nobody saw the notation.
    assert turn["response"] == "It said seven."
    assert [each["text"] for each in turn["steps"] if "text" in each] == ([said] if said else [])
    assert text_of(seen) == said + "It said seven."
    assert chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).json()["differences"] == []


@pytest.mark.parametrize("agent", ["default", "prompted"])
@pytest.mark.parametrize("notation", FORMATS)
def test_a_v1_stream_in_every_notation(engine, model, notation, agent):
    said = "" if notation in WHOLE_ANSWERS else "Let me ask."
    model.set_script(script((said + "\n" if said else "") + FORMATS[notation], chunk_bytes=2))
    name = "chela" if agent == "default" else "chela/prompted"
    body = {"model": name, "messages": [{"role": "user", "content": f"ask in {notation}"}], "stream": True}
    expected = said + "\n\nIt said seven." if said else "It said seven."
    text = ""
    with engine.api.stream("POST", "/v1/chat/completions", json=body) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
    assert text == expected


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["chela", "chela/prompted", "scripted"])
def test_a_clients_tool_is_called_in_text(engine, model, name, stream):
    """Of an agent, and of the model itself."""
    model.set_script({"default": {"text": '<think>hm</think>I look.\n<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>',
                                  "chunk_bytes": 4}})
    body = {"model": name, "messages": [{"role": "user", "content": f"weather for {name} {stream}"}], "tools": [WEATHER], "stream": stream}
    if stream:
        content, calls, reason = "", [], None
        with engine.api.stream("POST", "/v1/chat/completions", json=body) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    choice = json.loads(line[6:])["choices"][0]
                    content += choice["delta"].get("content") or ""
                    calls += choice["delta"].get("tool_calls") or []
                    reason = choice["finish_reason"] or reason
    else:
        choice = engine.api.post("/v1/chat/completions", json=body).json()["choices"][0]
        content, calls, reason = choice["message"]["content"], choice["message"]["tool_calls"], choice["finish_reason"]
    assert (content, reason) == ("I look.", "tool_calls")
    assert [(each["function"]["name"], json.loads(each["function"]["arguments"])) for each in calls] == [("weather", {"city": "Rome"})]
    assert calls[0]["id"]


def test_without_tools_of_its_client_only_thoughts_are_taken_out(engine, model):
    call = '<tool_call>{"name": "weather", "arguments": {}}</tool_call>'
    model.set_script({"default": {"text": f"<think>hm</think>{call}<|im_end|>"}})
    body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
    message = engine.api.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == (call, "hm")


@pytest.mark.parametrize("agent", ["default", "prompted"])
def test_a_cut_call_is_not_run(engine, model, agent):
    model.set_script({"replies": [{"text": 'I write.\n<tool_call>{"name": "echo", "arguments": {"message": "sev', "finish_reason": "length",
                                   "chunk_bytes": 3}, {"text": "Then without.", "chunk_bytes": 3}]})
    chat = thread_of(engine, agent)
    with engine.events(thread_id=chat.thread) as events:
        chat.say("ask it")
        seen = events.until("turn_finished")
    turn = chat.last()
    assert (turn["response"], turn["tool_calls"]) == ("Then without.", [])
    assert text_of(seen) == "I write.Then without."
    assert "cut inside a tool call" in model.bodies()[1]["messages"][-1]["content"]
    assert chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).json()["differences"] == []


def test_a_call_in_text_waits_for_its_approval_over_a_crash(own_engine, model):
    own_engine.env["CHELA_AGENT_TOOL_DISPATCHER"] = "prompted"
    own_engine.start()
    model.set_script({"rules": [
        {"when": {"last_contains": "[Tool results]"}, "reply": {"text": "written"}},
        {"when": {"last_role": "user"}, "reply": {
            "text": '\u25c1\n{"name": "write_file", "arguments": {"path": "note.txt", "content": "seven"}}\n\u25b7', "chunk_bytes": 2}}]})
    chat = Chat(own_engine)
    waiting = chat.say("write it")
    assert waiting["state"] == "awaiting_approval"
    own_engine.kill9()
    own_engine.start()
    assert chat.decide(waiting["approval"]["request_id"], "approve").status_code == 202
    assert chat.wait_for_state("completed", "failed")["response"] == "written"
    assert (own_engine.home / "workspace" / "default" / "note.txt").read_text() == "seven"
    assert [body.get("tools") for body in model.bodies()] == [None, None]
    assert chat.api.post(f"/api/threads/{chat.thread}/replay", json={}).json()["differences"] == []


def test_models_without_tools_are_known(own_engine, model):
    own_engine.env["LLM_MODEL"] = "gemma3:4b"
    own_engine.start()
    Chat(own_engine).say("hello")
    body = model.bodies()[-1]
    assert "tools" not in body and "## Tool Use Protocol" in body["messages"][0]["content"]


# Models that clients of /v1 ask directly, with the official clients. `plain` has no tools of its own.
UNREADABLE = 'So: <tool_call>{"name": "nobody", "arguments": {}}</tool_call>'
SAID = "<think>hm</think>I look.\n\u25c1\n" + '{"name": "weather", "arguments": {"city": "Rome"}}' + "\n\u25b7"
QUESTION = "How is the weather in Rome?"


def ask_chat(engine, stream, text=QUESTION, more=()):
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key=engine.token, max_retries=0) as client:
        messages = [{"role": "user", "content": text}, *more]
        answer = client.chat.completions.create(model="openai_compatible/plain", messages=messages, tools=[WEATHER], stream=stream)
        if not stream:
            choice = answer.choices[0]
            calls = [(each.id, each.function.name, each.function.arguments) for each in choice.message.tool_calls or []]
            return choice.message.content or "", calls, choice.finish_reason
        said, calls, reason = "", [], None
        for chunk in answer:
            choice = chunk.choices[0]
            said += choice.delta.content or ""
            calls += [(each.id, each.function.name, each.function.arguments) for each in choice.delta.tool_calls or []]
            reason = choice.finish_reason or reason
        return said, calls, reason


def ask_responses(engine, stream, text=QUESTION):
    with openai.OpenAI(base_url=f"{engine.base_url}/v1", api_key=engine.token, max_retries=0) as client:
        tool = {"type": "function", **WEATHER["function"]}
        answer = client.responses.create(model="openai_compatible/plain", input=text, tools=[tool], stream=stream, store=False)
        if stream:
            answer = [event for event in answer if event.type == "response.completed"][-1].response
        calls = [(item.call_id, item.name, item.arguments) for item in answer.output if item.type == "function_call"]
        return answer.output_text, calls, "tool_calls" if calls else "stop"


def ask_messages(engine, stream, text=QUESTION):
    with anthropic.Anthropic(base_url=engine.base_url, api_key=engine.token, max_retries=0) as client:
        function = WEATHER["function"]
        asked = {"model": "openai_compatible/plain", "max_tokens": 100, "messages": [{"role": "user", "content": text}],
                 "tools": [{"name": function["name"], "description": function["description"], "input_schema": function["parameters"]}]}
        if stream:
            with client.messages.stream(**asked) as running:
                answer = running.get_final_message()
        else:
            answer = client.messages.create(**asked)
        said = "".join(block.text for block in answer.content if block.type == "text")
        calls = [(block.id, block.name, json.dumps(block.input)) for block in answer.content if block.type == "tool_use"]
        return said, calls, "tool_calls" if answer.stop_reason == "tool_use" else "stop"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("ask", [ask_chat, ask_responses, ask_messages])
def test_a_model_without_tools_calls_its_clients_tools(engine, model, ask, stream):
    model.set_script({"default": {"text": SAID, "chunk_bytes": 3}})
    said, calls, reason = ask(engine, stream)
    assert (said, reason) == ("I look.", "tool_calls")
    assert [(name, json.loads(arguments)) for _, name, arguments in calls] == [("weather", {"city": "Rome"})]
    asked = model.bodies()[-1]
    assert "tools" not in asked
    assert "## Tool Use Protocol" in asked["messages"][0]["content"] and "**weather**: of a city" in asked["messages"][0]["content"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("ask", [ask_chat, ask_responses, ask_messages])
def test_what_cannot_be_read_as_a_call_is_text(engine, model, ask, stream):
    model.set_script({"default": {"text": UNREADABLE, "chunk_bytes": 3}})
    assert ask(engine, stream) == (UNREADABLE, [], "stop")


def test_a_result_goes_back_as_text(engine, model):
    model.set_script({"replies": [{"text": SAID}, {"text": "It rains."}]})
    said, calls, _ = ask_chat(engine, False)
    function = {"name": calls[0][1], "arguments": calls[0][2]}
    assert ask_chat(engine, False, more=[
        {"role": "assistant", "content": said, "tool_calls": [{"id": calls[0][0], "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": calls[0][0], "content": "rain"}])[0] == "It rains."
    last, result = model.bodies()[-1]["messages"][-2:]
    assert "\u25c1" in last["content"] and '"name": "weather"' in last["content"]
    assert result == {"role": "user", "content": '[Tool results]\n<tool_result name="weather" status="ok">\nrain\n</tool_result>\n'}
