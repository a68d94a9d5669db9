"""The command line: one message, results and exit codes, with and without an engine that runs."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import Chat, Engine
from support.scripts import call, tools_then


@pytest.fixture(params=["engine runs", "no engine"])
def somewhere(request, own_engine):
    """The same commands beside a running engine and alone."""
    return own_engine.start() if request.param == "engine runs" else own_engine


def test_one_message_prints_only_its_reply(somewhere):
    code, out, err = somewhere.cli("run", "-m", "hello there")
    assert (code, err) == (0, "")
    assert out.endswith("hello there\n") and not out.endswith("\n\n")


def test_messages_go_on_in_one_thread_across_runs(somewhere, model):
    somewhere.cli("run", "-m", "my name is Ada")
    code, out, _ = somewhere.cli("run", "-m", "what is my name?")
    assert code == 0 and out.strip().endswith("what is my name?")
    contents = [each["content"] for each in model.bodies()[-1]["messages"]]
    assert any(each.endswith("my name is Ada") for each in contents)


def test_memory_is_there_in_the_next_run(somewhere, model):
    model.set_script(tools_then("noted", call("memory_write", target="memory", content="The dentist is on Friday at 9.")))
    assert somewhere.cli("run", "-m", "Remember that my dentist is on Friday at 9.")[:2] == (0, "noted\n")
    model.set_script({})
    thread = json.loads(somewhere.cli("call", "thread::create", '{"channel": "cli"}')[1])["id"]
    assert somewhere.cli("run", "--thread", thread, "-m", "When is my dentist?")[0] == 0
    assert "Friday at 9" in model.bodies()[-1]["messages"][-1]["content"]


def test_json_gives_the_turns_events_as_lines(somewhere, model):
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23")))
    code, out, _ = somewhere.cli("run", "--json", "-m", "compute")
    assert code == 0
    events = [json.loads(line) for line in out.splitlines()]
    types = [each["type"] for each in events]
    assert types[0] == "turn_started" and types[-1] == "turn_finished"
    assert {"tool_started", "tool_completed", "tool_result", "stream_chunk", "usage", "response"} <= set(types)
    assert len({each["turn_id"] for each in events}) == 1
    assert events[-2]["content"] == "it is 391"


def test_a_pending_approval_is_3_and_yes_goes_on(somewhere, model):
    model.set_script(tools_then("written", call("write_file", path="cli.txt", content="from the command line")))
    code, out, err = somewhere.cli("run", "-m", "write it")
    assert (code, out) == (3, "") and "write_file" in err and "cli.txt" in err
    code, out, _ = somewhere.cli("run", "-m", "yes")
    assert (code, out) == (0, "written\n")
    assert (somewhere.home / "workspace/default/cli.txt").read_text() == "from the command line"


@pytest.mark.parametrize("reply, code", [({"status": 400}, 2), ({"status": 401}, 4), ({"status": 404}, 5),
                                         ({"status": 429, "retry_after": "1000"}, 7)])
def test_the_exit_code_says_what_went_wrong(own_engine, model, reply, code):
    model.set_script({"default": reply})
    got, out, err = own_engine.cli("run", "-m", "hello")
    assert (got, out) == (code, "") and err.startswith("chela: ")


def test_a_model_that_is_not_there_is_8(own_engine):
    env = {"LLM_BASE_URL": "http://127.0.0.1:9/v1", "CHELA_LLM_MAX_RETRIES": "0"}
    code, out, err = own_engine.cli("run", "-m", "hello", env=env)
    assert (code, out) == (8, "") and "127.0.0.1:9" in err


@pytest.mark.parametrize("args", [["--nonsense"], ["nonsense"], ["run", "-m", ""], ["run", "-m"], ["log"], ["fork", "x"],
                                  ["token"], ["call", "chat::send", "not json"], ["run", "--port", "x", "-m", "hi"]])
def test_wrong_usage_is_2(own_engine, args):
    code, out, err = own_engine.cli(*args)
    assert (code, out) == (2, "") and err.startswith("chela: ")


@pytest.mark.parametrize("args", [["--version"], ["version"], ["--help"], ["run", "--help"], ["memory", "--help"]])
def test_help_and_version_are_results(own_engine, args):
    code, out, err = own_engine.cli(*args)
    assert code == 0 and out and err == ""


def test_an_empty_message_of_blanks_is_2(somewhere):
    code, out, err = somewhere.cli("run", "-m", "   ")
    assert (code, out) == (2, "") and "empty" in err


def test_what_is_not_there_is_5(somewhere):
    for args in (["log", "nonsense"], ["memory", "read", "nowhere.md"], ["run", "--thread", "nonsense", "-m", "hi"],
                 ["call", "nothing::here"], ["run", "--agent", "nobody", "-m", "hi"]):
        code, out, err = somewhere.cli(*args)
        assert (code, out) == (5, ""), args
        assert err.startswith("chela: ")


def test_lines_of_a_pipe_are_messages(somewhere, model):
    model.set_script({"replies": [{"text": "first answer"}, {"text": "second answer"}]})
    code, out, _ = somewhere.cli("run", "--cli-only", stdin="one\ntwo\n")
    assert code == 0
    assert out == "first answer\nsecond answer\n"


def test_no_db_leaves_nothing_behind(own_engine):
    assert own_engine.cli("run", "--no-db", "-m", "hello")[0] == 0
    assert not (own_engine.home / "chela.db").exists()
    assert json.loads(own_engine.cli("threads", "--json")[1])["threads"] == []


def test_a_second_engine_refuses_and_names_the_first(own_engine):
    own_engine.start()
    second = Engine(own_engine.home, env=dict(own_engine.env))
    code, _, err = second.cli("run", "--headless")
    assert code == 6 and str(own_engine.pid) in err and str(own_engine.port) in err
    assert own_engine.api.get("/healthz").status_code == 200


def test_a_killed_engine_leaves_the_home_usable(own_engine):
    own_engine.start()
    own_engine.kill9()
    assert (own_engine.home / "run/engine.json").exists()  # stale: nobody holds the lock
    assert own_engine.cli("run", "-m", "hello")[0] == 0
    assert own_engine.start().running()


def test_two_commands_at_once_wait_for_each_other(own_engine, model):
    model.set_script({"default": {"text": "slowly", "first_delay_ms": 200}})
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda n: own_engine.cli("run", "-m", f"message {n}"), range(3)))
    assert [code for code, _, _ in results] == [0, 0, 0]


def test_commands_show_what_the_engine_has(somewhere):
    somewhere.cli("run", "-m", "hello")
    assert "hello" in somewhere.cli("threads")[1]
    assert "> hello" in somewhere.cli("history")[1]
    assert "calculator" in somewhere.cli("tools")[1]
    assert "default" in somewhere.cli("agents")[1]
    assert "scripted" in somewhere.cli("models", "list")[1]
    assert "scripted" in somewhere.cli("status")[1]


def test_memory_and_tokens_by_command(somewhere):
    assert somewhere.cli("memory", "write", "a.md", "a red kite")[0] == 0
    assert somewhere.cli("memory", "read", "a.md")[:2] == (0, "a red kite\n")
    assert "a.md" in somewhere.cli("memory", "search", "kite")[1] and "a.md" in somewhere.cli("memory", "tree")[1]
    code, out, _ = somewhere.cli("token", "create", "--permission", "chat:read", "--label", "cli", "--expires-in", "1h")
    assert code == 0 and out.startswith("chela_") and len(out.splitlines()) == 1
    id = out.split("_")[1]
    assert id in somewhere.cli("token", "list")[1]
    assert somewhere.cli("token", "revoke", id)[0] == 0
    assert somewhere.cli("token", "revoke", "0123456789abcdef")[0] == 5


def test_log_replay_and_fork(somewhere, model):
    model.set_script(tools_then("it is 391", call("calculator", expression="17*23")))
    somewhere.cli("run", "-m", "compute")
    thread = json.loads(somewhere.cli("threads", "--json")[1])["threads"][0]["id"]
    code, out, _ = somewhere.cli("log", thread)
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and records[0]["kind"] == "TurnStarted" and records[-1]["kind"] == "TurnFinished"
    code, out, _ = somewhere.cli("replay", thread)
    assert code == 0 and f"{len(records)} records" in out and "no difference" in out
    assert somewhere.cli("replay", thread, "--until", "2")[0] == 0
    code, out, _ = somewhere.cli("fork", thread, "--at", str(records[-1]["seq"]))
    assert code == 0 and out.strip() != thread
    assert "compute" in somewhere.cli("history", out.strip())[1]


def test_a_message_by_command_is_seen_by_the_api(own_engine):
    own_engine.start()
    with own_engine.events() as events:
        assert own_engine.cli("run", "-m", "from the shell")[0] == 0
        assert events.until("response")[-1].data["content"].endswith("from the shell")
    listed = own_engine.api.get("/api/chat/threads", params={"channel": "cli"}).json()["threads"]
    assert [each["title"] for each in listed] == ["from the shell"]
    assert Chat(own_engine).say("api")["state"] == "completed"
