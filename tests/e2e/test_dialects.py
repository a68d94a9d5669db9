"""Tool calls that models write as text: every notation through a whole turn, with tools offered by the protocol and in the prompt."""

import json

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


def test_without_tools_of_its_client_a_model_is_passed_through(engine, model):
    text = '<think>hm</think><tool_call>{"name": "weather", "arguments": {}}</tool_call>'
    model.set_script({"default": {"text": text}})
    body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
    assert engine.api.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"] == text


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
