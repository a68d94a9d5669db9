"""Functions of workers as tools of agents: offered at once, called in the user's name, gone with their worker."""

import pytest

from support import Chat, Engine
from support.scripts import call, tools_then
from support.waiting import wait_until
from workers import PYTHON, SDKS, SdkError

CITY = {"type": "object", "properties": {"city": {"type": "string", "description": "where"}}, "required": ["city"]}


def offered(engine):
    """Names of all tools, with their rows."""
    return {row["name"]: row for row in engine.api.get("/api/tools").raise_for_status().json()["tools"]}


def await_tool(engine, name):
    return wait_until(lambda: offered(engine).get(name), f"the tool {name} is offered")


def shown(model):
    """Names of the tools in the last model request."""
    return [each["function"]["name"] for each in model.bodies()[-1]["tools"]]


def result(model):
    return [each for each in model.bodies()[-1]["messages"] if each["role"] == "tool"][-1]["content"]


def free(**more):
    return {"tool": True, "approval": "never", **more}


@pytest.mark.parametrize("sdk", SDKS)
def test_a_worker_adds_a_tool_that_the_model_then_calls(engine, chat, model, join, sdk):
    worker = join(sdk)
    worker.register("weather::current", metadata=free(), request_format=CITY)
    row = await_tool(engine, "weather__current")
    assert row["group"] == "bus" and row["description"] == f"echo of {worker.name}" and row["parameters"] == CITY
    model.set_script(tools_then("it is warm", call("weather__current", city="Rome")))
    assert chat.say("how warm is it?")["state"] == "completed"
    assert "weather__current" in shown(model)
    text = result(model)
    assert text.startswith('<tool_output name="weather__current" sanitized="false">') and '"from": "' + worker.name in text
    assert '"city": "Rome"' in text
    assert worker.do("seen", function_id="weather::current") == [{"city": "Rome"}]
    worker.kill()
    wait_until(lambda: "weather__current" not in offered(engine), "the tool has gone")
    model.set_script({})
    assert Chat(engine).say("and now?")["state"] == "completed"
    assert "weather__current" not in shown(model)


def test_an_id_with_the_prefix_is_a_tool_without_metadata(engine, chat, model, join):
    join(PYTHON).register("tool::lookup", request_format=CITY)
    await_tool(engine, "lookup")
    model.set_script(tools_then("done", call("lookup", city="Rome")))
    outcome = chat.say("look it up")
    assert outcome["state"] == "awaiting_approval", "a tool that says nothing else asks"
    assert outcome["approval"]["tool_name"] == "lookup" and '"Rome"' in outcome["approval"]["parameters"]
    assert chat.decide(outcome["approval"]["request_id"], "approve").status_code == 202
    assert chat.wait_for_state("completed")["response"] == "done"
    assert '"city": "Rome"' in result(model)


def test_a_denied_call_never_reaches_the_worker(engine, chat, model, join):
    worker = join("0.11.6")
    worker.register("deploy::now", metadata=free(approval="always"))
    await_tool(engine, "deploy__now")
    model.set_script(tools_then("fine", call("deploy__now")))
    outcome = chat.say("deploy")
    chat.decide(outcome["approval"]["request_id"], "deny")
    chat.wait_for_state("completed")
    assert worker.do("seen", function_id="deploy::now") == []


@pytest.mark.parametrize("sdk", ["0.22.1", PYTHON])
def test_a_worker_killed_in_mid_call_is_a_tool_error(engine, chat, model, join, sdk):
    worker = join(sdk)
    worker.register("slow::one", "hang", metadata=free())
    await_tool(engine, "slow__one")
    model.set_script(tools_then("it did not work out", call("slow__one")))
    turn = chat.send("try it")["turn_id"]
    wait_until(lambda: worker.do("seen", function_id="slow::one"), "the call arrives")
    worker.kill()
    assert chat.wait(turn)["state"] == "completed"
    assert chat.last()["response"] == "it did not work out" and chat.last()["tool_calls"][0]["has_error"]
    assert "has gone in mid-call" in result(model)


