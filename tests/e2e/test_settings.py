"""/api/settings and `chela config`: settings that people change while the engine runs."""

import json
import signal

import pytest

from support import Chat, wait_until
from support.limits import limit
from support.scripts import HANG

KEY = "sk-a-key-that-must-not-leave-0123456789"


def setting(engine, key):
    answer = engine.api.get(f"/api/settings/{key}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def put(engine, key, value):
    return engine.api.put(f"/api/settings/{key}", json={"value": value})


@pytest.fixture
def fresh(own_engine):
    return own_engine.start()


def test_the_list_says_everything_about_every_key(fresh):
    entries = {each["key"]: each for each in fresh.api.get("/api/settings").json()["settings"]}
    busy = entries["agent.busy"]
    assert (busy["value"], busy["default"], busy["source"], busy["type"]) == ("steer", "steer", "default", "choice")
    assert busy["reloadable"] and not busy["secret"] and busy["help"] and busy["choices"] == ["steer", "queue"]
    assert entries["gateway.port"]["value"] == 0 and entries["gateway.port"]["source"] == "environment"
    assert not entries["gateway.port"]["reloadable"]
    assert entries["llm.base_url"]["source"] == "foreign" and "updated_at" not in busy
    assert entries["agent.auto_approve_tools"]["value"] is False
    assert list(fresh.api.get("/api/settings", params={"prefix": "agent."}).json()["settings"][0])[0] == "key"


def test_a_reloadable_key_counts_at_once_and_survives_a_restart(fresh, model):
    assert put(fresh, "limits.message", "50").status_code == 204
    assert fresh.api.post("/api/chat/send", json={"content": "x" * 51}).status_code == 413
    found = setting(fresh, "limits.message")
    assert (found["value"], found["source"]) == ("50", "settings") and found["updated_at"] and "restart_required" not in found
    fresh.restart()
    assert fresh.api.post("/api/chat/send", json={"content": "x" * 51}).status_code == 413
    assert fresh.api.delete("/api/settings/limits.message").status_code == 204
    assert fresh.api.post("/api/chat/send", json={"content": "x" * 51}).status_code == 202
    assert setting(fresh, "limits.message")["source"] == "default"


def test_every_reloadable_key_takes_a_change(fresh):
    new = {"agent.auto_approve_tools": True, "agent.busy": "queue", "agent.max_tool_iterations": 7, "budget.actions_per_hour": 500,
           "budget.day_cents": 500, "budget.limits": ["agent:* day 50"], "budget.month_cents": 900, "budget.timezone": "Europe/Berlin",
           "budget.unpriced": "refuse", "budget.warn_percent": 70, "limits.event_subscribers": 3,
           "limits.message": "5KiB", "llm.cache": True, "llm.cache_entries": 7,
           "llm.cache_ttl": "60s", "llm.cascade": False, "llm.cheap_model": "small", "llm.routing": "keywords", "llm.failover_cooldown": "10s", "llm.failover_threshold": 2, "llm.fallback": ["a", "b"], "llm.model": "another", "log.level": "debug", "ollama.model": "m", "openai.model": "m", "tools.timeout": "5s",
           "traces.model_name": "m", "traces.output": str(fresh.home / "trace.json"), "traces.record": True}
    entries = fresh.api.get("/api/settings").json()["settings"]
    assert {each["key"] for each in entries if each["reloadable"] and not each["key"].startswith("ui.")} == new.keys()
    for key, value in new.items():
        answer = put(fresh, key, value)
        if key == "llm.model":  # the tests' engine gets it from the environment, which wins
            assert answer.status_code == 200 and "LLM_MODEL" in answer.json()["warning"]
            continue
        assert answer.status_code == 204, answer.text
        assert setting(fresh, key)["value"] == value


def test_the_queue_limit_of_event_streams_changes_while_streams_are_open(fresh):
    with fresh.events(), fresh.events():
        assert put(fresh, "limits.event_subscribers", 2).status_code == 204
        assert fresh.api.get("/api/chat/events").status_code == 429
        assert put(fresh, "limits.event_subscribers", 3).status_code == 204
        with fresh.events():
            pass


def test_a_busy_thread_queues_as_soon_as_it_is_told_to(fresh, model):
    model.set_script({"default": HANG})
    chat = Chat(fresh)
    first = chat.send("one")["turn_id"]
    assert chat.send("joins")["turn_id"] == first
    assert put(fresh, "agent.busy", "queue").status_code == 204
    assert chat.send("waits")["turn_id"] != first
    chat.interrupt()


def test_the_model_of_the_next_turn(tmp_path, model):
    from support import Engine
    with Engine(tmp_path / "home", env={"LLM_BACKEND": "openai_compatible", "LLM_BASE_URL": model.base_url, "LLM_API_KEY": KEY}) as engine:
        assert put(engine, "llm.model", "other-model").status_code == 204
        assert engine.api.get("/api/models").json()["active"] == "other-model"
        assert Chat(engine).say("hello")["state"] == "completed"
        assert model.bodies()[-1]["model"] == "other-model"
        assert engine.api.get("/api/gateway/status").json()["model"] == "other-model"


def test_a_users_own_model_wins_over_the_setting(tmp_path, model):
    from support import Engine
    with Engine(tmp_path / "home", env={"LLM_BACKEND": "openai_compatible", "LLM_BASE_URL": model.base_url, "LLM_API_KEY": KEY}) as engine:
        chat = Chat(engine)
        assert put(engine, "llm.model", "configured").status_code == 204
        chat.send("/model mine")
        assert put(engine, "llm.model", "configured-later").status_code == 204
        models = engine.api.get("/api/models").json()
        assert (models["active"], models["model"]) == ("mine", "configured-later")
        assert {"configured-later", "mine"} <= {each["id"] for each in models["models"]}
        chat.say("hello")
        chat.send("/model default")
        assert engine.api.get("/api/models").json()["active"] == "configured-later"
        chat.say("hello")
        assert [body["model"] for body in model.bodies()] == ["mine", "configured-later"]


def test_a_key_that_is_read_at_the_start_says_so(fresh):
    answer = put(fresh, "limits.body", "2KiB")
    assert answer.status_code == 200 and "next start" in answer.json()["warning"]
    found = setting(fresh, "limits.body")
    assert found["value"] == "2KiB" and found["running"] == "1MiB" and found["restart_required"]
    big = {"path": "a.md", "content": "x" * 3000}
    assert fresh.api.post("/api/memory/write", json=big).status_code == 200
    fresh.restart()
    assert fresh.api.post("/api/memory/write", json=big).status_code == 413
    assert "restart_required" not in setting(fresh, "limits.body")


def test_a_higher_layer_wins_and_is_named(own_engine):
    (own_engine.home / "config.toml").write_text("[agent]\nmax_tool_iterations = 9\n")
    own_engine.env["CHELA_AGENT_BUSY"] = "steer"
    own_engine.start()
    answer = put(own_engine, "agent.max_tool_iterations", 5)
    assert answer.status_code == 200 and "config.toml:2" in answer.json()["warning"]
    assert setting(own_engine, "agent.max_tool_iterations")["value"] == 9
    answer = put(own_engine, "agent.busy", "queue")
    assert answer.status_code == 200 and "CHELA_AGENT_BUSY" in answer.json()["warning"]
    # What is stored counts once nothing stands above it.
    del own_engine.env["CHELA_AGENT_BUSY"]
    own_engine.restart()
    assert setting(own_engine, "agent.busy")["value"] == "queue"


@pytest.mark.parametrize("key, value", [
    ("agent.max_tool_iterations", 0), ("agent.max_tool_iterations", 1001), ("agent.max_tool_iterations", "many"), ("agent.max_tool_iterations", 1.5),
    ("agent.max_tool_iterations", None), ("agent.max_tool_iterations", [5]), ("agent.max_tool_iterations", {"a": 1}), ("agent.max_tool_iterations", True),
    ("agent.busy", "sometimes"), ("agent.busy", ""), ("agent.auto_approve_tools", "perhaps"), ("limits.message", "huge"), ("limits.message", -1),
    ("tools.timeout", "5 parsecs"), ("gateway.port", 65536), ("llm.temperature", 3), ("llm.base_url", "ftp://x"), ("llm.backend", "skynet"),
    ("llm.model", "a\x00b"), ("llm.model", "x" * 70_000), ("gateway.user_id", "eve"), ("log.file", "/etc/passwd"),
    ("llm.api_key", KEY), ("gateway.auth_token", KEY), ("llm.extra_headers", "Authorization:" + KEY),
    ("ui.", 1), ("ui." + "x" * 200, 1), ("ui.a b", 1), ("ui.é", 1), ("ui.big", "x" * 70_000)])
def test_a_wrong_value_is_422_and_changes_nothing(engine, key, value):
    before = engine.api.get("/api/settings/export").json()
    answer = put(engine, key, value)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["message"] and KEY not in answer.text
    assert engine.api.get("/api/settings/export").json() == before


@pytest.mark.parametrize("key", ["agent.bussy", "nonsense", "x" * 5000, "config:agent.busy", "active_thread:default:gateway", "..", "%2e%2e", "a%00b"])
def test_a_wrong_key_is_404(engine, key):
    for answer in (put(engine, key, 1), engine.api.get(f"/api/settings/{key}"), engine.api.delete(f"/api/settings/{key}")):
        assert answer.status_code in (400, 404), answer.text
    if key == "agent.bussy":
        assert "agent.busy" in engine.api.get(f"/api/settings/{key}").json()["error"]["message"]


@pytest.mark.parametrize("body", [{}, {"val": 1}, [], "x"])
def test_a_wrong_body_is_refused(engine, body):
    assert engine.api.put("/api/settings/agent.busy", json=body).status_code in (400, 422)


def test_keys_and_values_have_a_length(engine):
    longest = "ui." + "k" * (limit("kMaxSettingKeyBytes") - 3)
    fits = "x" * (limit("kMaxSettingBytes") - 2)  # with its quotes
    assert put(engine, longest, fits).status_code == 204
    assert setting(engine, longest)["value"] == fits
    assert put(engine, longest, fits + "x").status_code == 422
    assert put(engine, longest + "k", 1).status_code == 422
    assert engine.api.delete(f"/api/settings/{longest}").status_code == 204
    assert put(engine, "llm.model", "x" * (limit("kMaxSettingBytes") + 1)).status_code == 422


def test_free_keys_hold_anything_and_belong_to_their_user(engine):
    value = {"theme": "dark", "sizes": [1, 2.5, None, True], "text": "ü\u0000"}
    assert put(engine, "ui.look", value).status_code == 204
    assert setting(engine, "ui.look")["value"] == value
    assert any(each["key"] == "ui.look" for each in engine.api.get("/api/settings").json()["settings"])
    assert engine.api.delete("/api/settings/ui.look").status_code == 204
    assert engine.api.get("/api/settings/ui.look").status_code == 404


def test_there_is_room_for_so_many_free_keys(engine):
    room = limit("kMaxFreeSettings")
    own = len(engine.api.get("/api/settings", params={"prefix": "ui."}).json()["settings"])
    many = {f"ui.many.{n}": n for n in range(room - own + 1)}
    answer = engine.api.post("/api/settings/import", json={"settings": many})
    assert answer.status_code == 422 and str(room) in answer.json()["error"]["message"]
    assert engine.api.get("/api/settings", params={"prefix": "ui.many."}).json()["settings"] == []
    many.pop("ui.many.0")
    assert engine.api.post("/api/settings/import", json={"settings": many}).status_code in (200, 204)
    assert put(engine, "ui.one-more", 1).status_code == 422
    assert put(engine, "ui.many.1", 2).status_code == 204
    for key in many:
        assert engine.api.delete(f"/api/settings/{key}").status_code == 204


def test_import_is_all_or_nothing(fresh):
    good = {"agent.busy": "queue", "limits.message": "4KiB", "ui.theme": "dark", "limits.body": "3MiB"}
    answer = fresh.api.post("/api/settings/import", json={"settings": {**good, "agent.max_tool_iterations": "x"}})
    assert answer.status_code == 422
    assert fresh.api.get("/api/settings/export").json() == {"settings": {}}
    assert setting(fresh, "agent.busy")["value"] == "steer"
    answer = fresh.api.post("/api/settings/import", json={"settings": good})
    assert answer.status_code == 200 and ["limits.body" in each for each in answer.json()["warnings"]] == [True]
    assert fresh.api.get("/api/settings/export").json() == {"settings": good}
    fresh.restart()
    assert fresh.api.post("/api/settings/import", json=fresh.api.get("/api/settings/export").json()).status_code == 204
    for wrong in ({}, {"settings": []}, {"settings": {"nonsense": 1}}, {"settings": {"llm.api_key": KEY}}):
        assert fresh.api.post("/api/settings/import", json=wrong).status_code in (404, 422)


def test_secrets_never_leave(fresh):
    texts = [fresh.api.get(path).text for path in ("/api/settings", "/api/settings/llm.api_key", "/api/settings/export")]
    from support.engine import API_KEY
    assert all(API_KEY not in text and fresh.token not in text for text in texts)
    found = setting(fresh, "llm.api_key")
    assert found["value"] is None and found["secret"] and found["is_set"] and found["default"] is None
    assert not setting(fresh, "openai.api_key")["is_set"]


def test_a_secret_can_be_named_by_its_place_in_the_vault(fresh):
    code, _, err = fresh.cli("secret", "set", "provider", stdin=KEY)
    assert code == 0, err
    answer = put(fresh, "openai.api_key", "secret:provider")
    assert answer.status_code == 200 and "next start" in answer.json()["warning"]
    found = setting(fresh, "openai.api_key")
    assert (found["value"], found["is_set"], found["reference"]) == (None, True, "secret:provider")
    assert KEY not in fresh.api.get("/api/settings").text + fresh.api.get("/api/settings/export").text
    assert put(fresh, "openai.api_key", "secret:nobody").status_code == 422
    assert put(fresh, "secrets.master_key", "secret:provider").status_code == 422
    fresh.restart()
    assert "restart_required" not in setting(fresh, "openai.api_key")


def test_permissions(engine):
    def client(*permissions):
        return engine.client(token=engine.api.post("/api/tokens", json={"permissions": list(permissions)}).json()["token"])
    with client("chat:*") as api:
        assert api.get("/api/settings").status_code == 403
    with client("settings:read") as api:
        assert api.get("/api/settings").status_code == 200
        assert api.put("/api/settings/ui.x", json={"value": 1}).status_code == 403
    with client("settings:*") as api:
        assert api.put("/api/settings/ui.x", json={"value": 1}).status_code == 204
        assert api.put("/api/settings/agent.busy", json={"value": "queue"}).status_code == 403
        assert api.delete("/api/settings/agent.busy").status_code == 403
        assert api.post("/api/settings/import", json={"settings": {"agent.busy": "queue"}}).status_code == 403


def test_a_hangup_reads_the_file_again(own_engine):
    file = own_engine.home / "config.toml"
    file.write_text("[limits]\nmessage = 1000\nbody = '1MiB'\n")
    own_engine.start()

    def reloaded(text, words):
        file.write_text(text)
        before = own_engine.log_text().count(words)
        own_engine.process.child.send_signal(signal.SIGHUP)
        wait_until(lambda: own_engine.log_text().count(words) > before, words)

    reloaded("[limits]\nmessage = 60\nbody = '2MiB'\n", "read again")
    assert own_engine.api.post("/api/chat/send", json={"content": "x" * 61}).status_code == 413
    assert setting(own_engine, "limits.body")["restart_required"]
    # One that is wrong changes nothing.
    reloaded("[limits]\nmessage = 'huge'\n", "the configuration stays as it is")
    assert own_engine.api.post("/api/chat/send", json={"content": "x" * 61}).status_code == 413
    assert own_engine.running()


@pytest.mark.parametrize("running", [True, False])
def test_the_command_line_sets_and_resets(own_engine, running):
    if running:
        own_engine.start()

    def config(*args):
        code, out, err = own_engine.cli("config", *args)
        assert code == 0, err
        return out, err

    assert config("set", "agent.max_tool_iterations", "12") == ("", "")
    assert config("get", "agent.max_tool_iterations") == ("12\n", "")
    assert "agent.max_tool_iterations = 12  (settings)" in config()[0]
    assert config("list", "--filter", "agent.busy")[0] == "agent.busy = steer  (default)\n"
    assert json.loads(config("list", "--json")[0])["settings"]
    assert "LLM_MODEL" in config("set", "llm.model", "x")[1]
    assert config("reset", "agent.max_tool_iterations")[0] == ""
    assert config("get", "agent.max_tool_iterations")[0] == "50\n"
    assert "one of: steer, queue" in config("agent.busy")[0]
    code, _, err = own_engine.cli("config", "set", "agent.busy", "never")
    assert code == 2 and "queue" in err
    assert own_engine.cli("config", "get", "agent.bussy")[0] == 5


def test_stored_settings_that_fit_no_longer_can_be_mended(own_engine):
    assert own_engine.cli("config", "set", "llm.backend", "openai_compatible")[0] == 0
    # Without the environment's address there is no such backend.
    without = {"LLM_BASE_URL": "", "LLM_BACKEND": "", "LLM_MODEL": ""}
    code, _, err = own_engine.cli("run", "--headless", env=without)
    assert code == 2 and "llm.base_url" in err and "config reset" in err
    code, out, err = own_engine.cli("config", "get", "llm.backend", env=without)
    assert code == 0 and "do not count" in err
    code, _, err = own_engine.cli("config", "reset", "llm.backend", env=without)
    assert code == 0, err
    assert own_engine.cli("config", "list", env=without)[2] == ""


def test_a_file_to_fill_in(own_engine):
    code, out, _ = own_engine.cli("config", "path")
    assert (code, out.strip()) == (0, str(own_engine.home / "config.toml"))
    assert own_engine.cli("config", "init")[0] == 0
    text = (own_engine.home / "config.toml").read_text()
    assert "# port = 3000" in text and "[gateway]" in text
    assert own_engine.cli("config", "init")[0] == 6
    assert own_engine.cli("config", "init", "--force")[0] == 0
    assert own_engine.cli("config", "get", "gateway.host")[1] == "127.0.0.1\n"
    other = own_engine.home / "other.toml"
    assert own_engine.cli("config", "init", "-o", other)[0] == 0 and other.read_text() == text
