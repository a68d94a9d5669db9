"""Keys of clients: which models they may use, and what they may spend."""

import pytest

from support import Chat

PROVIDER = """
[providers.second]
base_url = "http://127.0.0.1:{port}/v1"
key_env = ["SECOND_API_KEY"]
"""


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_LLM_MODEL": "gpt-4o"}  # whose price is known


def make(engine, **body):
    answer = engine.api.post("/api/tokens", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def ask(client, model, text="hello", path="/v1/chat/completions"):
    return client.post(path, json={"model": model, "max_tokens": 50, "messages": [{"role": "user", "content": text}]})


def test_a_key_may_use_its_models_only(engine, model):
    made = make(engine, label="one", models=["gpt-4o", "chela", "small-*"])
    assert made["models"] == ["chela", "gpt-4o", "small-*"] and not any("model:" in each for each in made["permissions"])
    with engine.client(token=made["token"]) as client:
        for name in ("gpt-4o", "chela", "chela/default", "small-one"):
            assert ask(client, name).status_code == 200, name
        asked = len(model.requests())
        refused = ask(client, "dear-model")
        assert refused.status_code == 403
        error = refused.json()["error"]
        assert "'dear-model'" in error["message"] and error["code"] == "model_not_allowed" and error["param"] == "model"
        assert ask(client, "dear-model", path="/v1/messages").status_code == 403
        assert client.post("/v1/responses", json={"model": "dear-model", "input": "x"}).status_code == 403
        assert client.post("/v1/embeddings", json={"model": "dear-model", "input": "x"}).status_code == 403
        assert ask(client, "chela", "/model dear-model").status_code == 403
        assert client.put("/api/models/active", json={"model": "dear-model"}).status_code == 403
        assert client.post("/api/models/test", json={"model": "dear-model"}).status_code == 403
        assert len(model.requests()) == asked
        names = [each["id"] for each in client.get("/v1/models").json()["data"]]
        assert "chela" in names and "gpt-4o" in names and "scripted" not in names
        assert client.get("/v1/models/scripted").status_code == 404
        assert {each["id"] for each in client.get("/api/models").json()["models"]} == {"gpt-4o"}
    (listed,) = [each for each in engine.api.get("/api/tokens").json()["tokens"] if each["label"] == "one"]
    assert listed["models"] == ["chela", "gpt-4o", "small-*"]


def test_a_key_without_agents_reaches_none(engine):
    with engine.client(token=make(engine, models=["gpt-4o"])["token"]) as client:
        assert client.post("/api/chat/send", json={"content": "hello"}).status_code == 403
        assert ask(client, "chela").status_code == 403


def test_a_thread_of_another_agent_is_out_of_reach(own_engine, model):
    folder = own_engine.home / "agents" / "poet"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('[agent]\nname = "poet"\n')
    own_engine.start()
    mine = Chat(own_engine)
    mine.say("hello")
    thread = mine.thread or mine.history()["thread_id"]
    with own_engine.client(token=make(own_engine, models=["chela/poet"])["token"]) as client:
        assert client.post("/api/chat/send", json={"agent": "poet", "thread_id": thread, "content": "x"}).status_code == 404
        for agent in ({}, {"agent": "poet"}):
            edit = {"thread_id": thread, "turn_number": 0, "content": "other words", **agent}
            assert client.post("/api/chat/edit", json=edit).status_code in (403, 404)
        assert client.post("/api/chat/retry", json={"thread_id": thread}).status_code == 403
        assert client.post("/api/chat/send", json={"agent": "poet", "content": "hello"}).status_code == 202
    assert len(mine.turns()) == 1 and mine.last()["user_input"] == "hello"


def test_what_the_engine_chooses_has_to_be_allowed(engine):
    with engine.client(token=make(engine, models=["openai_compatible/*"])["token"]) as client:
        assert ask(client, "auto").status_code == 403
    with engine.client(token=make(engine, models=["auto"])["token"]) as client:
        assert ask(client, "auto").status_code == 200


def test_nobody_gives_away_more_models(engine):
    giver = make(engine, permissions=["*"], models=["gpt-*", "chela"])["token"]
    with engine.client(token=giver) as client:
        assert client.post("/api/tokens", json={"models": ["other"]}).status_code == 403
        assert client.post("/api/tokens", json={"models": ["*"]}).status_code == 403
        assert client.post("/api/tokens", json={"models": ["gpt-4o"]}).json()["models"] == ["gpt-4o"]
        assert client.post("/api/tokens", json={}).json()["models"] == ["chela", "gpt-*"]


@pytest.mark.parametrize("body", [{"models": ["a b"]}, {"models": ["a*b"]}, {"models": ["a,b"]}, {"permissions": ["model:x"]}])
def test_wrong_patterns_are_refused(engine, body):
    assert engine.api.post("/api/tokens", json=body).status_code == 400


def test_a_key_has_a_budget_of_its_own(engine, model):
    model.set_script({"default": {"text": "ok", "usage": {"input": 1000, "output": 5000}}})  # 5.25 cents
    made = make(engine, label="poor", day_cents=6)
    rich = make(engine, label="rich", day_cents=1000, month_cents=2000)
    with engine.client(token=made["token"]) as client, engine.client(token=rich["token"]) as other:
        assert ask(client, "gpt-4o").status_code == 200
        refused = client.post("/v1/chat/completions", json={
            "model": "gpt-4o", "max_tokens": 5000, "messages": [{"role": "user", "content": "again"}]})
        assert refused.status_code == 402 and f"key {made['id']}" in refused.json()["error"]["message"]
        assert ask(other, "gpt-4o").status_code == 200
        limits = {each["limit"]: each for each in client.get("/api/usage").json()["limits"]}
        assert limits[f"key:{made['id']} day"]["spent"] == pytest.approx(0.0525)
        assert client.get("/api/usage", params={"key": rich["id"]}).status_code == 403
    code, out, _ = engine.cli("usage", "--key", rich["id"])
    assert code == 0 and f"key:{rich['id']} day" in out and f"key:{rich['id']} month" in out
    for each in (made, rich):
        assert engine.api.delete(f"/api/tokens/{each['id']}").status_code == 200
    assert engine.api.get("/api/settings/budget.limits").json()["value"] == []


def test_a_limit_that_would_not_count_makes_no_key(own_engine):
    own_engine.env["CHELA_BUDGET_LIMITS"] = "agent:x day 5"
    own_engine.start()
    answer = own_engine.api.post("/api/tokens", json={"label": "hidden", "day_cents": 5})
    assert answer.status_code == 409 and "CHELA_BUDGET_LIMITS" in answer.json()["error"]["message"]
    tokens = [each for each in own_engine.api.get("/api/tokens").json()["tokens"] if each["label"] == "hidden"]
    assert all("revoked_at" in each for each in tokens)


def test_the_command_line_makes_such_keys(engine, model):
    code, out, err = engine.cli("token", "create", "--label", "cli", "--model", "gpt-4o", "--model", "chela",
                                "--day-cents", "5", "--month-cents", "50")
    assert code == 0, err
    token = out.strip()
    with engine.client(token=token) as client:
        assert ask(client, "other").status_code == 403
    code, out, _ = engine.cli("token", "list")
    assert code == 0 and "MODELS" in out and "gpt-4o" in out
    key = token.split("_")[1]
    assert f"key:{key} month 50" in str(engine.api.get("/api/settings/budget.limits").json()["value"])
    assert engine.cli("token", "revoke", key)[0] == 0


def test_turns_of_an_agent_count_for_the_key(engine, model):
    model.set_script({"default": {"text": "ok", "usage": {"input": 1000, "output": 1000}}})
    made = make(engine, label="turns", day_cents=2)
    with engine.client(token=made["token"]) as client:
        chat = Chat(engine, client=client)
        outcomes = [chat.say(f"turn {n}") for n in range(3)]
    assert outcomes[-1]["state"] == "failed" and outcomes[-1]["error"]["code"] == "budget_exceeded"
    engine.api.delete(f"/api/tokens/{made['id']}")