def test_an_interrupt_ends_the_call(engine, chat, model, join):
    worker = join("0.22.1")
    worker.register("slow::two", "hang", metadata=free())
    await_tool(engine, "slow__two")
    model.set_script(tools_then("done", call("slow__two")))
    turn = chat.send("try it")["turn_id"]
    wait_until(lambda: worker.do("seen", function_id="slow::two"), "the call arrives")
    chat.interrupt()
    assert chat.wait(turn)["state"] == "interrupted"


def test_errors_and_wrong_arguments_come_back_to_the_model(engine, chat, model, join):
    worker = join("0.3.0")
    worker.register("breaks", "fail", metadata=free())
    worker.register("strict", metadata=free(), request_format=CITY)
    await_tool(engine, "strict")
    model.set_script(tools_then("done", call("breaks")))
    chat.say("go")
    assert "this one fails" in result(model) and result(model).startswith("<tool_output")
    model.set_script(tools_then("done", call("strict", city=7)))
    chat.say("go")
    assert "city" in result(model) and worker.do("seen", function_id="strict") == []


def test_a_change_of_tools_counts_from_the_next_turn_on(engine, chat, model, join):
    worker = join("0.22.1")
    worker.register("changes::first", "hang", metadata=free())
    await_tool(engine, "changes__first")
    model.set_script(tools_then("done", call("changes__first")))
    turn = chat.send("go")["turn_id"]
    wait_until(lambda: worker.do("seen", function_id="changes::first"), "the call arrives")
    before = model.bodies()[-1]["tools"]
    other = join(PYTHON)
    other.register("changes::second", metadata=free())
    await_tool(engine, "changes__second")
    worker.kill()
    assert chat.wait(turn)["state"] == "completed"
    assert model.bodies()[-1]["tools"] == before, "a running turn keeps the bytes of its prompt"
    model.set_script({})
    chat.say("again")
    assert "changes__second" in shown(model) and "changes__first" not in shown(model)


def test_tools_of_one_user_are_not_another_ones(tmp_path, model, join):
    with Engine(tmp_path / "home", env={"GATEWAY_USER_ID": "alice"}, model_port=model.port) as first:
        make = lambda *allowed: first.api.post("/api/tokens", json={"permissions": allowed}).raise_for_status().json()["token"]  # noqa: E731
        alices, hers = make("chat:*", "tools:*"), make("bus:call", "bus:register")
        first.stop()
    with Engine(tmp_path / "home", env={"GATEWAY_USER_ID": "bob"}, model_port=model.port) as engine, engine.client(alices) as alice:
        worker = join("0.22.1", port=engine.engine_file()["ports"]["bus"], token=hers)
        worker.register("tool::of_alice", metadata=free())
        wait_until(lambda: "of_alice" in {row["name"] for row in alice.get("/api/tools").json()["tools"]}, "she has it")
        assert "of_alice" not in offered(engine)
        model.set_script(tools_then("done", call("of_alice")))
        Chat(engine).say("try hers")
        assert "of_alice" not in shown(model) and "no tool named" in result(model)
        Chat(engine, client=alice).say("use mine")
        assert "of_alice" in shown(model) and worker.name in result(model)


def test_a_built_in_tool_is_not_shadowed(engine, chat, model, join):
    worker = join("0.22.1")
    worker.register("tool::echo", metadata=free())
    worker.register("tool::marker", metadata=free())
    await_tool(engine, "marker")
    assert offered(engine)["echo"]["group"] == "core"
    model.set_script(tools_then("done", call("echo", message="hello")))
    chat.say("go")
    assert worker.do("seen", function_id="tool::echo") == []


def test_other_workers_call_the_function_as_before(join):
    join("0.9.0").register("tool::shared", metadata=free())
    caller = join("0.22.1")
    wait_until(lambda: "tool::shared" in caller.functions(), "it is registered")
    assert caller.call("tool::shared", {"n": 1})["data"]["n"] == 1
    with pytest.raises(SdkError):
        caller.call("shared")
