"""Models of several providers: by the data of a home, with the keys of each, without a restart."""

import json

import pytest

from support import Chat
from support.model import ScriptedModel

SECOND_KEY = "second-key-for-test-0123456789"

PROVIDERS = """
[providers.second]
name = "Second"
base_url = "http://127.0.0.1:{port}/v1"
key_env = ["SECOND_API_KEY"]
tool_names = "plain"
unsupported_params = ["temperature"]
"""

MODELS = """
[models.second]
clever = { context = 50000, sent_as = "second-clever-2026", price = { input = 1, output = 2 } }
[aliases]
wise = "second/clever"
"""


@pytest.fixture
def second():
    with ScriptedModel() as other:
        yield other


@pytest.fixture
def two(own_engine, second):
    """An engine whose home knows a second provider, without its key."""
    (own_engine.home / "providers.toml").write_text(PROVIDERS.format(port=second.port))
    (own_engine.home / "models.toml").write_text(MODELS)
    return own_engine.start()


def give_key(engine):
    assert engine.api.put("/api/vault/second_api_key", json={"value": SECOND_KEY}).status_code == 200


def test_a_model_of_another_provider_answers_by_its_own_name_and_key(two, model, second):
    give_key(two)
    chat = Chat(two)
    for name in ("second/clever", "clever", "wise"):
        assert two.api.put("/api/models/active", json={"model": name}).status_code == 200
        chat.say("hello " + name)
        asked = second.requests()[-1]
        assert asked["body"]["model"] == "second-clever-2026"
        assert asked["headers"]["Authorization"] == f"Bearer {SECOND_KEY}"
    assert model.bodies() == []
    chat.send("/model default")
    chat.say("back again")
    assert model.bodies()[-1]["model"] == "scripted"
    assert SECOND_KEY not in two.log_text()


def test_without_its_key_the_person_is_told_what_to_do(two, second):
    two.env["LLM_BACKEND"] = "ollama"
    two.env["OLLAMA_BASE_URL"] = two.env["LLM_BASE_URL"]
    two.restart()
    answer = two.api.put("/api/models/active", json={"model": "second/clever"})
    assert answer.status_code == 503
    assert "chela secret set second_api_key" in answer.json()["error"]["message"]
    give_key(two)
    assert two.api.put("/api/models/active", json={"model": "second/clever"}).status_code == 200
    Chat(two).say("now")
    assert second.bodies()[-1]["model"] == "second-clever-2026"


def test_a_backend_that_takes_any_name_is_asked_instead(two, model, second):
    assert two.api.put("/api/models/active", json={"model": "second/clever"}).status_code == 200
    Chat(two).say("hello")
    assert model.bodies()[-1]["model"] == "second/clever"
    assert second.bodies() == []


def test_an_agents_file_names_a_model_of_another_provider(own_engine, model, second):
    (own_engine.home / "providers.toml").write_text(PROVIDERS.format(port=second.port))
    (own_engine.home / "models.toml").write_text(MODELS)
    folder = own_engine.home / "agents" / "sage"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "sage"\n[agent.model]\nmodel = "wise"\ntemperature = 0.5\n')
    own_engine.env["SECOND_API_KEY"] = SECOND_KEY
    own_engine.start()
    answer = own_engine.api.post("/v1/chat/completions", json={
        "model": "chela/sage", "messages": [{"role": "user", "content": "who"}]})
    assert answer.status_code == 200, answer.text
    asked = second.bodies()[-1]
    assert asked["model"] == "second-clever-2026"
    assert "temperature" not in asked
    assert model.bodies() == []
    usage = own_engine.api.get("/api/usage?days=1").json()
    assert "cost" in str(usage)
    with open(f"/proc/{own_engine.pid}/environ", "rb") as file:
        assert SECOND_KEY.encode() not in file.read()


def test_any_provider_can_be_the_backend(own_engine, second):
    (own_engine.home / "providers.toml").write_text(PROVIDERS.format(port=second.port))
    own_engine.env.update(LLM_BACKEND="second", LLM_MODEL="plain-1", LLM_BASE_URL=None, LLM_API_KEY=None,
                          SECOND_API_KEY=SECOND_KEY)
    own_engine.start()
    Chat(own_engine).say("hi")
    assert second.bodies()[-1]["model"] == "plain-1"
    assert own_engine.api.get("/api/models").json()["backend"] == "second"


