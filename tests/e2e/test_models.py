"""Which model answers, chosen by a request; and what the bus says of itself over HTTP."""

import pytest

from support import Chat


def put(engine, **body):
    return engine.api.put("/api/models/active", json=body)


def model_of(engine, **params):
    return engine.api.get("/api/models", params=params).json()


@pytest.fixture
def poet(own_engine):
    """An engine with a second agent, which has a model of its own."""
    folder = own_engine.home / "agents" / "poet"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "poet"\n[agent.model]\nmodel = "verses"\n')
    return own_engine.start()


def test_a_choice_is_one_agents_and_is_what_slash_model_says(poet, model):
    assert model_of(poet, agent="poet")["configured"] == "verses"
    assert put(poet, model="longer-verses", agent="poet").json() == {"active": "longer-verses", "configured": "verses"}
    assert model_of(poet, agent="poet")["active"] == "longer-verses"
    assert model_of(poet)["active"] == "scripted"
    chat = Chat(poet)
    chat.say("who", agent="poet")
    put(poet, model="third")
    chat.say("and now")
    assert model.bodies()[-1]["model"] == "third"
    assert "Active: third" in chat.send("/model")["reply"]
    assert put(poet, model="", agent="poet").json()["active"] == "verses"


def test_a_choice_survives_a_restart(poet):
    put(poet, model="chosen")
    poet.restart()
    assert model_of(poet)["active"] == "chosen"


@pytest.mark.parametrize("body, status", [({"model": "x", "agent": "nobody"}, 404), ({"model": "two words"}, 400), ({}, 422)])
def test_what_cannot_be_chosen_is_refused(engine, body, status):
    answer = put(engine, **body)
    assert answer.status_code == status, answer.text
    assert model_of(engine)["active"] == "scripted"


def test_choosing_needs_the_right_to_write(engine):
    reader = engine.api.post("/api/tokens", json={"label": "reader", "permissions": ["chat:read"]}).json()["token"]
    with engine.client(token=reader) as client:
        assert client.put("/api/models/active", json={"model": "x"}).status_code == 403


def test_the_bus_shows_workers_and_triggers_to_who_may_call(engine):
    assert engine.api.get("/api/bus/workers").json()["workers"] == []
    assert engine.api.get("/api/bus/triggers").json()["registered_triggers"] == []
    reader = engine.api.post("/api/tokens", json={"label": "reader", "permissions": ["chat:read"]}).json()["token"]
    with engine.client(token=reader) as client:
        assert client.get("/api/bus/triggers").status_code == 403


def test_an_engine_without_a_bus_says_so(own_engine):
    own_engine.env["CHELA_BUS_ENABLED"] = "false"
    own_engine.start()
    answer = own_engine.api.get("/api/bus/workers")
    assert answer.status_code == 503 and "bus.enabled" in answer.json()["error"]["message"]
