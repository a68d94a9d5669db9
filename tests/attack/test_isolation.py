"""Two users of one engine: nobody sees, steers or ends what belongs to another."""

import pytest

from support import Chat, Engine
from support.scripts import call, tools_then

ALL = ["chat:*", "memory:*", "tools:*", "admin", "system:read"]


@pytest.fixture(scope="module")
def alice_and_bob(tmp_path_factory, module_model):
    """Bob's engine now; Alice owned it before and left a token."""
    home = tmp_path_factory.mktemp("home")
    with Engine(home, env={"GATEWAY_USER_ID": "alice"}, model_port=module_model.port) as first:
        token = first.api.post("/api/tokens", json={"permissions": ALL}).json()["token"]
        first.stop()
    with Engine(home, env={"GATEWAY_USER_ID": "bob"}, model_port=module_model.port) as engine:
        with engine.client(token) as alice:
            yield engine, alice


@pytest.fixture
def engine(alice_and_bob):
    return alice_and_bob[0]


@pytest.fixture
def alice(alice_and_bob, engine, model):
    return Chat(engine, client=alice_and_bob[1])


@pytest.fixture
def bob(engine, model):
    return Chat(engine)


def test_threads_are_apart(alice, bob):
    alice.say("alice's secret plan")
    assert "secret plan" not in bob.api.get("/api/chat/threads").text
    for method, path, body in [("GET", f"/api/chat/history?thread_id={alice.thread}", None),
                               ("GET", f"/api/threads/{alice.thread}/log", None),
                               ("POST", f"/api/threads/{alice.thread}/replay", {}),
                               ("POST", f"/api/threads/{alice.thread}/fork", {"at": 1}),
                               ("POST", "/api/chat/send", {"content": "hello", "thread_id": alice.thread}),
                               ("POST", "/api/chat/interrupt", {"thread_id": alice.thread}),
                               ("GET", f"/api/chat/events?thread_id={alice.thread}", None)]:
        answer = bob.api.request(method, path, json=body)
        assert answer.status_code == 404, f"{method} {path}: {answer.status_code} {answer.text[:200]}"
    assert len(alice.turns()) == 1


def test_turns_are_apart(alice, bob):
    accepted = alice.send("hello")
    assert bob.api.get("/api/chat/wait", params={"turn_id": accepted["turn_id"]}).status_code == 404
    assert alice.wait(accepted["turn_id"])["state"] == "completed"


def test_memory_is_apart(alice, bob):
    alice.api.post("/api/memory/write", json={"path": "secret.md", "content": "the treasure is under the oak"}).raise_for_status()
    assert bob.api.get("/api/memory/read", params={"path": "secret.md"}).status_code == 404
    assert "secret.md" not in bob.api.get("/api/memory/tree").text
    assert bob.api.post("/api/memory/search", json={"query": "treasure oak"}).json()["results"] == []
    bob.api.post("/api/memory/write", json={"path": "secret.md", "content": "bob's own"}).raise_for_status()
    assert "oak" in alice.api.get("/api/memory/read", params={"path": "secret.md"}).json()["content"]


def test_memory_is_apart_for_agents_too(alice, bob, model):
    alice.api.post("/api/memory/write", json={"path": "gold.md", "content": "the gold is under the willow"}).raise_for_status()
    model.set_script(tools_then("done", call("memory_search", query="gold willow"), call("memory_read", path="gold.md")))
    bob.say("where is the gold under the willow?")
    assert "under the willow\n" not in str(model.bodies()) and "gold is" not in str(model.bodies())


def test_files_are_apart(engine, alice, bob, model):
    folder = engine.home / "workspace" / "alice"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "diary.txt").write_text("dear diary")
    for path in ("../alice/diary.txt", str(folder / "diary.txt"), "alice/diary.txt"):
        model.set_script(tools_then("done", call("read_file", path=path)))
        bob.say("read")
        assert "dear diary" not in str(model.bodies())
    model.set_script(tools_then("done", call("read_file", path="diary.txt")))
    alice.say("read")
    assert "dear diary" in str(model.bodies())


def test_approvals_are_apart(engine, alice, bob, model):
    model.set_script(tools_then("done", call("write_file", path="mine.txt", content="x")))
    request = alice.say("write")["approval"]["request_id"]
    assert bob.decide(request, "approve").status_code == 404
    assert "pending_approval" not in bob.history()
    assert not (engine.home / "workspace/alice/mine.txt").exists()
    assert alice.decide(request, "deny").status_code == 202


def test_always_of_one_is_not_always_of_the_other(alice, bob, model):
    model.set_script(tools_then("done", call("write_file", path="a.txt", content="x")))
    request = alice.say("write")["approval"]["request_id"]
    alice.decide(request, "always")
    alice.wait_for_state("completed")
    model.set_script(tools_then("done", call("write_file", path="a.txt", content="x")))
    assert bob.say("write")["state"] == "awaiting_approval"
    bob.interrupt()


def test_events_are_apart(engine, alice, bob):
    with engine.events() as events:
        alice.say("hello from alice")
        bob.say("hello from bob")
        seen = events.until("turn_finished")
    assert {each.data["thread_id"] for each in seen} == {bob.thread}


def test_idempotency_keys_are_apart(alice, bob):
    first = alice.send("hello", idempotency_key="the same")
    second = bob.send("hello", idempotency_key="the same")
    assert first["message_id"] != second["message_id"]
    assert bob.wait(second["turn_id"])["state"] == "completed"


def test_conversations_of_v1_are_apart(alice, bob):
    messages = [{"role": "user", "content": "the very same words"}]

    def ask(api):
        answer = api.post("/v1/chat/completions", json={"model": "chela", "messages": messages})
        return answer.headers["x-chela-thread"], answer.json()["choices"][0]["message"]

    thread, message = ask(alice.api)
    ask(bob.api)
    messages += [message, {"role": "user", "content": "go on"}]
    assert ask(alice.api)[0] == thread
    messages[-1] = {"role": "user", "content": "go on, too"}
    assert ask(bob.api)[0] != thread


def test_tokens_are_apart(alice, bob):
    alices = alice.api.post("/api/tokens", json={"permissions": ["chat:read"], "label": "alice's"}).json()
    assert "alice's" not in bob.api.get("/api/tokens").text
    assert bob.api.delete(f"/api/tokens/{alices['token'].split('_')[1]}").status_code == 404


def test_a_scope_cannot_be_sent_along(alice, bob):
    alice.api.post("/api/memory/write", json={"path": "scope.md", "content": "only alice"}).raise_for_status()
    for extra in ({"user": "alice"}, {"user_id": "alice"}, {"scope": {"user": "alice"}}, {"realm": "default", "user": "alice"}):
        answer = bob.api.post("/api/memory/search", json={"query": "only alice", **extra})
        assert answer.status_code in (200, 400, 422)
        assert "scope.md" not in answer.text