@pytest.mark.parametrize("file, text, says", [
    ("providers.toml", "[providers.x]\nbase_url = 'ftp://x'\nkey = 'optional'\n", "provider 'x': 'base_url' must begin"),
    ("providers.toml", "[providers.x\n", "providers.toml:1:"),
    ("models.toml", "[models.x]\ny = { contxt = 1 }\n", "model 'x/y': there is no key 'contxt'"),
])
def test_a_mistake_in_a_persons_file_stops_the_start(own_engine, file, text, says):
    (own_engine.home / file).write_text(text)
    code, _, err = own_engine.cli("run", "-m", "hello")
    assert code == 2 and says in err and file in err
    code, out, _ = own_engine.cli("doctor")
    assert code == 1 and says in out


def test_a_backend_that_there_is_none_of_is_said(own_engine):
    own_engine.env.update(LLM_BACKEND="nobody", LLM_BASE_URL=None)
    code, _, err = own_engine.cli("run", "-m", "hello")
    assert code == 2 and "'nobody' is not supported" in err and "groq" in err


def test_the_command_line_shows_tries_and_chooses_models(two, model, second):
    two.env["LLM_MODEL"] = None
    two.env["LLM_BACKEND"] = None
    two.restart()
    code, out, _ = two.cli("models", "providers")
    assert code == 0 and "second" in out and "SECOND_API_KEY" in out and "groq" in out
    code, out, _ = two.cli("models", "aliases")
    assert code == 0 and "wise" in out and "second/clever" in out
    code, out, _ = two.cli("models", "list", "--provider", "second")
    assert code == 0 and "second/clever" in out and "50000" in out
    code, out, _ = two.cli("models", "list", "--all", "--json")
    assert code == 0 and len(json.loads(out)["models"]) > 47
    give_key(two)
    code, out, _ = two.cli("models", "test", "wise")
    assert code == 0 and "second as second-clever-2026" in out and "answers after" in out
    code, out, _ = two.cli("models", "use", "wise")
    assert code == 0 and "is asked from now on" in out
    Chat(two).say("who answers")
    assert second.bodies()[-1]["model"] == "second-clever-2026"
    assert model.bodies() == []
    second.set_script({"replies": [{"status": 401}] * 4})
    code, out, _ = two.cli("models", "test", "wise", "--json")
    assert code != 0
    assert json.loads(out)["ok"] is False and json.loads(out)["error"]["message"]


def test_models_of_all_providers_with_a_key_are_listed(two):
    def names():
        return [each["id"] for each in two.api.get("/v1/models").json()["data"]]
    assert "scripted" in names() and "second/clever" not in names()
    give_key(two)
    assert "scripted" in names() and "second/clever" in names()
    assert two.api.get("/v1/models/second/clever").json()["owned_by"] == "second"
    assert "second/clever" in [each["id"] for each in two.api.get("/api/models").json()["models"]]


def test_the_choice_of_one_agent_counts_at_once_and_for_no_other(own_engine, model, second):
    (own_engine.home / "providers.toml").write_text(PROVIDERS.format(port=second.port))
    (own_engine.home / "models.toml").write_text(MODELS)
    folder = own_engine.home / "agents" / "sage"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "sage"\n')
    own_engine.env["SECOND_API_KEY"] = SECOND_KEY
    own_engine.start()
    chat = Chat(own_engine)
    chat.say("before", agent="sage")
    assert own_engine.api.put("/api/models/active", json={"model": "wise", "agent": "sage"}).status_code == 200
    Chat(own_engine, new=False).say("now", agent="sage")
    assert second.bodies()[-1]["model"] == "second-clever-2026"
    Chat(own_engine).say("others")
    assert model.bodies()[-1]["model"] == "scripted"


def test_a_choice_that_a_higher_layer_hides_says_so(two):
    give_key(two)
    code, _, err = two.cli("models", "use", "second/clever")
    assert code == 0 and "LLM_MODEL" in err
    assert two.api.get("/api/models").json()["active"] == "scripted"
    answer = two.api.get("/api/models/resolve", params={"model": "wise"}).json()
    assert (answer["provider"], answer["sent_as"], answer["usable"]) == ("second", "second-clever-2026", True)
