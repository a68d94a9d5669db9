"""What was sent to the model once stays byte-identical, so that providers' prompt caches hit."""

from support import Chat, wait_until
from support.scripts import call, tools_then


def assert_prefixes(bodies):
    """Each request begins with all messages of the one before, and offers the same tools."""
    assert len(bodies) > 1
    for before, after in zip(bodies, bodies[1:]):
        assert after["messages"][:len(before["messages"])] == before["messages"]
        assert after.get("tools") == before.get("tools")


def test_requests_of_a_thread_extend_each_other(chat, model):
    model.set_script({"rules": [
        {"when": {"last_role": "user", "last_user_contains": "compute"}, "reply": {"tool_calls": [call("calculator", expression="6*7")]}}]})
    for text in ("hello", "compute something", "thanks", "and again: compute"):
        chat.say(text)
    assert len(model.bodies()) == 6
    assert_prefixes(model.bodies())


def test_also_when_memory_grows_meanwhile(engine, chat, model):
    chat.say("tell me about walnuts")
    engine.api.post("/api/memory/write", json={"path": "walnut.md", "content": "Walnuts are in the cellar."}).raise_for_status()
    chat.say("tell me about walnuts again")
    assert_prefixes(model.bodies())
    assert "cellar" in model.bodies()[-1]["messages"][-1]["content"]


def test_also_across_a_restart_and_an_approval(own_engine, model):
    own_engine.start()
    chat = Chat(own_engine)
    chat.say("hello")
    own_engine.restart()
    model_script = tools_then("written", call("write_file", path="x.txt", content="x"))
    first = model.bodies()
    model.set_script(model_script)
    request = chat.say("write")["approval"]["request_id"]
    own_engine.kill9()
    own_engine.start()
    assert chat.decide(request, "approve").status_code == 202
    wait_until(lambda: chat.last()["state"] == "completed", "the turn ends")
    assert_prefixes(first + model.bodies())


def test_an_agent_of_a_file_has_its_own_prompt_and_tools(own_engine, model):
    folder = own_engine.home / "agents" / "poet"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "poet"\ndescription = "writes"\n'
                                       'system_prompt = "You only speak in rhymes."\n\n[agent.capabilities]\ntools = ["echo"]\n')
    own_engine.start()
    names = [each["name"] for each in own_engine.api.get("/api/agents").json()["agents"]]
    assert sorted(names) == ["default", "poet"]
    thread = own_engine.api.post("/api/chat/thread/new", json={"agent": "poet"}).json()
    assert thread["agent"] == "poet"
    chat = Chat(own_engine, new=False)
    chat.thread = thread["id"]
    chat.say("hello")
    body = model.bodies()[-1]
    assert "only speak in rhymes" in body["messages"][0]["content"]
    assert [each["function"]["name"] for each in body["tools"]] == ["echo"]


def test_a_long_conversation_is_compacted_and_nothing_is_lost(own_engine, model):
    own_engine.env["CHELA_AGENT_CONTEXT_TOKENS"] = "4000"
    own_engine.start()
    chat = Chat(own_engine)
    with own_engine.events(thread_id=chat.thread) as events:
        for n in range(8):
            assert chat.say(f"message {n}: " + "many words of no weight " * 60)["state"] == "completed"
        compacted = events.until("compacted")[-1].data
    assert compacted["tokens_after"] < compacted["tokens_before"]
    sizes = [sum(len(str(each["content"])) for each in body["messages"]) for body in model.bodies()]
    assert max(sizes) < 8 * 60 * 25
    assert [turn["user_input"][:9] for turn in chat.turns()] == [f"message {n}" for n in range(8)]
